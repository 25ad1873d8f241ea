"""A version as a document to read: its texts in the order they are sent, its parameters in words. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from playground import spec as specs
from playground import template

ROLES = {"system": "System", "user": "User", "assistant": "Assistant"}
#: Of a content block that is no text (a picture, a tool call): enough to see what it is.
MAX_JSON = 2000
_PARAMETERS = (
    ("model", "Model"),
    ("max_tokens", "Max tokens"),
    ("temperature", "Temperature"),
    ("top_p", "Top p"),
    ("top_k", "Top k"),
    ("stop_sequences", "Stop sequences"),
    ("tool_choice", "Tool choice"),
    ("thinking", "Thinking"),
    ("api_version", "API version"),
)


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A text of the version, the `index`th in wire order. `text` is None for one that is read through a window."""

    index: int
    text: str | None
    byte_length: int
    caption: str = ""

    @property
    def pieces(self) -> Iterator[tuple[str, bool]]:
        """The text in pieces, each with whether it is a variable."""
        text, at = self.text or "", 0
        for place in template.placeholders(text):
            yield text[at : place.start], False
            yield text[place.start : place.end], True
            at = place.end
        yield text[at:], False


@dataclass(frozen=True, kw_only=True)
class Part:
    """A message, or the system text."""

    role: str
    passages: tuple[Passage, ...]

    @property
    def title(self) -> str:
        return ROLES.get(self.role, self.role)


@dataclass(frozen=True, kw_only=True)
class Parameter:
    name: str
    title: str
    value: str


@dataclass(frozen=True, kw_only=True)
class Document:
    parts: tuple[Part, ...]
    parameters: tuple[Parameter, ...]
    variables: tuple[Mapping[str, Any], ...]
    attachments: tuple[Passage, ...]

    @property
    def has_windows(self) -> bool:
        passages = (passage for part in self.parts for passage in part.passages)
        return any(passage.text is None for passage in (*passages, *self.attachments))


def read(spec: Mapping[str, Any]) -> Document:
    """The document of a spec whose small texts are read back; a large one is `{"body": sha256, "bytes": n}`."""
    numbers = count()
    marked = specs.map_texts(dict(spec), lambda text, kind: _passage(next(numbers), text))
    turns = [{"role": message["role"], "content": message["content"]} for message in marked["messages"]]
    if "system" in marked:
        turns.insert(0, {"role": "system", "content": marked["system"]})
    return Document(
        parts=tuple(Part(role=turn["role"], passages=_passages(turn["content"])) for turn in turns),
        parameters=tuple(_parameters(spec)),
        variables=tuple(_variables(spec, turns)),
        attachments=tuple(
            _captioned(marked[name], title)
            for name, title in (("tools", "Tools"), ("output_schema", "Output schema"))
            if name in marked
        ),
    )


def _passage(index: int, text: Any) -> Passage:
    if isinstance(text, str):
        return Passage(index=index, text=text, byte_length=len(text.encode("utf-8", "surrogatepass")))
    return Passage(index=index, text=None, byte_length=int(text.get("bytes", 0)))


def _captioned(passage: Passage, caption: str) -> Passage:
    return Passage(index=passage.index, text=passage.text, byte_length=passage.byte_length, caption=caption)


def _passages(content: Any) -> tuple[Passage, ...]:
    if isinstance(content, Passage):
        return (content,)
    return tuple(_block(block) for block in content)


def _block(block: Mapping[str, Any]) -> Passage:
    if block["type"] == "text" and isinstance(block.get("text"), Passage):
        passage: Passage = block["text"]
        return passage
    if isinstance(block.get("content"), Passage):
        return _captioned(block["content"], f"Result of tool call {block.get('tool_use_id', '')}".strip())
    text = json.dumps(block, ensure_ascii=False, indent=2, default=str)
    shown = text if len(text) <= MAX_JSON else f"{text[:MAX_JSON]}…"
    return Passage(index=-1, text=shown, byte_length=len(text), caption=f"{block['type']}, as JSON")


def _parameters(spec: Mapping[str, Any]) -> Iterator[Parameter]:
    for name, title in _PARAMETERS:
        if spec.get(name) is not None and spec[name] != []:
            yield Parameter(name=name, title=title, value=_value(spec[name]))


def _value(value: Any) -> str:
    if isinstance(value, bool | dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return "  ".join(json.dumps(item, ensure_ascii=False) for item in value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def _variables(spec: Mapping[str, Any], turns: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Those declared, then those that the texts on the page use without a declaration."""
    declared = {card["name"]: card for card in spec.get("variables", [])}
    used: dict[str, None] = {}
    for turn in turns:
        for passage in _passages(turn["content"]):
            if passage.index >= 0 and passage.text:
                used.update(dict.fromkeys(template.names(passage.text)))
    for name in dict.fromkeys([*declared, *used]):
        yield {"name": name, "type": "text", "is_used": name in used, **declared.get(name, {})}


def sentence(spec: Mapping[str, Any]) -> str:
    """The parameters in one sentence, as the workbench says them: "claude-x, 1,024 tokens, temperature 0.2"."""
    stops = len(spec.get("stop_sequences") or [])
    words: list[str] = [str(spec.get("model") or "no model"), f"{spec.get('max_tokens', 0):,} tokens"]
    words += [f"{title} {spec[name]}" for name, title in _SAMPLING if spec.get(name) is not None]
    words += [_count(stops, "stop sequence")] if stops else []
    words += [name for key, name in (("tools", "tools"), ("output_schema", "output schema")) if key in spec]
    return ", ".join(words)


_SAMPLING = (("temperature", "temperature"), ("top_p", "top p"), ("top_k", "top k"))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
