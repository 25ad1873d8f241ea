"""Any server with the OpenAI chat API, as an Engine. llama_cpp.py and vllm.py say where those two differ."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import Any, ClassVar

import httpx2
import pydantic_core

from inference_backend.engines.forced_tools import TextReader, ToolReader, answer_schema, describe_tools
from inference_backend.engines.frames import FrameDecoder
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
from inference_backend.errors import (
    EngineConnectionError,
    EngineCutError,
    EngineError,
    EngineFailedError,
    EngineProtocolError,
    EngineRefusedError,
    EngineTimeoutError,
    PromptTooLongError,
)

CONTROL_TIMEOUT_S = 30.0
ERROR_BODY_LIMIT = 64 * 1024
MAX_MAX_TOKENS = 2**31 - 1
_FINISH: dict[str, StopReason] = {
    "stop": "end",
    "length": "length",
    "tool_calls": "tool",
    "content_filter": "refusal",
}


class ChatCompletionsEngine:
    capabilities = Capabilities(prefill=False, top_k=False, count_tokens=False)
    # Both engines answer a request on a connection that sat idle with a close, so an idle one is not kept for long.
    keepalive_s: ClassVar[float] = 3.0
    health_path: ClassVar[str] = "/v1/models"

    def __init__(self, *, url: str, model: str, api_key: str | None, connect_s: float) -> None:
        headers = {"accept-encoding": "identity"}
        if api_key:
            headers["authorization"] = f"Bearer {api_key}"
        self._model = model
        self._client = httpx2.AsyncClient(
            base_url=url,
            headers=headers,
            # How long an answer may take is the business of the caller, phase by phase.
            timeout=httpx2.Timeout(connect=connect_s, read=None, write=60.0, pool=None),
            limits=httpx2.Limits(
                max_connections=None,
                max_keepalive_connections=None if self.keepalive_s else 0,
                keepalive_expiry=self.keepalive_s,
            ),
            trust_env=False,
        )

    async def aclose(self) -> None:
        await self._client.aclose()

    async def check_health(self) -> None:
        await self._ask("GET", self.health_path)

    async def describe(self) -> ServedModel:
        listing = as_object(parse_json(await self._ask("GET", "/v1/models")))
        for entry in listing.get("data") or []:
            if isinstance(entry, dict) and entry.get("id") == self._model:
                return ServedModel(context=self._read_context(entry))
        raise EngineFailedError(f"The engine does not serve the model {self._model}.")

    async def count_tokens(self, request: GenerationRequest) -> int:
        raise EngineRefusedError("This engine cannot count tokens.")

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[EngineEvent]:
        body = self._chat_body(request) | self._stream_fields()
        reader = ToolReader(request.tools) if request.tools else TextReader()
        finish: str | None = None
        started = False
        async with aclosing(self._chunks(body)) as chunks:
            async for chunk in chunks:
                usage = self._read_usage(chunk)
                if not started:
                    started = True
                    yield Started(input_tokens=usage.input_tokens if usage else None)
                text, ended = _read_choice(chunk)
                finish = ended or finish
                for event in reader.feed(text):
                    yield event
                if usage:
                    yield usage
        if finish is None:
            raise EngineCutError("The engine ended the answer before it was complete.")
        reason = _stop_reason(finish, is_tool=bool(request.tools))
        for event in reader.finish():
            yield event
        yield Stopped(reason=reason)

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
        system = request.system
        if request.tools:
            system = "\n\n".join(filter(None, [system, describe_tools(request.tools)]))
        messages = [{"role": "system", "content": system}] if system is not None else []
        messages += [{"role": turn.role, "content": turn.text} for turn in request.turns]
        body: dict[str, Any] = {
            "model": self._model,
            "messages": messages,
            "max_tokens": min(request.max_tokens, MAX_MAX_TOKENS),
        }
        for name in ("temperature", "top_p", "top_k"):
            if (value := getattr(request, name)) is not None:
                body[name] = value
        schema = answer_schema(request.tools) if request.tools else request.schema
        if schema is not None:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": schema},
            }
        if request.continues_assistant:
            body |= self._prefill_fields()
        return body

    async def _chunks(self, body: dict[str, Any]) -> AsyncGenerator[JsonObject]:
        decoder = FrameDecoder()
        async with self._open("POST", "/v1/chat/completions", body) as response:
            with _translate_cut():
                async for data in response.aiter_raw():
                    for payload in decoder.feed(data):
                        if payload == "[DONE]":
                            return
                        yield _read_chunk(payload)

    async def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> bytes:
        """The whole answer of a small call."""
        async with self._open(method, path, body, timeout_s=CONTROL_TIMEOUT_S) as response:
            with _translate_cut():
                return await response.aread()

    @asynccontextmanager
    async def _open(
        self, method: str, path: str, body: dict[str, Any] | None, *, timeout_s: float | None = None
    ) -> AsyncIterator[httpx2.Response]:
        """Raises EngineConnectionError where no byte came, the matching EngineError for another status than 200."""
        content = json.dumps(body, ensure_ascii=False).encode() if body is not None else None
        request = self._client.build_request(
            method,
            path,
            content=content,
            headers={"content-type": "application/json"} if content else None,
        )
        if timeout_s is not None:
            request.extensions["timeout"] = {**request.extensions["timeout"], "read": timeout_s}
        with _translate_no_answer():
            response = await self._client.send(request, stream=True)
        try:
            if response.status_code != 200:
                raise await _read_refusal(response)
            yield response
        finally:
            await response.aclose()


@contextmanager
def _translate_no_answer() -> Iterator[None]:
    try:
        yield
    except httpx2.ReadTimeout as error:
        raise EngineTimeoutError("The engine did not answer in time.") from error
    except httpx2.HTTPError as error:
        raise EngineConnectionError("The engine cannot be reached.") from error


@contextmanager
def _translate_cut() -> Iterator[None]:
    try:
        yield
    except httpx2.ReadTimeout as error:
        raise EngineTimeoutError("The engine did not answer in time.") from error
    except httpx2.HTTPError as error:
        raise EngineCutError("The connection to the engine broke during the answer.") from error


async def _read_refusal(response: httpx2.Response) -> EngineError:
    detail: JsonObject = {}
    with _translate_cut():
        body = bytearray()
        async for data in response.aiter_raw():
            body += data
            if len(body) > ERROR_BODY_LIMIT:
                break
    try:
        detail = as_object(parse_json(bytes(body)))
    except EngineProtocolError:
        detail = {}
    error = detail.get("error", detail)
    return _classify(response.status_code, error if isinstance(error, dict) else {"message": str(error)})


def _classify(status: int, error: JsonObject) -> EngineError:
    message = str(error.get("message") or "no reason given")[:500]
    if error.get("type") == "exceed_context_size_error" or "maximum context length" in message:
        return PromptTooLongError(
            tokens=read_count(error.get("n_prompt_tokens")), context=read_count(error.get("n_ctx"))
        )
    if status in {400, 413, 422}:
        return EngineRefusedError(f"The engine refused the request: {message}")
    if status in {429, 503}:
        return EngineConnectionError("The engine takes no requests at the moment.")
    # Anything else, 401 and 404 included, is between this service and its engine: no detail for the caller.
    return EngineFailedError(f"The engine answered with status {status}.")


def parse_json(body: bytes | str) -> object:
    try:
        return pydantic_core.from_json(body)
    except ValueError as error:
        raise EngineProtocolError("The engine sent something that is not JSON.") from error


def as_object(value: object) -> JsonObject:
    if not isinstance(value, dict):
        raise EngineProtocolError("The engine sent JSON of an unexpected shape.")
    return value


def _read_chunk(payload: str) -> JsonObject:
    chunk = as_object(parse_json(payload))
    error = chunk.get("error")
    if error is not None:
        # The status is already 200 by now; what follows depends on what the engine says, not on it.
        detail = error if isinstance(error, dict) else {}
        status = read_count(detail.get("code")) or 500
        raise _classify(status, detail) if status == 400 else EngineFailedError("The engine failed during the answer.")
    return chunk


def _read_choice(chunk: JsonObject) -> tuple[str, str | None]:
    """(text, finish reason) of one chunk."""
    choices = chunk.get("choices")
    if not choices:
        return "", None
    choice = as_object(choices[0] if isinstance(choices, list) else None)
    delta = choice.get("delta") or {}
    text = as_object(delta).get("content") or ""
    finish = choice.get("finish_reason")
    if not isinstance(text, str) or not (finish is None or isinstance(finish, str)):
        raise EngineProtocolError("The engine sent JSON of an unexpected shape.")
    return text, finish


def _stop_reason(finish: str, *, is_tool: bool) -> StopReason:
    reason = _FINISH.get(finish)
    if reason is None:
        raise EngineFailedError("The engine gave up on the answer.")
    return "tool" if is_tool and reason == "end" else reason


def read_count(value: object) -> int | None:
    """A number of tokens, or None where there is none; zero stays zero."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
