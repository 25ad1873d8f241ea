"""What PostgreSQL says of who may read what. Each answer comes with the prompt's epoch, from the same statement."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.db.models import F, QuerySet
from django.utils import timezone

from accounts.models import User
from playground.models import Prompt, VersionRun
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
    """None if the account is gone or switched off, or may not see the prompt of the run any more."""
    person = User.objects.filter(pk=account_id, is_active=True).first()
    if person is None:
        return None
    row = (
        VersionRun.objects.filter(run=run_id)
        .annotate(epoch=F("version__prompt__acl_epoch"), of=F("version__prompt_id"))
        .values_list("of", "epoch")
        .first()
    )
    if row is None:
        return RunStanding(prompt_id=None, acl_epoch=0)
    if not Prompt.objects.readable_by(person).filter(pk=row[0], trashed_at=None).exists():
        return None
    return RunStanding(prompt_id=row[0], acl_epoch=row[1])
