"""HTTP towards an engine: one client, every failure as an EngineError, no word of the engine's own to the caller."""

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, ClassVar

import httpx2
import pydantic_core

from http_stream.client import BrokenOff, StreamClient, Unanswered, read_limited
from http_stream.frames import BrokenFrame, FrameDecoder
from inference_backend.engines.protocol import JsonObject
from inference_backend.errors import (
    EngineBusyError,
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
# The vectors of a whole call: 2,048 inputs of 4,096 numbers, written out.
ANSWER_LIMIT = 256 * 1024 * 1024
# The words of the Messages API.
_SIZES = re.compile(r"(\d+) tokens > (\d+) maximum")


class WireEngine:
    """What engines behind HTTP share. Subclasses add the paths and the meaning."""

    # Engines answer a request on a connection that sat idle with a close, so an idle one is not kept for long.
    keepalive_s: ClassVar[float] = 3.0
    health_path: ClassVar[str] = "/v1/models"

    def __init__(self, *, url: str, model: str, api_key: str | None, connect_s: float) -> None:
        self._model = model
        credentials = self._credentials(api_key)
        self._stream = StreamClient(url, headers=credentials, connect_s=connect_s, keepalive_s=self.keepalive_s)
        self._client = httpx2.AsyncClient(
            base_url=url,
            headers={"accept-encoding": "identity", **credentials},
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
        await self._stream.aclose()
        await self._client.aclose()

    async def check_health(self) -> None:
        await self._ask("GET", self.health_path)

    def _credentials(self, api_key: str | None) -> dict[str, str]:
        return {"authorization": f"Bearer {api_key}"} if api_key else {}

    async def _list_models(self) -> JsonObject:
        """The row of the wanted model. Raises EngineFailedError where the engine does not serve it."""
        listing = as_object(parse_json(await self._ask("GET", "/v1/models")))
        rows = listing.get("data")
        for row in rows if isinstance(rows, list) else []:
            if isinstance(row, dict) and row.get("id") == self._model:
                return row
        raise EngineFailedError(f"The engine does not serve the model {self._model}.")

    async def _frames(self, path: str, body: dict[str, Any]) -> AsyncGenerator[str]:
        """The data of each server-sent event of an answer."""
        decoder = FrameDecoder()
        with _translate_stream():
            async with self._stream.post(path, _encode(body)) as answer:
                if answer.status != 200:
                    raise _refusal(answer.status, await read_limited(answer, ERROR_BODY_LIMIT))
                while data := await answer.read():
                    for payload in decoder.feed(data):
                        yield payload

    async def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> bytes:
        """The whole answer of a small call."""
        async with self._open(method, path, body, timeout_s=CONTROL_TIMEOUT_S) as response:
            answer = bytearray()
            with _translate_cut():
                async for data in response.aiter_raw():
                    answer += data
                    if len(answer) > ANSWER_LIMIT:
                        raise EngineProtocolError("The engine sent an answer that is too large.")
            return bytes(answer)

    @asynccontextmanager
    async def _open(
        self, method: str, path: str, body: dict[str, Any] | None, *, timeout_s: float | None = None
    ) -> AsyncIterator[httpx2.Response]:
        """Raises EngineConnectionError where no byte came, the matching EngineError for another status than 200."""
        content = _encode(body) if body is not None else None
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
def _translate_stream() -> Iterator[None]:
    try:
        yield
    except Unanswered as error:
        raise EngineConnectionError("The engine cannot be reached.") from error
    except BrokenOff as error:
        raise EngineCutError("The connection to the engine broke during the answer.") from error
    except BrokenFrame as error:
        raise EngineProtocolError("The engine sent something that is not an event stream.") from error


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


def _encode(body: dict[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()


async def _read_refusal(response: httpx2.Response) -> EngineError:
    with _translate_cut():
        body = bytearray()
        async for data in response.aiter_raw():
            body += data
            if len(body) > ERROR_BODY_LIMIT:
                break
    return _refusal(response.status_code, bytes(body))


def _refusal(status: int, body: bytes) -> EngineError:
    detail: JsonObject = {}
    try:
        detail = as_object(parse_json(body))
    except EngineProtocolError:
        detail = {}
    error = detail.get("error", detail)
    return classify(status, error if isinstance(error, dict) else {"message": str(error)})


def classify(status: int, error: JsonObject) -> EngineError:
    message = str(error.get("message") or "no reason given")[:500]
    if error.get("type") == "exceed_context_size_error" or "maximum context length" in message:
        return PromptTooLongError(
            tokens=read_count(error.get("n_prompt_tokens")), context=read_count(error.get("n_ctx"))
        )
    if "prompt is too long" in message:
        sizes = _SIZES.search(message)
        tokens, context = (int(sizes[1]), int(sizes[2])) if sizes else (None, None)
        return PromptTooLongError(tokens=tokens, context=context)
    if status in {400, 413, 422}:
        return EngineRefusedError(f"The engine refused the request: {message}")
    if status in {429, 503}:
        return EngineBusyError("The engine takes no requests at the moment.")
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


def read_count(value: object) -> int | None:
    """A number of tokens, or None where there is none; zero stays zero."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def read_text(value: object) -> str | None:
    """A word of the engine, or None where it says none."""
    return value if isinstance(value, str) and value else None
