"""The turns of a conversation with a model: an answer as the turn it becomes, and a turn in a few words. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from playground import tool_turns

SUMMARY_CHARACTERS = 200


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
