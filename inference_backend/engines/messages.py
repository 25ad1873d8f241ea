"""Any server with the Messages API, as an Engine.

Its stream is read into events like that of every other engine; ids, errors and stop reasons that callers see are the
service's own. Sampling is only accepted by this version of the API, so it is the one that is asked for.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, ClassVar, NoReturn

from inference_backend.engines.protocol import (
    Capabilities,
    EngineEvent,
    GenerationRequest,
    JsonObject,
    ServedModel,
    Started,
    Stopped,
    StopReason,
    TextDelta,
    ToolCall,
    ToolChoice,
    ToolJson,
    ToolResult,
    Turn,
    Usage,
)
from inference_backend.engines.wire import WireEngine, as_object, classify, parse_json, read_count, read_text
from inference_backend.errors import (
    EngineConnectionError,
    EngineCutError,
    EngineFailedError,
    EngineProtocolError,
)

API_VERSION = "2023-06-01"
_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "context",
    "stop_sequence": "end",
    "tool_use": "tool",
    "refusal": "refusal",
}
# What the kinds of errors in a stream would have been as a status.
_ERROR_STATUS = {
    "invalid_request_error": 400,
    "request_too_large": 413,
    "overloaded_error": 503,
    "rate_limit_error": 429,
}
_DELTAS = {"text_delta": "text", "input_json_delta": "partial_json"}


class MessagesEngine(WireEngine):
    capabilities = Capabilities(prefill=True, top_k=True, count_tokens=True, own_tools=True)
    health_path: ClassVar[str] = "/v1/models"

    async def describe(self) -> ServedModel:
        row = await self._list_models()
        return ServedModel(context=read_count(row.get("max_input_tokens")), digest=read_text(row.get("digest")))

    async def count_tokens(self, request: GenerationRequest) -> int:
        answer = as_object(parse_json(await self._ask("POST", "/v1/messages/count_tokens", self._prompt(request))))
        tokens = read_count(answer.get("input_tokens"))
        if tokens is None:
            raise EngineProtocolError("The engine did not count the tokens.")
        return tokens

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[EngineEvent]:
        reader = _EventReader(is_forced=bool(request.tools) and request.tool_choice is None)
        async with aclosing(self._frames("/v1/messages", self._body(request))) as frames:
            async for payload in frames:
                for event in reader.read(as_object(parse_json(payload))):
                    yield event
                if reader.is_complete:
                    return
        raise EngineCutError("The engine ended the answer before it was complete.")

    def _credentials(self, api_key: str | None) -> dict[str, str]:
        version = {"anthropic-version": API_VERSION}
        return version | {"x-api-key": api_key} if api_key else version

    def _body(self, request: GenerationRequest) -> dict[str, Any]:
        body = self._prompt(request) | {"max_tokens": request.max_tokens, "stream": True}
        for name in ("temperature", "top_p", "top_k"):
            if (value := getattr(request, name)) is not None:
                body[name] = value
        return body

    def _prompt(self, request: GenerationRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": turn.role, "content": _content(turn)} for turn in request.turns],
        }
        if request.system is not None:
            body["system"] = request.system
        if request.schema is not None:
            body["output_config"] = {"format": {"type": "json_schema", "schema": request.schema}}
        if request.tools:
            body["tools"] = [
                {"name": tool.name, "description": tool.description or "", "input_schema": tool.schema}
                for tool in request.tools
            ]
            body["tool_choice"] = _tool_choice(request.tool_choice)
        return body


def _content(turn: Turn) -> str | list[dict[str, Any]]:
    return [_block(block) for block in turn.blocks] if turn.blocks else turn.text


def _block(block: str | ToolCall | ToolResult) -> dict[str, Any]:
    match block:
        case ToolCall():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.arguments}
        case ToolResult():
            return {
                "type": "tool_result",
                "tool_use_id": block.call_id,
                "content": block.text,
                "is_error": block.is_error,
            }
    return {"type": "text", "text": block}


def _tool_choice(choice: ToolChoice | None) -> dict[str, Any]:
    if choice is None:
        return {"type": "any", "disable_parallel_tool_use": True}
    fields: dict[str, Any] = {"type": choice.kind}
    if choice.name is not None:
        fields["name"] = choice.name
    return fields if choice.is_parallel else fields | {"disable_parallel_tool_use": True}


class _EventReader:
    """Reads the events of one answer. Text written before a call that is forced is not part of it: left out."""

    def __init__(self, *, is_forced: bool) -> None:
        self.is_complete = False
        self._is_forced = is_forced
        self._tool: str | None = None
        self._calls = 0
        self._stop: StopReason | None = None

    def read(self, data: JsonObject) -> list[EngineEvent]:
        """Raises EngineError for an error event and for events that make no sense."""
        match data.get("type"):
            case "message_start":
                tokens = _read_usage(as_object(data.get("message")))
                return [Started(input_tokens=tokens.input_tokens)]
            case "content_block_start":
                return self._open(as_object(data.get("content_block")))
            case "content_block_delta":
                return self._read_delta(as_object(data.get("delta")))
            case "message_delta":
                self._read_stop(as_object(data.get("delta")))
                return [_read_usage(data)]
            case "message_stop":
                return [self._finish()]
            case "error":
                _fail(as_object(data.get("error")))
        return []

    def _open(self, block: JsonObject) -> list[EngineEvent]:
        if block.get("type") != "tool_use":
            return []
        self._tool = read_text(block.get("name"))
        if self._tool is None:
            raise EngineProtocolError("The engine called a tool without a name.")
        self._calls += 1
        # A call without arguments may have no further piece.
        return [ToolJson(name=self._tool, json="", call=self._calls - 1)]

    def _read_delta(self, delta: JsonObject) -> list[EngineEvent]:
        kind = str(delta.get("type"))
        if kind not in _DELTAS:
            return []  # thinking and its signature, citations: nothing that a caller of this service asked for
        text = delta.get(_DELTAS[kind])
        if not isinstance(text, str):
            raise EngineProtocolError("The engine sent JSON of an unexpected shape.")
        if not text:
            return []
        if kind == "text_delta":
            return [] if self._is_forced else [TextDelta(text=text)]
        if self._tool is None:
            raise EngineProtocolError("The engine sent arguments of no tool.")
        return [ToolJson(name=self._tool, json=text, call=self._calls - 1)]

    def _read_stop(self, delta: JsonObject) -> None:
        reason = delta.get("stop_reason")
        if reason is None:
            return
        self._stop = _STOP_REASONS.get(str(reason))
        if self._stop is None:
            raise EngineFailedError("The engine gave up on the answer.")

    def _finish(self) -> Stopped:
        if self._stop is None:
            raise EngineProtocolError("The engine ended its answer without saying why.")
        self.is_complete = True
        return Stopped(reason=self._stop)


def _read_usage(holder: JsonObject) -> Usage:
    """Cached input is input all the same."""
    usage = holder.get("usage")
    if not isinstance(usage, dict):
        return Usage()
    counts = [
        read_count(usage.get(name))
        for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    ]
    known = [count for count in counts if count is not None]
    return Usage(
        input_tokens=sum(known) if counts[0] is not None else None,
        output_tokens=read_count(usage.get("output_tokens")),
    )


def _fail(error: JsonObject) -> NoReturn:
    status = _ERROR_STATUS.get(str(error.get("type")))
    if status is None:
        raise EngineFailedError("The engine failed during the answer.")
    failure = classify(status, error)
    if isinstance(failure, EngineConnectionError):
        raise EngineCutError("The engine gave up on the answer: it has too much to do.")
    raise failure
