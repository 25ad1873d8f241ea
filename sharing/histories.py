"""The versions behind a version: what a link that shows its history may open, and nothing that was made elsewhere."""

from __future__ import annotations

from playground.models import Version

#: How many are listed; any of them is reached by its number.
LISTED = 200


def numbers_behind(version: Version) -> list[int]:
    """The numbers of its ancestors, newest first, both lines of a merge included; without itself."""
    parents = Version.objects.filter(prompt=version.prompt_id, number__lte=version.number).parent_numbers()
    found: set[int] = set()
    waiting = list(parents.get(version.number, ()))
    while waiting:
        number = waiting.pop()
        if number not in found:
            found.add(number)
            waiting.extend(parents.get(number, ()))
    return sorted(found, reverse=True)


def behind(version: Version) -> list[Version]:
    """The newest LISTED of them, without their texts."""
    numbers = numbers_behind(version)[:LISTED]
    rows = Version.objects.select_related("author").filter(prompt=version.prompt_id, number__in=numbers)
    return list(rows.defer("spec").recent_first())


def find_behind(version: Version, number: int) -> Version | None:
    """One of them; None for any other."""
    if number >= version.number or number not in numbers_behind(version):
        return None
    rows = Version.objects.select_related("author", "parent", "prompt")
    return rows.filter(prompt=version.prompt_id, number=number).first()
