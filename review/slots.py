"""The texts of a version by their place in it, and which of another version may hold what one of them held. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from playground.freezing import references
from playground.spec import JSON_FIELDS


@dataclass(frozen=True, kw_only=True)
class Slot:
    """`place`: `system`, `tools`, `messages.0` or, for the second text of its blocks, `messages.0.1`.

    `role`: of the message, else as `place`. `sha256` (hex) names its text. `index`: in the order of the texts of a
    version everywhere else.
    """

    index: int
    place: str
    role: str
    sha256: str

    @property
    def kind(self) -> tuple[str, str]:
        return self.place.partition(".")[0], self.role


def slots_of(frozen: dict[str, Any]) -> list[Slot]:
    """Of a frozen spec: its texts in wire order, as `freezing.references` lists them."""
    found: list[Slot] = []
    for place, role, part in _parts(frozen):
        names = references(part)
        for number, sha256 in enumerate(names):
            inner = place if len(names) == 1 else f"{place}.{number}"
            found.append(Slot(index=len(found), place=inner, role=role, sha256=sha256))
    return found


def _parts(frozen: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """A spec cut into specs of one place each: where texts are in it stays the business of `playground.spec`."""
    if "system" in frozen:
        yield "system", "system", {"system": frozen["system"], "messages": []}
    for index, message in enumerate(frozen.get("messages", [])):
        yield f"messages.{index}", message["role"], {"messages": [message]}
    for name in JSON_FIELDS:
        if name in frozen:
            yield name, name, {"messages": [], name: frozen[name]}


@dataclass(frozen=True, kw_only=True)
class Heirs:
    """Where a text of one version may be in another.

    `same`: the slot that holds it unchanged. Else `likely`: those that took its place, of the same kind and role; and
    `others`: those that are new as well, where its words may have been moved.
    """

    same: Slot | None = None
    likely: tuple[Slot, ...] = ()
    others: tuple[Slot, ...] = ()


def heirs_of(slot: Slot, old: Sequence[Slot], new: Sequence[Slot]) -> Heirs:
    unchanged = [each for each in new if each.sha256 == slot.sha256]
    matcher = SequenceMatcher(None, [each.sha256 for each in old], [each.sha256 for each in new], autojunk=False)
    beside: list[Slot] = []
    for kind, i, i_end, j, j_end in matcher.get_opcodes():
        if i <= slot.index < i_end:
            if kind == "equal":
                return Heirs(same=new[j + slot.index - i])
            beside = list(new[j:j_end])
    if len(unchanged) == 1:
        return Heirs(same=unchanged[0])
    known = {each.sha256 for each in old}
    fresh = [each for each in new if each.sha256 not in known]
    likely = [each for each in beside if each.kind == slot.kind] or [each for each in fresh if each.place == slot.place]
    others = [each for each in fresh if each not in likely]
    return Heirs(likely=tuple(likely or unchanged), others=tuple(others))
