"""The turns of a conversation with a model: an answer as the turn it becomes, and a turn in a few words. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from playground import tool_turns

SUMMARY_CHARACTERS = 200
#: The most that one code point takes in JSON text in ASCII: a pair of escaped surrogates.
ESCAPED = len("\\ud83d\\ude00")
_WHOLE_ESCAPES = re.compile(r'"((?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*)')
_HALF_AT_END = re.compile("[\ud800-\udfff]$")


def answer_turn(response: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The turn that continues a conversation after `response` (a message of the Messages API), or None if it is empty.

    Content blocks stay as they came: texts byte for byte, thinking with its signature. Only text blocks of blanks are
    left out, since the Messages API sends some and takes none.
    """
    content = (response or {}).get("content")
    blocks = [block for block in content if not _is_blank(block)] if isinstance(content, list) else []
    says = any(block.get("type") not in _THINKING for block in blocks)
    return {"role": "assistant", "content": blocks} if says else None


_THINKING = frozenset({"thinking", "redacted_thinking"})


def _is_blank(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "text" and not str(block.get("text", "")).strip()


def summary(turn: Mapping[str, Any]) -> dict[str, Any]:
    """A turn for a list: `{role, text, cut, calls, results}`.

    `text` is the beginning of its texts, `calls` the names of the tools it calls, `results` how many calls it answers.
    """
    content = turn["content"]
    blocks: Sequence[Mapping[str, Any]] = content if isinstance(content, list) else [{"type": "text", "text": content}]
    text = "\n".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")
    return {
        "role": turn["role"],
        "text": text[:SUMMARY_CHARACTERS],
        "cut": len(text) > SUMMARY_CHARACTERS,
        "calls": [str(call.get("name", ""))[:SUMMARY_CHARACTERS] for call in tool_turns.calls_of(content)],
        "results": sum(block.get("type") == "tool_result" for block in blocks),
    }


def beginning(json_text: str) -> str:
    """The first characters of a text that is kept as JSON in ASCII, of which only the beginning was read."""
    found = _WHOLE_ESCAPES.match(json_text)
    text = str(json.loads(f'"{found[1]}"')) if found else ""
    return _HALF_AT_END.sub("", text[:SUMMARY_CHARACTERS])
