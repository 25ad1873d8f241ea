"""An answer as the Messages API writes it: a stream of events, or one message."""

import json
from collections.abc import Iterator
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
            case TextDelta() | ToolJson():
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
class _OpenBlock:
    content: dict[str, Any]
    pieces: list[str] = field(default_factory=list)

    def close(self) -> dict[str, Any]:
        text = "".join(self.pieces)
        if self.content["type"] == "text":
            return {**self.content, "text": text}
        return {**self.content, "input": _read_arguments(text)}


class MessageCollector:
    """Takes the events of one answer and gives the whole message at the end."""

    def __init__(self, *, model: str, tokens: TokenCount) -> None:
        self._model = model
        self._tokens = tokens
        self._block: _OpenBlock | None = None
        self._stopped: Stopped | None = None

    def take(self, event: EngineEvent) -> None:
        match event:
            case TextDelta(text=piece) | ToolJson(json=piece):
                self._block = self._block or _OpenBlock(content=_new_block(event))
                self._block.pieces.append(piece)
            case Stopped():
                self._stopped = event

    def message(self) -> dict[str, Any]:
        return _envelope(self._model) | {
            "content": [self._block.close()] if self._block else [],
            **_stop_fields(self._stopped),
            "usage": self._tokens.as_usage(),
        }


class EventWriter:
    """Writes one answer as server-sent events, in the API's order:

    message_start, content_block_start, content_block_delta..., content_block_stop, message_delta, message_stop.
    An answer without any text has no content block at all.
    """

    def __init__(self, *, model: str, tokens: TokenCount) -> None:
        self._model = model
        self._tokens = tokens
        self._block_open = False

    def start(self) -> bytes:
        message = _envelope(self._model) | {
            "content": [],
            **_stop_fields(None),
            "usage": {**self._tokens.as_usage(), "output_tokens": 0},
        }
        return _frame("message_start", {"message": message})

    def write(self, event: EngineEvent) -> Iterator[bytes]:
        match event:
            case TextDelta(text=text):
                yield from self._open(event)
                yield _frame("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": text}})
            case ToolJson(json=piece):
                yield from self._open(event)
                delta = {"type": "input_json_delta", "partial_json": piece}
                yield _frame("content_block_delta", {"index": 0, "delta": delta})
            case Stopped():
                if self._block_open:
                    yield _frame("content_block_stop", {"index": 0})
                yield _frame("message_delta", {"delta": _stop_fields(event), "usage": self._tokens.as_usage()})
                yield _frame("message_stop", {})

    def _open(self, event: TextDelta | ToolJson) -> Iterator[bytes]:
        if not self._block_open:
            self._block_open = True
            yield _frame("content_block_start", {"index": 0, "content_block": _new_block(event)})


def _frame(kind: str, content: dict[str, Any]) -> bytes:
    data = json.dumps({"type": kind, **content}, ensure_ascii=False)
    return f"event: {kind}\ndata: {data}\n\n".encode()


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
