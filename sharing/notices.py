"""Notifications as lines: who did what, to which prompt, and where it leads."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass

from django.urls import reverse

from accounts.models import User
from sharing.models import AccessRequest, Notification, OwnershipTransfer


@dataclass(frozen=True, kw_only=True)
class Kind:
    """`words` stand between the person and the name of the prompt, `end` behind it."""

    icon: str
    words: str
    end: str = "."


_KINDS = {
    "shared": Kind(icon="users", words="shared with you"),
    "role_changed": Kind(icon="users", words="changed your role on"),
    "access_ended": Kind(icon="ban", words="ended your access to"),
    "left": Kind(icon="door-open", words="left"),
    "access_requested": Kind(icon="user-plus", words="asks for access to"),
    "access_granted": Kind(icon="user-plus", words="gave you access to"),
    "access_declined": Kind(icon="ban", words="did not give you access to"),
    "ownership_offered": Kind(icon="arrow-right-left", words="offers you", end=": on accepting you are its owner."),
    "ownership_accepted": Kind(icon="arrow-right-left", words="is now the owner of"),
    "ownership_declined": Kind(icon="arrow-right-left", words="did not take"),
    "ownership_withdrawn": Kind(icon="arrow-right-left", words="no longer offers you"),
    "mention": Kind(icon="at-sign", words="mentioned you in"),
    "comment": Kind(icon="message-square", words="commented on"),
    "reply": Kind(icon="message-square", words="replied to you in"),
}
_OTHER = Kind(icon="bell", words="did something with")
#: `subject` is a thread of comments: the prompt opens beside it.
_COMMENTS = frozenset({"mention", "comment", "reply"})


@dataclass(frozen=True, kw_only=True)
class Notice:
    """`request` and `transfer` are set as long as they wait for this person's answer."""

    icon: str
    actor: User | None
    words: str
    name: str
    end: str
    address: str
    at: dt.datetime
    seen: bool
    request: AccessRequest | None
    transfer: OwnershipTransfer | None


def read(person: User, notifications: list[Notification]) -> list[Notice]:
    """In their order; what waits for an answer is read in two queries."""
    subjects = [each.subject for each in notifications if each.subject]
    asked = AccessRequest.objects.open().filter(pk__in=subjects, prompt__owner=person)
    offers = OwnershipTransfer.objects.open().filter(pk__in=subjects, to_account=person)
    requests = {each.pk: each for each in asked}
    transfers = {each.pk: each for each in offers}
    return [_notice(each, requests, transfers) for each in notifications]


def _notice(
    told: Notification, requests: dict[uuid.UUID, AccessRequest], transfers: dict[uuid.UUID, OwnershipTransfer]
) -> Notice:
    kind = _KINDS.get(told.kind, _OTHER)
    prompt = reverse("prompt", args=[told.prompt_id])
    return Notice(
        icon=kind.icon,
        actor=told.actor,
        words=kind.words if told.actor else f"Somebody {kind.words}",
        name=told.name or "a prompt",
        end=kind.end,
        address=f"{prompt}?thread={told.subject}" if told.kind in _COMMENTS else prompt,
        at=told.created_at,
        seen=told.seen_at is not None,
        request=requests.get(told.subject) if told.subject else None,
        transfer=transfers.get(told.subject) if told.subject else None,
    )
