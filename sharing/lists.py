"""What the pages of sharing list: what I share, what is shared with me, what happened, who looked."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.models import User
from core.errors import InvalidInput
from playground.models import Prompt
from sharing import rows
from sharing.models import Grant, OwnershipTransfer, ShareLink

ROWS = 50
#: On the home page.
NEWEST = 5


@dataclass(frozen=True, kw_only=True)
class Part:
    """One page of rows ordered by an id that grows. `next`: the cursor of the following page, "" on the last."""

    rows: list[Any]
    cursor: str
    next: str

    def address(self, *, to: str, **filters: str) -> str:
        given = {name: value for name, value in {**filters, "cursor": to}.items() if value}
        return f"?{urlencode(given)}"

    def links(self, **filters: str) -> dict[str, str]:
        """For the buttons under a list: `more` and `first`, "" where there is nothing to go to."""
        return {
            "more": self.address(to=self.next, **filters) if self.next else "",
            "first": self.address(to="", **filters) if self.cursor else "",
        }


def part_of(found: QuerySet[Any], cursor: str, *, read: type = uuid.UUID) -> Part:
    """The next ROWS rows after `cursor`, newest first. Raises InvalidInput for what is no cursor."""
    if cursor:
        try:
            found = found.filter(pk__lt=read(cursor))
        except ValueError as error:
            raise InvalidInput("This address does not lead to a page of the list.", field="cursor") from error
    shown = list(found.order_by("-pk")[: ROWS + 1])
    following = str(shown[ROWS - 1].pk) if len(shown) > ROWS else ""
    return Part(rows=shown[:ROWS], cursor=cursor, next=following)


def shared_with(person: User) -> QuerySet[Grant]:
    """The live roles of this person on prompts of others."""
    live = Grant.objects.live(timezone.now()).of(person)
    return live.select_related("prompt", "prompt__owner")


def offered_to(person: User) -> list[OwnershipTransfer]:
    """Prompts whose ownership waits for this person's answer."""
    offers = OwnershipTransfer.objects.open().filter(to_account=person)
    return list(offers.select_related("prompt", "from_account").order_by("-pk"))


@dataclass(frozen=True, kw_only=True)
class NewestShared:
    rows: list[Grant]
    transfers: list[OwnershipTransfer]
    count: int

    @property
    def more(self) -> bool:
        return self.count > len(self.rows)


def newest_shared(person: User) -> NewestShared:
    found = shared_with(person)
    newest = list(found.order_by("-pk")[:NEWEST])
    count = found.count() if len(newest) == NEWEST else len(newest)
    return NewestShared(rows=newest, transfers=offered_to(person), count=count)


@dataclass(frozen=True, kw_only=True)
class SharesOf:
    """Who has access to one prompt."""

    prompt: Prompt
    owns: bool
    grants: list[rows.GrantRow]
    links: list[rows.LinkRow]


@dataclass(frozen=True, kw_only=True)
class MyShares:
    """`people` and `links` count what is open now, of all prompts."""

    groups: list[SharesOf]
    people: int
    links: int
    part: Part


def my_shares(person: User, *, cursor: str) -> MyShares:
    """What this person shares: all of their own prompts, and what they made on those of others. By prompt."""
    now = timezone.now()
    is_mine = Q(prompt__owner=person, prompt__trashed_at=None)
    made = Grant.objects.filter(revoked_at=None).filter(is_mine | Q(granted_by=person, prompt__trashed_at=None))
    links = ShareLink.objects.filter(revoked_at=None).filter(is_mine | Q(created_by=person, prompt__trashed_at=None))
    shared = Prompt.objects.filter(Q(pk__in=made.values("prompt")) | Q(pk__in=links.values("prompt")))
    part = part_of(shared.select_related("owner"), cursor)
    groups = _grouped(person, part.rows, made, links, now)
    people = made.filter(pk__in=Grant.objects.live(now)).values("account").distinct().count()
    return MyShares(
        groups=groups, people=people, links=links.filter(pk__in=ShareLink.objects.live(now)).count(), part=part
    )


def _grouped(
    person: User, prompts: list[Prompt], made: QuerySet[Grant], links: QuerySet[ShareLink], now: dt.datetime
) -> list[SharesOf]:
    grants = made.filter(prompt__in=prompts).select_related("account", "granted_by", "prompt").order_by("-pk")
    there = links.filter(prompt__in=prompts).select_related("created_by", "target_version", "prompt").order_by("-pk")
    by_grant = _by_prompt(rows.grant_rows(grants, now), lambda row: row.grant.prompt_id)
    by_link = _by_prompt(rows.link_rows(there, now), lambda row: row.link.prompt_id)
    return [
        SharesOf(
            prompt=prompt,
            owns=prompt.owner_id == person.pk,
            grants=by_grant.get(prompt.pk, []),
            links=by_link.get(prompt.pk, []),
        )
        for prompt in prompts
    ]


def _by_prompt(found: list[Any], prompt_of: Any) -> dict[uuid.UUID, list[Any]]:
    ordered = sorted(found, key=prompt_of)
    return {prompt: list(group) for prompt, group in groupby(ordered, key=prompt_of)}


def count_words(people: int, links: int) -> str:
    """Such as "2 people and 1 link"; "" for nobody."""
    parts = [f"{people} {'person' if people == 1 else 'people'}"] if people else []
    parts += [f"{links} link{'' if links == 1 else 's'}"] if links else []
    return " and ".join(parts)
