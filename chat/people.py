"""Finding somebody to write to, without a list of everybody.

A whole e-mail address finds its account; a name, from MIN_NAME characters on, finds those who gave themselves one. An
address is shown only to who typed it. Who is blocked, either way, is as absent as an account that is switched off.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from django.db.models import Q

from accounts.models import User
from chat.limits import Buckets
from chat.models import Block
from core.errors import RateLimited

MIN_NAME = 2
MAX_FOUND = 20
MAX_ASKED = 254
#: Slows down who tries addresses one after the other.
SEARCHES = Buckets(capacity=30, refill_per_s=0.5, clock=time.monotonic)


@dataclass(frozen=True, kw_only=True)
class Found:
    """`email` is "" unless it was what was asked for."""

    person: User
    email: str


def find_people(person: User, asked: str) -> list[Found]:
    """At most MAX_FOUND people, by name. Raises RateLimited."""
    wanted = " ".join(asked.split())[:MAX_ASKED]
    if len(wanted) < MIN_NAME:
        return []
    if SEARCHES.take(person.pk):
        raise RateLimited("Too many searches at once.", next_step="Wait a few seconds, then search again.")
    others = User.objects.filter(is_active=True).exclude(pk=person.pk)
    hidden = Block.objects.filter(Q(blocker=person) | Q(blocked=person)).values_list("blocker_id", "blocked_id")
    others = others.exclude(pk__in={each for pair in hidden for each in pair})
    if "@" in wanted:
        return [Found(person=each, email=each.email) for each in others.filter(email=wanted.lower())]
    named = others.filter(Q(name__istartswith=wanted) | Q(name__icontains=f" {wanted}"))
    return [Found(person=each, email="") for each in named.order_by("name", "pk")[:MAX_FOUND]]
