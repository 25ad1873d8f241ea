"""What PostgreSQL says of who may read what. Each answer comes with the prompt's epoch, from the same statement."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from accounts.models import User
from core.prepared import PreparedValues
from playground.models import VersionRun
from sharing.models import Grant, Role
from sharing.policy import Standing


def standing_of(person_id: uuid.UUID, prompt_id: uuid.UUID) -> Standing | None:
    """What this person's grant says; None without a live one. The owner needs none and has none."""
    rows = Grant.objects.live(timezone.now()).filter(account_id=person_id, prompt_id=prompt_id)
    row = rows.values_list("role", "may_share", "expires_at", "prompt__acl_epoch").first()
    if row is None:
        return None
    return Standing(role=Role(row[0]), may_share=row[1], expires_at=row[2], acl_epoch=row[3])


def shared_with(person: User) -> QuerySet[Grant, uuid.UUID]:
    """The ids of the prompts that others share with this person: for `Prompt.objects.readable_by`."""
    return Grant.objects.live(timezone.now()).of(person).values_list("prompt_id", flat=True)


@dataclass(frozen=True, kw_only=True)
class RunStanding:
    """A run may be followed by who made it, as long as they may see its prompt. `prompt_id` None: it has no prompt."""

    prompt_id: uuid.UUID | None
    acl_epoch: int


def run_standing(run_id: uuid.UUID, account_id: uuid.UUID) -> RunStanding | None:
    """None if the account may not see the prompt of the run any more, or is switched off."""
    row = _OF_A_RUN.first(run_id=run_id, now=timezone.now())
    if row is None:
        return RunStanding(prompt_id=None, acl_epoch=0)
    shared, is_active, prompt_id, owner_id, trashed_at, acl_epoch = row
    if trashed_at is not None or not is_active or not (shared or owner_id == account_id):
        return None
    return RunStanding(prompt_id=prompt_id, acl_epoch=acl_epoch)


def _of_a_run(run_id: uuid.UUID, now: dt.datetime) -> QuerySet[VersionRun, tuple[Any, ...]]:
    shared = Grant.objects.live(now).filter(prompt=OuterRef("version__prompt"), account=OuterRef("run__account"))
    of_the_prompt = (f"version__prompt__{name}" for name in ("id", "owner_id", "trashed_at", "acl_epoch"))
    runs = VersionRun.objects.filter(run=run_id).annotate(shared=Exists(shared))
    return runs.values_list("shared", "run__account__is_active", *of_the_prompt)


#: Asked when a run's events are opened, and every few seconds of each open stream.
_OF_A_RUN = PreparedValues(_of_a_run)
