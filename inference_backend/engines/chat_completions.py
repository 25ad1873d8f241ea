"""Any server with the OpenAI chat API, as an Engine. llama_cpp.py and vllm.py say where those two differ."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from inference_backend.engines.forced_tools import TextReader, ToolReader, answer_schema, describe_tools
from inference_backend.engines.protocol import (
    Capabilities,
    EngineEvent,
    GenerationRequest,
    JsonObject,
    ServedModel,
    Started,
    Stopped,
    StopReason,
    Usage,
)
from inference_backend.engines.tool_calls import CallReader, chat_messages, forced_tools, tool_fields
from inference_backend.engines.wire import WireEngine, as_object, classify, parse_json, read_count, read_text
from inference_backend.errors import EngineCutError, EngineFailedError, EngineProtocolError, EngineRefusedError

MAX_MAX_TOKENS = 2**31 - 1
_FINISH: dict[str, StopReason] = {
    "stop": "end",
    "length": "length",
    "tool_calls": "tool",
    "content_filter": "refusal",
}


class ChatCompletionsEngine(WireEngine):
    capabilities = Capabilities(prefill=False, top_k=False, count_tokens=False)

    async def describe(self) -> ServedModel:
        row = await self._list_models()
        return ServedModel(context=self._read_context(row), digest=read_text(row.get("digest")))

    async def count_tokens(self, request: GenerationRequest) -> int:
        raise EngineRefusedError("This engine cannot count tokens.")

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[EngineEvent]:
        body = self._chat_body(request) | self._stream_fields()
        reader = _reader(request)
        finish: str | None = None
        started = False
        async with aclosing(self._frames("/v1/chat/completions", body)) as frames:
            async for payload in frames:
                if payload == "[DONE]":
                    break
                chunk = _read_chunk(payload)
                usage = self._read_usage(chunk)
                if not started:
                    started = True
                    yield Started(input_tokens=usage.input_tokens if usage else None)
                text, calls, ended = _read_choice(chunk)
                finish = ended or finish
                for event in reader.feed(text, usage):
                    yield event
                for event in reader.feed_calls(calls):
                    yield event
        if finish is None:
            raise EngineCutError("The engine ended the answer before it was complete.")
        reason = _stop_reason(finish)
        for event in reader.finish(reason):
            yield event
        yield Stopped(reason=reader.reason(reason))

    # --- where engines differ ---

    def _read_context(self, entry: JsonObject) -> int | None:
        return None

    def _stream_fields(self) -> dict[str, Any]:
        return {"stream": True, "stream_options": {"include_usage": True}}

    def _prefill_fields(self) -> dict[str, Any]:
        return {}

    def _read_usage(self, chunk: JsonObject) -> Usage | None:
        usage = chunk.get("usage")
        if not isinstance(usage, dict):
            return None
        return Usage(
            input_tokens=read_count(usage.get("prompt_tokens")),
            output_tokens=read_count(usage.get("completion_tokens")),
        )

    # --- the wire ---

    def _chat_body(self, request: GenerationRequest) -> dict[str, Any]:
        system, choice, forced = request.system, request.tool_choice, forced_tools(request)
        if forced:
            system = "\n\n".join(filter(None, [system, describe_tools(forced)]))
        messages = [{"role": "system", "content": system}] if system is not None else []
        messages += chat_messages(request.turns)
        body: dict[str, Any] = {
            "model": self._model,
            "messages": messages,
            "max_tokens": min(request.max_tokens, MAX_MAX_TOKENS),
        }
        for name in ("temperature", "top_p", "top_k"):
            if (value := getattr(request, name)) is not None:
                body[name] = value
        if choice is not None and not forced:
            body |= tool_fields(request, choice)
        schema = answer_schema(forced) if forced else request.schema
        if schema is not None:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": schema},
            }
        if request.continues_assistant:
            body |= self._prefill_fields()
        return body


def _read_chunk(payload: str) -> JsonObject:
    chunk = as_object(parse_json(payload))
    error = chunk.get("error")
    if error is not None:
        # The status is already 200 by now; what follows depends on what the engine says, not on it.
        detail = error if isinstance(error, dict) else {}
        status = read_count(detail.get("code")) or 500
        raise classify(status, detail) if status == 400 else EngineFailedError("The engine failed during the answer.")
    return chunk


def _reader(request: GenerationRequest) -> TextReader:
    if forced := forced_tools(request):
        return ToolReader(forced)
    return CallReader(request.tool_choice) if request.tool_choice else TextReader()


def _read_choice(chunk: JsonObject) -> tuple[str, Sequence[object], str | None]:
    """(text, pieces of tool calls, finish reason) of one chunk."""
    choices = chunk.get("choices")
    if not choices:
        return "", (), None
    choice = as_object(choices[0] if isinstance(choices, list) else None)
    delta = as_object(choice.get("delta") or {})
    text, calls = delta.get("content") or "", delta.get("tool_calls") or ()
    finish = choice.get("finish_reason")
    if (
        not isinstance(text, str)
        or not isinstance(calls, list | tuple)
        or not (finish is None or isinstance(finish, str))
    ):
        raise EngineProtocolError("The engine sent JSON of an unexpected shape.")
    return text, calls, finish


def _stop_reason(finish: str) -> StopReason:
    reason = _FINISH.get(finish)
    if reason is None:
        raise EngineFailedError("The engine gave up on the answer.")
    return reason
