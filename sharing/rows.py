"""Links and grants as rows of a list: what each opens and whether it still does, in words."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from playground.models import Branch, Label
from sharing.models import Audience, Grant, ShareLink
from sharing.policy import expired

#: In one list of choices.
MOST = 200
State = Literal["live", "expired", "used up"]
_STATE_WORDS: dict[State, str] = {"live": "", "expired": "Ended", "used up": "Views used up"}
_AUDIENCE_WORDS = {Audience.PUBLIC: "Anybody with the link", Audience.SIGNED_IN: "Signed-in people with the link"}


@dataclass(frozen=True, kw_only=True)
class LinkRow:
    """`number`: of the version it shows now; None if what it follows is gone."""

    link: ShareLink
    number: int | None
    state: State

    @property
    def dom_id(self) -> str:
        return f"link-{self.link.pk}"

    @property
    def state_words(self) -> str:
        return _STATE_WORDS[self.state]

    @property
    def audience_words(self) -> str:
        return _AUDIENCE_WORDS[Audience(self.link.audience)]

    @property
    def target_words(self) -> str:
        if self.link.is_pinned:
            return f"version {self.number}, frozen for ever"
        if self.number is None:
            return f"follows {self.link.follows}, which is gone"
        return f"follows {self.link.follows}, now version {self.number}"


@dataclass(frozen=True, kw_only=True)
class GrantRow:
    grant: Grant
    state: State

    @property
    def dom_id(self) -> str:
        return f"grant-{self.grant.pk}"

    @property
    def state_words(self) -> str:
        return _STATE_WORDS[self.state]


def link_rows(links: Iterable[ShareLink], now: dt.datetime) -> list[LinkRow]:
    """In their order. Needs `target_version` selected; what branches and labels point at is read in two queries."""
    found = list(links)
    prompts = {link.prompt_id for link in found if not link.is_pinned}
    heads = Branch.objects.filter(prompt__in=prompts).values_list("prompt_id", "name", "head__number")
    labels = Label.objects.filter(prompt__in=prompts).values_list("prompt_id", "name", "version__number")
    numbers = {("branch", prompt, name): number for prompt, name, number in heads if prompts}
    numbers |= {("label", prompt, name): number for prompt, name, number in labels if prompts}

    def number_of(link: ShareLink) -> int | None:
        if link.target_version is not None:
            return link.target_version.number
        kind = "branch" if link.follows_branch else "label"
        return numbers.get((kind, link.prompt_id, link.follows))

    return [LinkRow(link=link, number=number_of(link), state=_link_state(link, now)) for link in found]


def grant_rows(grants: Iterable[Grant], now: dt.datetime) -> list[GrantRow]:
    return [GrantRow(grant=grant, state="expired" if expired(grant.expires_at, now) else "live") for grant in grants]


def _link_state(link: ShareLink, now: dt.datetime) -> State:
    if expired(link.expires_at, now):
        return "expired"
    return "used up" if link.views_left == 0 else "live"
