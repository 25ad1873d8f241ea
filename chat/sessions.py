"""Whose browser a socket belongs to, asked when it opens and again and again while it is open. Sync, for threads."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest

from accounts.models import User


def session_key_of(cookies: dict[str, str]) -> str | None:
    return cookies.get(settings.SESSION_COOKIE_NAME) or None


def person_of(session_key: str) -> uuid.UUID | None:
    """The account that is signed in there now: not after a sign-out, a change of password, or a switch-off."""
    request = HttpRequest()
    request.session = SessionStore(session_key)
    person = get_user(request)
    return person.pk if isinstance(person, User) and person.is_active else None
