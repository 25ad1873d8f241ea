"""A message of the Messages API, put together from the events of its stream. Pure."""

from __future__ import annotations

from typing import Any

import pydantic_core

from inference_client.surrogates import join_pairs

#: Deltas that go on with a text of their block: the field of the delta, and the one of the block.
_GROWING = {"text_delta": ("text", "text"), "thinking_delta": ("thinking", "thinking")}
_INPUT = "input"


class MessageSoFar:
    """Takes events in order. What is no such stream raises ValueError, LookupError, TypeError or AttributeError."""

    def __init__(self) -> None:
        self._message: dict[str, Any] | None = None
        #: By place and field of a block, what came for it. A text that grew by adding would be copied for each token.
        self._pieces: dict[tuple[int, str], list[str]] = {}

    def take(self, event: dict[str, Any]) -> None:
        """Kinds of events and deltas that are not known here are passed over."""
        kind = event["type"]
        if self._message is None:
            if kind == "message_start":
                self._message = {**event["message"], "content": list(event["message"].get("content") or ())}
            elif kind != "ping":
                raise ValueError(f"{kind!r} comes before the message.")
        elif kind == "content_block_start":
            self._message["content"].append(dict(event["content_block"]))
        elif kind == "content_block_delta":
            self._take_delta(event["index"], event["delta"])
        elif kind == "content_block_stop":
            self._close(event["index"])
        elif kind == "message_delta":
            self._message |= event["delta"]
            self._count(event.get("usage") or {})

    def plain(self) -> dict[str, Any] | None:
        """The message as far as it arrived, every text of it storable; None before it began."""
        if self._message is None:
            return None
        content = [self._block(index, block) for index, block in enumerate(self._message["content"])]
        plain: dict[str, Any] = join_pairs({**self._message, "content": content})
        return plain

    def _take_delta(self, index: int, delta: dict[str, Any]) -> None:
        block, kind = self._block_at(index), delta["type"]
        if kind in _GROWING:
            source, field = _GROWING[kind]
            self._grow(index, field, delta[source])
        elif kind == "input_json_delta":
            self._grow(index, _INPUT, delta["partial_json"])
        elif kind == "signature_delta":
            block["signature"] = delta["signature"]
        elif kind == "citations_delta":
            block["citations"] = [*(block.get("citations") or ()), delta["citation"]]

    def _grow(self, index: int, field: str, piece: str) -> None:
        if not isinstance(piece, str):
            raise TypeError(f"{field} is no text.")
        self._pieces.setdefault((index, field), []).append(piece)

    def _close(self, index: int) -> None:
        """Arguments of a tool have to be JSON by now; they may be cut off, as every answer may by its token limit."""
        block = self._block_at(index)
        written = self._pieces.pop((index, _INPUT), ())
        if any(written):
            block[_INPUT] = _read_json(written)

    def _count(self, usage: dict[str, Any]) -> None:
        """Counts are totals so far; one that is left out keeps what the beginning of the message said."""
        if self._message is not None:
            told = {name: value for name, value in usage.items() if value is not None}
            self._message["usage"] = {**(self._message.get("usage") or {}), **told}

    def _block_at(self, index: int) -> dict[str, Any]:
        blocks: list[dict[str, Any]] = (self._message or {}).get("content", [])
        if index < 0:
            raise LookupError(f"There is no block {index}.")
        return blocks[index]

    def _block(self, index: int, block: dict[str, Any]) -> dict[str, Any]:
        """The block with what came for it."""
        whole = dict(block)
        for _, field in _GROWING.values():
            if (index, field) in self._pieces:
                whole[field] = str(block.get(field) or "") + "".join(self._pieces[index, field])
        written = self._pieces.get((index, _INPUT), [])
        if any(written):
            try:
                whole[_INPUT] = _read_json(written)
            except ValueError:
                return whole
        return whole


def _read_json(pieces: Any) -> Any:
    return pydantic_core.from_json("".join(pieces).encode(), allow_partial=True)
