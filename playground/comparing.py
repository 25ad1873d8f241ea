"""What changed between two specs (read back): fields by value, texts by their place. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from playground import diffing
from playground.diffing import TextDiff

_TEXTS = ("system", "messages", "tools", "output_schema")


@dataclass(frozen=True, kw_only=True)
class FieldChange:
    """`before` or `after` is None where the field is absent."""

    name: str
    before: Any
    after: Any


@dataclass(frozen=True, kw_only=True)
class Part:
    """A text in its place: `messages.0`, `system`, `tools`. `role` for messages only."""

    place: str
    role: str
    text: str


@dataclass(frozen=True, kw_only=True)
class PartChange:
    """A text that was changed, added, removed, or kept with another role."""

    state: Literal["changed", "added", "removed"]
    before: Part | None
    after: Part | None
    diff: TextDiff


@dataclass(frozen=True, kw_only=True)
class SpecDiff:
    fields: tuple[FieldChange, ...]
    parts: tuple[PartChange, ...]

    @property
    def equal(self) -> bool:
        return not self.fields and not self.parts


def compare_specs(before: Mapping[str, Any], after: Mapping[str, Any]) -> SpecDiff:
    """All that differs. Takes at most diffing's budget for each text that changed."""
    return SpecDiff(fields=tuple(_fields(before, after)), parts=tuple(_parts(before, after)))


def _fields(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[FieldChange]:
    names = [name for name in dict.fromkeys([*before, *after]) if name not in _TEXTS]
    return [
        FieldChange(name=name, before=before.get(name), after=after.get(name))
        for name in names
        if before.get(name) != after.get(name)
    ]


def parts_of(spec: Mapping[str, Any]) -> list[Part]:
    """The texts of a spec in wire order. A block that is no text stands as its JSON."""
    found = [*_of_content("system", "system", spec["system"])] if "system" in spec else []
    for index, message in enumerate(spec.get("messages", [])):
        found += _of_content(f"messages.{index}", message["role"], message["content"])
    found += [Part(place=name, role=name, text=spec[name]) for name in ("tools", "output_schema") if name in spec]
    return found


def _of_content(place: str, role: str, content: Any) -> list[Part]:
    if not isinstance(content, list):
        return [Part(place=place, role=role, text=content)]
    return [Part(place=f"{place}.{index}", role=role, text=_as_text(block)) for index, block in enumerate(content)]


def _as_text(block: Mapping[str, Any]) -> str:
    if block["type"] == "text":
        return str(block["text"])
    return json.dumps(block, ensure_ascii=False, indent=2)


def _parts(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[PartChange]:
    old, new = parts_of(before), parts_of(after)
    changes: list[PartChange] = []
    left, right = ([(part.role, part.text) for part in side] for side in (old, new))
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    for kind, i, i_end, j, j_end in matcher.get_opcodes():
        if kind != "equal":
            changes += _paired(old[i:i_end], new[j:j_end])
    return changes


def _paired(old: Sequence[Part], new: Sequence[Part]) -> list[PartChange]:
    """Texts in the same stretch: those of one kind are compared in order, what is left was added or removed."""
    changes: list[PartChange] = []
    waiting = list(new)
    for part in old:
        twin = next((each for each in waiting if _kind(each) == _kind(part)), None)
        if twin is None:
            changes.append(PartChange(state="removed", before=part, after=None, diff=diffing.compare(part.text, "")))
            continue
        waiting.remove(twin)
        diff = diffing.compare(part.text, twin.text)
        changes.append(PartChange(state="changed", before=part, after=twin, diff=diff))
    changes += [
        PartChange(state="added", before=None, after=part, diff=diffing.compare("", part.text)) for part in waiting
    ]
    return changes


def _kind(part: Part) -> str:
    return part.place.partition(".")[0]
