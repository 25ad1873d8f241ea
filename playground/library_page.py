"""What the page of all prompts shows: one state of them, filtered by words, folder and tag, beside the folders."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Q
from django.http import HttpRequest

from accounts.models import User
from core.ids import new_id
from playground import folders, searching
from playground.excerpts import Excerpt
from playground.models import Prompt
from playground.models.prompt import KEPT_IN_TRASH, PromptQuerySet
from playground.page_lists import page_of

ACTIVE = "active"
_STATES: dict[str, tuple[str, Callable[[PromptQuerySet], PromptQuerySet]]] = {
    ACTIVE: ("Active", PromptQuerySet.active),
    "archived": ("Archived", PromptQuerySet.archived),
    "trashed": ("Trash", PromptQuerySet.trashed),
}


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Which prompts are asked for. `folder` is None for all of them, "" for those in no folder."""

    state: str = ACTIVE
    q: str = ""
    folder: str | None = None
    tag: str = ""

    @classmethod
    def of(cls, request: HttpRequest) -> Shown:
        state = request.GET.get("state", ACTIVE)
        return cls(
            state=state if state in _STATES else ACTIVE,
            q=request.GET.get("q", "").strip(),
            folder=request.GET.get("folder"),
            tag=request.GET.get("tag", ""),
        )

    @property
    def filtered(self) -> bool:
        return bool(self.q or self.tag or self.folder is not None)

    def address(self, *, cursor: str = "", **changes: str | None) -> str:
        shown = replace(self, **changes)  # type: ignore[arg-type]  # names of fields, all of them texts
        given = {"state": "" if shown.state == ACTIVE else shown.state, "q": shown.q, "tag": shown.tag}
        pairs = [(name, value) for name, value in (*given.items(), ("cursor", cursor)) if value]
        if shown.folder is not None:
            pairs.append(("folder", shown.folder))
        return f"?{urlencode(pairs)}" if pairs else "./"

    def select(self, prompts: PromptQuerySet) -> PromptQuerySet:
        found = _STATES[self.state][1](prompts)
        if self.folder is not None:
            inside = Q(folder__startswith=f"{self.folder}/") if self.folder else Q()
            found = found.filter(Q(folder=self.folder) | inside) if self.folder else found.filter(folder="")
        return found.filter(tags__contains=[self.tag]) if self.tag else found


def library(request: HttpRequest, person: User) -> dict[str, Any]:
    """The context of the page."""
    shown = Shown.of(request)
    mine = Prompt.objects.visible_to(person)
    query = searching.read_query(shown.q)
    found = searching.matching(shown.select(mine), query)
    page = page_of(found.with_latest_number(), moment="updated_at", cursor=request.GET.get("cursor"))
    matches = searching.matches([prompt.pk for prompt in page.rows], query)
    for prompt in page.rows:
        prompt.matches = [(match.number, _parts(match.excerpt)) for match in matches.get(prompt.pk, [])]
        prompt.erased_at = prompt.trashed_at and prompt.trashed_at + KEPT_IN_TRASH
    counts = _counts(mine)
    return {
        "place": "prompts",
        "shown": shown,
        "q": shown.q,
        "prompts": page.rows,
        "has_any": any(counts.values()),
        "states": [
            {"name": name, "title": title, "count": f"{counts[name]:,}", "address": shown.address(state=name)}
            for name, (title, _) in _STATES.items()
        ],
        "folders": _with_addresses(folders.tree(_STATES[shown.state][1](mine).folder_counts()), shown),
        "tags": [
            {"name": name, "count": count, "address": shown.address(tag="" if name == shown.tag else name)}
            for name, count in _STATES[shown.state][1](mine).tag_counts()
        ],
        "everywhere": shown.address(folder=None),
        "untagged": shown.address(tag=""),
        "unfiltered": shown.address(q="", folder=None, tag=""),
        "more": shown.address(cursor=page.next) if page.next else "",
        "first": shown.address() if page.cursor else "",
        "key": new_id().hex,
    }


def _counts(mine: PromptQuerySet) -> dict[str, int]:
    is_trashed, is_archived = Q(trashed_at__isnull=False), Q(archived_at__isnull=False)
    found: dict[str, int] = mine.aggregate(
        active=Count("pk", filter=~is_trashed & ~is_archived),
        archived=Count("pk", filter=is_archived & ~is_trashed),
        trashed=Count("pk", filter=is_trashed),
    )
    return found


def _with_addresses(nodes: Iterable[dict[str, Any]], shown: Shown) -> list[dict[str, Any]]:
    return [
        {
            **node,
            "total": f"{node['total']:,}",
            "address": shown.address(folder=node["path"]),
            "current": node["path"] == shown.folder,
            "children": _with_addresses(node["children"], shown),
        }
        for node in nodes
    ]


def _parts(found: Excerpt | None) -> list[tuple[str, bool]]:
    """A text as pieces, each with whether it is a hit; empty if there is no text to show."""
    if found is None:
        return []
    parts, at = [], 0
    for start, end in found.hits:
        parts += [(found.text[at:start], False), (found.text[start:end], True)]
        at = end
    return [(text, hit) for text, hit in (*parts, (found.text[at:], False)) if text]
