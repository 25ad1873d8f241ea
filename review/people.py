"""Who takes part: the people who may see a prompt by name. Nobody else can be mentioned, or is ever listed here."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from accounts.models import User
from core.errors import InvalidInput
from playground.models import Prompt
from sharing.models import Grant

MAX_MENTIONS = 20


def people_of(prompt: Prompt) -> QuerySet[User]:
    """The owner and those it is shared with by name, now: read anew each time, since access ends at any moment."""
    shared = Grant.objects.live(timezone.now()).filter(prompt=prompt, account=OuterRef("pk"))
    return User.objects.filter(Q(pk=prompt.owner_id) | Exists(shared), is_active=True)


def mentionable(prompt: Prompt, ids: Iterable[uuid.UUID]) -> list[User]:
    """The people of these ids. Raises InvalidInput, the same for who is absent and who cannot see the prompt."""
    wanted = set(ids)
    if len(wanted) > MAX_MENTIONS:
        raise InvalidInput(f"A comment mentions at most {MAX_MENTIONS} people.", field="mentions")
    found = list(people_of(prompt).filter(pk__in=wanted)) if wanted else []
    if len(found) != len(wanted):
        raise InvalidInput(
            "Somebody you mention cannot see this prompt.",
            code="cannot_see",
            field="mentions",
            next_step="Share it with them first, or take the mention out.",
        )
    return found
