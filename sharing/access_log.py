"""Writing the access log: who or which link, what, when, from where, allowed or refused.

A reader who reads the same thing again within a minute is not written again: a page that is read in windows is one
entry, and a hot link costs a write a minute for each of its visitors.
"""

from __future__ import annotations

import ipaddress
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Hashable

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone

from accounts.models import User
from sharing.models import AccessLogEntry, Grant, ShareLink

AGAIN_AFTER_S = 60.0
#: What an open page asks every few seconds. It shows nothing, and a day of it would bury the rest; a refusal is kept.
QUIET = frozenset({"GET shared-state", "GET api-access", "GET api-version-threads"})


class Recently:
    """Whether something was seen within a while, in this process. At most `most` things, the oldest forgotten first."""

    def __init__(self, *, seconds: float, clock: Callable[[], float] = time.monotonic, most: int = 50_000) -> None:
        self._seconds = seconds
        self._clock = clock
        self._most = most
        self._seen: OrderedDict[Hashable, float] = OrderedDict()
        self._lock = threading.Lock()

    def again(self, key: Hashable) -> bool:
        """False for the first time in a while, which this then is."""
        now = self._clock()
        with self._lock:
            if now - self._seen.get(key, -self._seconds) < self._seconds:
                return True
            self._seen[key] = now
            self._seen.move_to_end(key)
            if len(self._seen) > self._most:
                self._seen.popitem(last=False)
            return False

    def forget(self) -> None:
        with self._lock:
            self._seen.clear()


_written = Recently(seconds=AGAIN_AFTER_S)
_used = Recently(seconds=AGAIN_AFTER_S)


def forget() -> None:
    """Everything counts as new."""
    _written.forget()
    _used.forget()


def address_of(request: HttpRequest) -> str | None:
    """Where a request comes from: the peer, or what the trusted proxies say of it; None for what is no address."""
    address = request.META.get("REMOTE_ADDR", "")
    if settings.TRUSTED_PROXY_COUNT:
        hops = request.headers.get("X-Forwarded-For", "").split(",")
        if len(hops) >= settings.TRUSTED_PROXY_COUNT:
            address = hops[-settings.TRUSTED_PROXY_COUNT].strip()
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return None


def _is_quiet(what: str, allowed: bool) -> bool:  # noqa: FBT001
    return allowed and what in QUIET


def read_by_person(
    *, prompt_id: uuid.UUID, person_id: uuid.UUID, what: str, address: str | None, allowed: bool, reason: str = ""
) -> None:
    """Somebody asked for something of a prompt that they do not own."""
    if not _is_quiet(what, allowed) and not _written.again((prompt_id, person_id, what, allowed)):
        AccessLogEntry.objects.create(
            prompt_id=prompt_id, account_id=person_id, what=what, address=address, allowed=allowed, reason=reason
        )
    if allowed and not _used.again((prompt_id, person_id)):
        Grant.objects.on(prompt_id).filter(account_id=person_id).update(last_used_at=timezone.now())


def read_by_link(
    *,
    link: ShareLink,
    visitor: str,
    what: str,
    address: str | None,
    allowed: bool,
    number: int | None = None,
    person: User | None = None,
    reason: str = "",
) -> None:
    """Somebody asked for something by a link. `visitor` is "" before there is a visit."""
    if not _is_quiet(what, allowed) and not _written.again((link.pk, visitor, what, number, allowed, reason)):
        AccessLogEntry.objects.create(
            prompt_id=link.prompt_id,
            link=link,
            account=person,
            visitor=visitor,
            what=what,
            version_number=number,
            address=address,
            allowed=allowed,
            reason=reason,
        )
    if allowed and not _used.again(link.pk):
        ShareLink.objects.filter(pk=link.pk).update(last_used_at=timezone.now())


def changed(*, prompt_id: uuid.UUID, person: User, what: str, link: ShareLink | None = None) -> None:
    """Somebody changed who may read a prompt, in the caller's transaction."""
    AccessLogEntry.objects.create(prompt_id=prompt_id, account=person, what=what, link=link, allowed=True)
