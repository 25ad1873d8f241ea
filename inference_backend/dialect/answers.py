"""An answer as the Messages API writes it: a stream of events, or one message."""

import json
from dataclasses import dataclass, field
from typing import Any

import pydantic_core

from inference_backend.dialect.ids import new_id
from inference_backend.engines.protocol import (
    EngineEvent,
    Started,
    Stopped,
    StopReason,
    TextDelta,
    ToolJson,
    Usage,
)

PING = b'event: ping\ndata: {"type": "ping"}\n\n'
_STOP_REASONS: dict[StopReason, str] = {
    "end": "end_turn",
    "length": "max_tokens",
    "context": "model_context_window_exceeded",
    "stop_sequence": "stop_sequence",
    "tool": "tool_use",
    "refusal": "refusal",
}


@dataclass(kw_only=True, slots=True)
class TokenCount:
    """Tokens of one answer. Text pieces stand in for output tokens where the engine counts none: one each, mostly."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    pieces: int = 0

    def take(self, event: EngineEvent) -> None:
        match event:
            case Started(input_tokens=tokens) if tokens is not None:
                self.input_tokens = tokens
            case Usage():
                self.input_tokens = event.input_tokens if event.input_tokens is not None else self.input_tokens
                self.output_tokens = event.output_tokens if event.output_tokens is not None else self.output_tokens
            case TextDelta():
                self.pieces += 1
                if event.output_tokens is not None:
                    self.output_tokens = event.output_tokens
            case ToolJson():
                self.pieces += 1

    @property
    def input(self) -> int:
        return self.input_tokens or 0

    @property
    def output(self) -> int:
        return self.pieces if self.output_tokens is None else self.output_tokens

    def as_usage(self) -> dict[str, Any]:
        return {
            "input_tokens": self.input,
            "output_tokens": self.output,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        }


@dataclass(kw_only=True, slots=True)
class _Block:
    """One block of content. `call` numbers the tool calls of an answer; None is text."""

    call: int | None
    content: dict[str, Any]
    pieces: list[str] = field(default_factory=list)

    def close(self) -> dict[str, Any]:
        text = "".join(self.pieces)
        if self.call is None:
            return {**self.content, "text": text}
        return {**self.content, "input": _read_arguments(text)}


class MessageCollector:
    """Takes the events of one answer and gives the whole message at the end."""

    def __init__(self, *, model: str, tokens: TokenCount) -> None:
        self._model = model
        self._tokens = tokens
        self._blocks: list[_Block] = []
        self._stopped: Stopped | None = None

    def take(self, event: EngineEvent) -> None:
        match event:
            case TextDelta(text=piece) | ToolJson(json=piece):
                if not self._blocks or self._blocks[-1].call != _call(event):
                    self._blocks.append(_Block(call=_call(event), content=_new_block(event)))
                self._blocks[-1].pieces.append(piece)
            case Stopped():
                self._stopped = event

    def message(self) -> dict[str, Any]:
        return _envelope(self._model) | {
            "content": [block.close() for block in self._blocks],
            **_stop_fields(self._stopped),
            "usage": self._tokens.as_usage(),
        }


class EventWriter:
    """Writes one answer as server-sent events, in the API's order:

    message_start, for each block content_block_start, content_block_delta..., content_block_stop, then message_delta,
    message_stop. An answer without any text has no content block at all.
    """

    def __init__(self, *, model: str, tokens: TokenCount) -> None:
        self._model = model
        self._tokens = tokens
        self._index = -1
        self._call: int | None = None
        self._is_open = False

    def start(self) -> bytes:
        message = _envelope(self._model) | {
            "content": [],
            **_stop_fields(None),
            "usage": {**self._tokens.as_usage(), "output_tokens": 0},
        }
        return _frame("message_start", {"message": message})

    def write(self, event: EngineEvent) -> bytes:
        match event:
            case TextDelta(text=text):
                return self._open(event) + _delta(self._index, '"text_delta", "text"', text)
            case ToolJson(json=text):
                # The first piece opens the block; a call without arguments has no other.
                head = self._open(event)
                return head + _delta(self._index, '"input_json_delta", "partial_json"', text) if text else head
            case Stopped():
                delta = {"delta": _stop_fields(event), "usage": self._tokens.as_usage()}
                return self._close() + _frame("message_delta", delta) + _frame("message_stop", {})
        return b""

    def _open(self, event: TextDelta | ToolJson) -> bytes:
        call = _call(event)
        if self._is_open and self._call == call:
            return b""
        frames = self._close()
        self._is_open, self._call = True, call
        self._index += 1
        return frames + _frame("content_block_start", {"index": self._index, "content_block": _new_block(event)})

    def _close(self) -> bytes:
        if not self._is_open:
            return b""
        self._is_open = False
        return _frame("content_block_stop", {"index": self._index})


def _call(event: TextDelta | ToolJson) -> int | None:
    return event.call if isinstance(event, ToolJson) else None


_write_json = json.JSONEncoder(ensure_ascii=False).encode


def _delta(index: int, kind: str, text: str) -> bytes:
    """As `_frame` would write it: for each token there is one, and building objects for it takes most of its time."""
    return (
        f'event: content_block_delta\ndata: {{"type": "content_block_delta", "index": {index}, '
        f'"delta": {{"type": {kind}: {_write_json(text)}}}}}\n\n'
    ).encode()


def _frame(kind: str, content: dict[str, Any]) -> bytes:
    return f"event: {kind}\ndata: {_write_json({'type': kind, **content})}\n\n".encode()


def _envelope(model: str) -> dict[str, Any]:
    return {"id": new_id("msg"), "type": "message", "role": "assistant", "model": model}


def _stop_fields(stopped: Stopped | None) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "stop_reason": _STOP_REASONS[stopped.reason] if stopped else None,
        "stop_sequence": stopped.sequence if stopped else None,
    }
    if stopped and stopped.refusal:
        refusal = stopped.refusal
        fields["stop_details"] = {
            "type": "refusal",
            "category": refusal.category,
            "explanation": refusal.explanation,
        }
    return fields


def _new_block(event: TextDelta | ToolJson) -> dict[str, Any]:
    if isinstance(event, TextDelta):
        return {"type": "text", "text": ""}
    return {"type": "tool_use", "id": new_id("toolu"), "name": event.name, "input": {}}


def _read_arguments(text: str) -> dict[str, Any]:
    """The arguments that were complete when the answer ended; max_tokens may have cut it anywhere."""
    try:
        arguments = pydantic_core.from_json(text, allow_partial=True)
    except ValueError:
        return {}
    return arguments if isinstance(arguments, dict) else {}
