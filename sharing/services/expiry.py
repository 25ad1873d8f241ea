from __future__ import annotations

import datetime as dt

from django.utils import timezone

from core.errors import InvalidInput


def instant(expires_at: dt.datetime | None) -> dt.datetime | None:
    """An expiry is an instant with its zone, in the future. Raises InvalidInput."""
    if expires_at is None:
        return None
    if timezone.is_naive(expires_at):
        raise InvalidInput("An expiry is an instant: say in which time zone it is.", field="expires_at")
    if expires_at <= timezone.now():
        raise InvalidInput("This instant is over already.", field="expires_at")
    return expires_at
