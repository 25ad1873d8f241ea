"""Public ids: UUIDv7, so that rows made later sort later and an id tells nothing but its time."""

from __future__ import annotations

import datetime as dt
import uuid

from uuid6 import uuid7


def new_id() -> uuid.UUID:
    """A fresh UUIDv7 (RFC 9562) as a plain `uuid.UUID`."""
    return uuid.UUID(int=uuid7().int)


def first_id_at(moment: dt.datetime) -> uuid.UUID:
    """The smallest UUIDv7 of the millisecond of `moment`. Raises ValueError for a time that such an id cannot tell."""
    milliseconds = int(moment.timestamp() * 1000)
    if not 0 <= milliseconds < 2**48:
        raise ValueError("no time of a UUIDv7")
    return uuid.UUID(int=milliseconds << 80)
