"""How much is unread, for the navigation of every page: counted only where a template says it."""

from __future__ import annotations

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from accounts.models import User
from chat.page_lists import unread_total


def unread(request: HttpRequest) -> dict[str, object]:
    """A context processor. One statement, and none for who is not signed in."""

    def count() -> int:
        person = getattr(request, "user", None)
        return unread_total(person) if isinstance(person, User) else 0

    return {"unread_total": SimpleLazyObject(count)}
