"""Who can read one version, as a sentence: the last line of the Share dialog."""

from __future__ import annotations

from collections.abc import Sequence

from playground.models import Prompt, Version
from sharing import histories
from sharing.models import Audience
from sharing.rows import GrantRow, LinkRow


def sentence(prompt: Prompt, number: int, grants: Sequence[GrantRow], links: Sequence[LinkRow]) -> str:
    """Such as "2 people and 1 public link can read version 12." `number` 0: of a prompt without versions."""
    people = sum(row.state == "live" for row in grants)
    opening = [row for row in links if row.state == "live" and _opens(prompt, row, number)]
    public = sum(row.link.audience == Audience.PUBLIC for row in opening)
    parts = [
        _count(people, "person", "people"),
        _count(public, "public link", "public links"),
        _count(len(opening) - public, "link for signed-in people", "links for signed-in people"),
    ]
    said = [part for part in parts if part]
    what = f"version {number}" if number else "what is saved here"
    who = " and ".join(filter(None, [", ".join(said[:-1]), *said[-1:]]))
    return f"{who} can read {what}." if who else f"Only its owner can read {what}."


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}" if number else ""


def _opens(prompt: Prompt, row: LinkRow, number: int) -> bool:
    if row.number == number:
        return True
    if not row.link.shows_history or row.number is None or row.number < number or not number:
        return False
    shown = Version.objects.get(prompt=prompt, number=row.number)
    return number in histories.numbers_behind(shown)
