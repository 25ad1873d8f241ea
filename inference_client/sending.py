"""The exchange with the model: one streamed Messages API request, from sending to the last event or the stop."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import functools
import json
import logging
from collections.abc import AsyncIterator
from typing import Any, Protocol

import anthropic
import httpx2
from anthropic.lib.streaming import AsyncMessageStream, AsyncMessageStreamManager, ParsedMessageStreamEvent
from anthropic.types import Message, RawMessageStreamEvent
from django.utils import timezone

from inference_client.failures import TOTAL_TIMEOUT, classify
from inference_client.models import Run
from inference_client.outcomes import Outcome
from inference_client.providers import Target
from inference_client.redaction import without_keys, without_secret
from inference_client.surrogates import PairJoiner, join_pairs

CONNECT_S = 3.0
FIRST_BYTE_S = 120.0
BETWEEN_BYTES_S = 60.0
TOTAL_S = 15 * 60.0
#: llama.cpp and others close an idle connection after 5 s; a request that crosses the closing is lost.
KEEP_IDLE_S = 2.0
#: The version of the Messages API under which Anthropic takes its keys as `x-api-key`; later ones take bearer tokens.
_WITHOUT_BEARER = "2023-06-01"


class TextSink(Protocol):
    """Where text goes as it arrives, and word of what else begins. Neither may wait."""

    def add(self, piece: str) -> None: ...

    def begin(self, kind: str) -> None: ...


class QuietTooLong(httpx2.AsyncByteStream):
    """A response body that fails when no byte comes for `seconds`. Pings count as life."""

    def __init__(self, stream: httpx2.AsyncByteStream, seconds: float) -> None:
        self._stream = stream
        self._seconds = seconds

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks = aiter(self._stream)
        while True:
            try:
                async with asyncio.timeout(self._seconds):
                    chunk = await anext(chunks)
            except StopAsyncIteration:
                return
            except TimeoutError as error:
                raise httpx2.ReadTimeout("No byte for too long.") from error
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _limit_quiet(response: httpx2.Response) -> None:
    """Waiting for the answer to begin may take longer than any pause within it."""
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = QuietTooLong(response.stream, BETWEEN_BYTES_S)


@functools.lru_cache(maxsize=4)
def model_client(base_url: str) -> anthropic.AsyncAnthropic:
    """The SDK's client, shared by all streams to one address; each request brings its key (see `_headers_for`).

    It never retries: only the task queue does, under the same run id. It follows no redirect, which would carry the
    key and the prompt to whoever is named there.
    """
    # At DEBUG the SDK logs whole requests: prompts. No setting may turn that on.
    logging.getLogger("anthropic").setLevel(logging.WARNING)
    return anthropic.AsyncAnthropic(
        base_url=base_url,
        api_key="none",
        max_retries=0,
        http_client=anthropic.DefaultAsyncHttpxClient(
            timeout=httpx2.Timeout(FIRST_BYTE_S, connect=CONNECT_S),
            limits=httpx2.Limits(keepalive_expiry=KEEP_IDLE_S),
            event_hooks={"response": [_limit_quiet]},
            follow_redirects=False,
        ),
    )


def _headers_for(run: Run, target: Target) -> dict[str, str | anthropic.Omit]:
    """Whom a run is for is told to our own backend only."""
    headers: dict[str, str | anthropic.Omit] = {**run.headers, "Authorization": f"Bearer {target.api_key or 'none'}"}
    if target.is_ours:
        return headers | {"x-playground-account": str(run.account_id), "x-playground-tier": run.account.tier}
    if run.api_version == _WITHOUT_BEARER:
        return headers | {"X-Api-Key": target.api_key, "Authorization": anthropic.Omit()}
    return headers


class Exchange:
    """One request to the model. `run` on the background loop; `stop` and `first_token_at` from any thread."""

    def __init__(self, run: Run, sink: TextSink, target: Target) -> None:
        self.first_token_at: dt.datetime | None = None
        self._request = run.request.encode()
        self._sink = sink
        self._target = target
        self._headers = _headers_for(run, target)
        self._pairs = PairJoiner()
        self._pieces: list[str] = []
        self._stream: AsyncMessageStream[None] | None = None
        self._complete = False
        self._stop = asyncio.Event()

    def stop(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close the connection to the model at once; `run` then returns what had arrived."""
        loop.call_soon_threadsafe(self._stop.set)

    async def run(self) -> Outcome:
        """Send, receive, and say what came of it. Raises nothing that is the upstream's or the network's fault."""
        receiving = asyncio.ensure_future(self._receive())
        stopping = asyncio.ensure_future(self._stop.wait())
        await asyncio.wait({receiving, stopping}, timeout=TOTAL_S, return_when=asyncio.FIRST_COMPLETED)
        stopped = stopping.done()
        await _end(stopping)
        if receiving.done():
            return self._settle(receiving)
        await _end(receiving)
        return self._outcome(stopped=True) if stopped else self._outcome(failure=TOTAL_TIMEOUT)

    def _settle(self, receiving: asyncio.Future[None]) -> Outcome:
        error = receiving.exception()
        if error is None:
            return self._outcome()
        if not isinstance(error, _UPSTREAMS_FAULT):
            raise error
        failure = classify(error, begun=self.first_token_at is not None, target=self._target)
        return self._outcome(failure=failure, answer=getattr(error, "body", None), request=_request_of(error))

    async def _receive(self) -> None:
        # Not `messages.stream`, which writes a body of its own: what is sent is byte for byte what the run keeps.
        sending = model_client(self._target.base_url).post(
            "/v1/messages",
            content=self._request,
            options={"headers": self._headers},
            cast_to=Message,
            stream=True,
            stream_cls=anthropic.AsyncStream[RawMessageStreamEvent],
        )
        async with AsyncMessageStreamManager(sending) as stream:
            self._stream = stream
            async for event in stream:
                self._take(event)

    def _take(self, event: ParsedMessageStreamEvent[None]) -> None:
        if event.type == "message_stop":
            self._complete = True
        if event.type == "content_block_start" and event.content_block.type != "text":
            self._sink.begin(event.content_block.type)
        if event.type != "content_block_delta":
            return
        if self.first_token_at is None:
            self.first_token_at = timezone.now()
        if event.delta.type == "text_delta":
            self._add(self._pairs.join(event.delta.text))

    def _add(self, piece: str) -> None:
        if piece:
            self._pieces.append(piece)
            self._sink.add(piece)

    def _outcome(
        self, *, failure: Any = None, stopped: bool = False, answer: object = None, request: Any = None
    ) -> Outcome:
        self._add(self._pairs.join("", final=True))
        message = self._message()
        if self._stream is not None:
            request = self._stream.response.request
        secret = self._target.api_key
        if failure is not None:
            failure = dataclasses.replace(failure, message=without_keys(failure.message, secret))
        kept = message if message is not None else without_keys(_error_answer(answer), secret)
        return Outcome(
            text="".join(self._pieces),
            response=without_secret(kept, secret),
            stop_reason=(message or {}).get("stop_reason"),
            complete=self._complete,
            stopped=stopped,
            failure=failure,
            first_token_at=self.first_token_at,
            upstream_request_id=(self._stream.request_id if self._stream else None) or "",
            sent=request.content if request is not None else None,
        )

    def _message(self) -> dict[str, Any] | None:
        """The message as far as it arrived; None before `message_start`."""
        if self._stream is None:
            return None
        try:
            snapshot = self._stream.current_message_snapshot
        except AssertionError:
            return None
        return _as_json(snapshot.to_dict(warnings=False))


#: Besides its own errors, the SDK lets these through when an answer is not what it expects.
_UPSTREAMS_FAULT = (
    anthropic.AnthropicError,
    httpx2.HTTPError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
)


async def _end(work: asyncio.Future[Any]) -> None:
    """Cancel `work` and wait until it has cleaned up behind itself."""
    work.cancel()
    await asyncio.wait({work})
    if not work.cancelled():
        work.exception()


def _request_of(error: BaseException) -> httpx2.Request | None:
    return error.request if isinstance(error, anthropic.APIError) else None


def _error_answer(answer: object) -> dict[str, Any] | None:
    return _as_json(answer) if isinstance(answer, dict) else None


def _as_json(value: dict[str, Any]) -> dict[str, Any]:
    """As it would come back from the database: JSON types only, every text storable."""
    plain: dict[str, Any] = join_pairs(json.loads(json.dumps(value, default=str)))
    return plain
