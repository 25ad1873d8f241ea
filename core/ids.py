"""Public ids: UUIDv7, so that rows made later sort later and an id tells nothing but its time."""

from __future__ import annotations

import uuid

from uuid6 import uuid7


def new_id() -> uuid.UUID:
    """A fresh UUIDv7 (RFC 9562) as a plain `uuid.UUID`."""
    return uuid.UUID(int=uuid7().int)
