"""Who may do what, and how long an answer to that may be believed. No I/O: what is true and the time are passed in."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass

from playground import access
from sharing.bound import Lifetimes
from sharing.models.grant import Role

VIEWER = frozenset({access.VIEW})
COMMENTER = VIEWER | {access.COMMENT}
EDITOR = COMMENTER | {access.CHANGE, access.RUN, access.LABEL}
OWNER = EDITOR | {access.SHARE, access.OWN}

_OF_ROLE = {Role.VIEWER: VIEWER, Role.COMMENTER: COMMENTER, Role.EDITOR: EDITOR}
_RANK = {Role.VIEWER: 1, Role.COMMENTER: 2, Role.EDITOR: 3}


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What a grant said when the database was asked, with the prompt's epoch at that same moment."""

    role: Role
    may_share: bool
    expires_at: dt.datetime | None
    acl_epoch: int

    def allows(self, permission: str, now: dt.datetime) -> bool:
        """Whether it allows `permission` at `now`: it may have expired since."""
        return not expired(self.expires_at, now) and permission in permissions_of(self.role, may_share=self.may_share)


def permissions_of(role: Role, *, may_share: bool = False) -> frozenset[str]:
    return _OF_ROLE[role] | ({access.SHARE} if may_share else frozenset())


def expired(expires_at: dt.datetime | None, now: dt.datetime) -> bool:
    """An expiry is an instant: at it, access has ended."""
    return expires_at is not None and now >= expires_at


def is_narrower(before: Role, after: Role) -> bool:
    return _RANK[after] < _RANK[before]


def reusable(*, asked_at_s: float, now_s: float, lifetimes: Lifetimes) -> bool:
    """Whether a decision may be used again. `asked_at_s`: the monotonic clock *before* the database was asked."""
    return 0 <= now_s - asked_at_s < lifetimes.reuse


def shows(*, decided_epoch: int, made_epoch: int) -> bool:
    """Whether a decision may show something that was made at `made_epoch`: nothing that is newer than itself.

    Who lost access keeps, for a few seconds, what could have been copied before; what is made after it bears a higher
    epoch and is never shown on the older decision (the "new enemy" of Zanzibar, 2019).
    """
    return decided_epoch >= made_epoch


def presigned_seconds(*, asked_at_s: float, now_s: float, lifetimes: Lifetimes) -> int:
    """How long an address may live that is signed now on a decision of `asked_at_s`; 0: ask again first.

    The end of decision and address together is fixed when the database is asked, so both cannot add up to more.
    """
    left = math.floor(asked_at_s + lifetimes.reuse + lifetimes.presigned - now_s)
    seconds = min(math.floor(lifetimes.presigned), left)
    return seconds if seconds >= min(5, math.floor(lifetimes.presigned)) else 0


def due_at(*, checked_at_s: float, lifetimes: Lifetimes, spread: float) -> float:
    """When an open stream is to be asked about again. `spread` is random, 0 to 1: streams do not march in step."""
    return checked_at_s + lifetimes.recheck + lifetimes.jitter * spread
