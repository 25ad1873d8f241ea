"""Copies of texts under addresses that browsers may fetch from the store themselves, for some seconds.

The key holds the prompt's epoch: a revocation deletes all copies of older ones, so addresses that are out lead nowhere
at once. That an address expires is the backstop, and what the bound rests on.
"""

from __future__ import annotations

import datetime as dt
import re
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from django.utils import timezone

from playground.bodies import objects
from playground.bodies.recent import recent_texts
from playground.models import Version
from sharing import bound, policy

FOLDER = "read"
#: Long after every address to it has expired.
KEPT_FOR = dt.timedelta(minutes=10)
_KEY = re.compile(r"read/([0-9a-f-]{36})/(\d{1,19})/")


@dataclass(frozen=True, kw_only=True)
class Address:
    url: str
    seconds: int


def address_of(
    version: Version, sha256: str, *, acl_epoch: int, asked_at_s: float, expires_at: dt.datetime | None, name: str
) -> Address | None:
    """A signed address of a text, on a decision of `asked_at_s` at `acl_epoch`; None if that is too old to sign for.

    It ends with the access that it is given for, at `expires_at`.

    Raises StorageUnavailable.
    """
    key = f"{FOLDER}/{version.prompt_id}/{acl_epoch}/{sha256}"
    _materialise(key, version.prompt_id, sha256)
    seconds = policy.presigned_seconds(asked_at_s=asked_at_s, now_s=time.monotonic(), lifetimes=bound.current())
    if expires_at is not None:
        seconds = min(seconds, int((expires_at - timezone.now()).total_seconds()))
    if seconds < 1:
        return None
    return Address(url=objects.sign_get(key, seconds=seconds, name=name), seconds=seconds)


def _materialise(key: str, prompt_id: uuid.UUID, sha256: str) -> None:
    """Write the copy anew unless there is a young one: an old one may be swept at any moment."""
    try:
        if timezone.now() - objects.modified_at(key) < KEPT_FOR / 2:
            return
    except objects.ObjectMissing:
        pass
    objects.put(key, recent_texts.get(prompt_id=prompt_id, sha256=sha256).data)


def delete_before(prompt_id: uuid.UUID, acl_epoch: int) -> int:
    """Delete the copies of older epochs, and say how many. Raises StorageUnavailable."""
    return _delete(f"{FOLDER}/{prompt_id}/", lambda found: _epoch_of(found.key) < acl_epoch)


def sweep() -> int:
    """Delete the copies that no address leads to any more, and say how many. Raises StorageUnavailable."""
    before = timezone.now() - KEPT_FOR
    return _delete(f"{FOLDER}/", lambda found: found.modified_at < before)


def _delete(prefix: str, is_old: Callable[[objects.Listed], bool]) -> int:
    deleted, after = 0, ""
    while found := objects.page(prefix, after=after):
        for each in filter(is_old, found):
            objects.delete(each.key)
            deleted += 1
        after = found[-1].key
    return deleted


def _epoch_of(key: str) -> int:
    match = _KEY.match(key)
    return int(match[2]) if match else -1
