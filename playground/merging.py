"""Three-way merge of specs: what one side changed is taken, what both changed differently is a conflict. Pure.

Texts are merged by lines, messages by aligning each side with the common ancestor. Conflicts are never guessed: the
merged spec holds our side there, and each conflict carries all three for a person to choose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from merge3 import Merge3

_TEXT_FIELDS = ("system", "tools", "output_schema")
_ABSENT: Any = None


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """A stretch of a merged text. In a conflict, `text` is our side and the other two are set."""

    text: str
    base: str | None = None
    theirs: str | None = None

    @property
    def is_conflict(self) -> bool:
        return self.theirs is not None


@dataclass(frozen=True, kw_only=True)
class Conflict:
    """Both sides changed the same thing differently.

    `place`: a field, or `messages.N` in the merged spec. `chunks`: for a text, the whole of it in order.
    """

    place: str
    kind: Literal["field", "text", "message"]
    base: Any
    ours: Any
    theirs: Any
    chunks: tuple[Chunk, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Merged:
    spec: dict[str, Any]
    conflicts: tuple[Conflict, ...]


def merge_specs(base: Mapping[str, Any], ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Merged:
    """The merge of two specs (read back) with their common ancestor."""
    conflicts: list[Conflict] = []
    spec: dict[str, Any] = {}
    for name in dict.fromkeys([*ours, *theirs, *base]):
        if name == "messages":
            value: Any = _merge_messages(base[name], ours[name], theirs[name], conflicts)
        else:
            value = _merge_value(name, base.get(name), ours.get(name), theirs.get(name), conflicts)
        if value is not _ABSENT:
            spec[name] = value
    return Merged(spec=spec, conflicts=tuple(conflicts))


def _merge_value(place: str, base: Any, ours: Any, theirs: Any, conflicts: list[Conflict]) -> Any:
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    if place in _TEXT_FIELDS and isinstance(ours, str) and isinstance(theirs, str):
        return _merge_text(place, base if isinstance(base, str) else "", ours, theirs, conflicts)
    conflicts.append(Conflict(place=place, kind="field", base=base, ours=ours, theirs=theirs))
    return ours


def merge_text(base: str, ours: str, theirs: str) -> tuple[Chunk, ...]:
    """The merged text as chunks, by lines (which end at LF only)."""
    chunks: list[Chunk] = []
    for group in Merge3(_lines(base), _lines(ours), _lines(theirs)).merge_groups():
        if group[0] == "conflict":
            old, mine, other = ("".join(lines) for lines in group[1:])
            chunks.append(Chunk(text=mine, base=old, theirs=other))
        else:
            chunks.append(Chunk(text="".join(group[1])))
    return tuple(chunks)


def _lines(text: str) -> list[str]:
    *whole, last = text.split("\n")
    return [line + "\n" for line in whole] + ([last] if last else [])


def _merge_text(place: str, base: str, ours: str, theirs: str, conflicts: list[Conflict]) -> str:
    chunks = merge_text(base, ours, theirs)
    if any(chunk.is_conflict for chunk in chunks):
        conflicts.append(Conflict(place=place, kind="text", base=base, ours=ours, theirs=theirs, chunks=chunks))
    return "".join(chunk.text for chunk in chunks)


Message = Mapping[str, Any]


def _merge_messages(
    base: Sequence[Message], ours: Sequence[Message], theirs: Sequence[Message], conflicts: list[Conflict]
) -> list[Message]:
    """Each base message with what became of it on both sides, and what each side inserted before it."""
    mine, other = _fates(base, ours), _fates(base, theirs)
    merged: list[Message] = []
    for index in range(len(base) + 1):
        inserted = mine.inserted.get(index, [])
        merged += inserted
        merged += [message for message in other.inserted.get(index, []) if message not in inserted]
        if index < len(base):
            place = f"messages.{len(merged)}"
            kept = _merge_message(place, base[index], mine.became[index], other.became[index], conflicts)
            merged += [kept] if kept is not None else []
    return merged


@dataclass(frozen=True, kw_only=True)
class _Fates:
    """`became`: per base message, the message in its place now, or None if it was removed."""

    became: list[Message | None]
    inserted: dict[int, list[Message]]


def _fates(base: Sequence[Message], side: Sequence[Message]) -> _Fates:
    became: list[Message | None] = [None] * len(base)
    inserted: dict[int, list[Message]] = {}
    keys = [[(message["role"], str(message["content"])) for message in messages] for messages in (base, side)]
    for _, i, i_end, j, j_end in SequenceMatcher(None, keys[0], keys[1], autojunk=False).get_opcodes():
        paired = min(i_end - i, j_end - j)
        for step in range(paired):
            became[i + step] = side[j + step]
        if j_end - j > paired:
            inserted.setdefault(i + paired, []).extend(side[j + paired : j_end])
    return _Fates(became=became, inserted=inserted)


def _merge_message(
    place: str, base: Message, ours: Message | None, theirs: Message | None, conflicts: list[Conflict]
) -> Message | None:
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    if ours is not None and theirs is not None and _same_shape(base, ours, theirs):
        text = _merge_text(place, base["content"], ours["content"], theirs["content"], conflicts)
        return {**ours, "content": text}
    conflicts.append(Conflict(place=place, kind="message", base=base, ours=ours, theirs=theirs))
    return ours if ours is not None else theirs


def _same_shape(base: Message, ours: Message, theirs: Message) -> bool:
    """Whether only the text can differ: one role on both sides, and a plain text on all three."""
    return ours["role"] == theirs["role"] and all(isinstance(each["content"], str) for each in (base, ours, theirs))
