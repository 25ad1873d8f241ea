"""What PostgreSQL says of who may read what. Each answer comes with the prompt's epoch, from the same statement."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from accounts.models import User
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
    prompt = "version__prompt"
    shared = Grant.objects.live(timezone.now()).filter(prompt=OuterRef(prompt), account=OuterRef("run__account"))
    row = (
        VersionRun.objects.filter(run=run_id)
        .annotate(shared=Exists(shared))
        .values(
            "shared", "run__account__is_active", f"{prompt}_id", *(f"{prompt}__{name}" for name in _ASKED_OF_A_PROMPT)
        )
        .first()
    )
    if row is None:
        return RunStanding(prompt_id=None, acl_epoch=0)
    is_there = row[f"{prompt}__trashed_at"] is None and row["run__account__is_active"]
    if not is_there or not (row["shared"] or row[f"{prompt}__owner_id"] == account_id):
        return None
    return RunStanding(prompt_id=row[f"{prompt}_id"], acl_epoch=row[f"{prompt}__acl_epoch"])


_ASKED_OF_A_PROMPT = ("owner_id", "trashed_at", "acl_epoch")
