from __future__ import annotations

import uuid

from django.utils import timezone

from accounts.models import User
from playground.models import Prompt
from sharing.models import Notification


def notify(
    *,
    account: User,
    prompt: Prompt,
    kind: str,
    actor: User | None = None,
    subject: uuid.UUID | None = None,
    named: bool = True,
) -> Notification | None:
    """Tell a person something about a prompt, in the caller's transaction. Nobody is told of their own deeds.

    `named`: whether they may know its name, as it is now; a later one is not theirs to know.
    """
    if actor is not None and actor.pk == account.pk:
        return None
    return Notification.objects.create(
        account=account, prompt=prompt, kind=kind, actor=actor, subject=subject, name=prompt.name if named else ""
    )


def mark_seen(*, person: User) -> int:
    """All of this person's notifications were looked at. Answers how many were new."""
    return Notification.objects.filter(account=person).unseen().update(seen_at=timezone.now())
