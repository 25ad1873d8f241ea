"""The exchange with the model: one streamed Messages API request, from sending to the last event or the stop."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import json
from typing import Any, Protocol

from django.utils import timezone

from http_stream.client import BrokenOff, Unanswered
from http_stream.frames import FrameDecoder
from inference_client.failures import TOTAL_TIMEOUT, ErrorAnswer, classify
from inference_client.message import MessageSoFar
from inference_client.models import Run
from inference_client.outcomes import Failure, Outcome
from inference_client.posting import Answer, NoAnswerInTime, post, read_within
from inference_client.providers import Target
from inference_client.redaction import without_keys, without_secret
from inference_client.surrogates import PairJoiner, join_pairs

FIRST_BYTE_S = 120.0
BETWEEN_BYTES_S = 60.0
TOTAL_S = 15 * 60.0
#: The version of the Messages API under which Anthropic takes its keys as `x-api-key`; later ones take bearer tokens.
_WITHOUT_BEARER = "2023-06-01"
_LARGEST_FRAME_BYTES = 64 * 1024 * 1024
_LARGEST_ERROR_BYTES = 1024 * 1024


class TextSink(Protocol):
    """Where text goes as it arrives, and word of what else begins. Neither may wait."""

    def add(self, piece: str) -> None: ...

    def begin(self, kind: str) -> None: ...


def _headers_for(run: Run, target: Target) -> dict[str, str]:
    """Whom a run is for is told to our own backend only."""
    headers = {**run.headers, "user-agent": "prompt-playground"}
    if target.is_ours:
        headers |= {"x-playground-account": str(run.account_id), "x-playground-tier": run.account.tier}
    elif run.api_version == _WITHOUT_BEARER:
        return headers | {"x-api-key": target.api_key}
    return headers | {"authorization": f"Bearer {target.api_key or 'none'}"}


class Exchange:
    """One request to the model. `run` on the background loop; `stop` and `first_token_at` from any thread."""

    def __init__(self, run: Run, sink: TextSink, target: Target) -> None:
        self.first_token_at: dt.datetime | None = None
        # What is sent is byte for byte what the run keeps.
        self._request = run.request.encode()
        self._sink = sink
        self._target = target
        self._headers = _headers_for(run, target)
        self._pairs = PairJoiner()
        self._pieces: list[str] = []
        self._message = MessageSoFar()
        self._request_id = ""
        self._complete = False
        self._receiving: asyncio.Task[None] | None = None
        self._stopped = False

    def stop(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close the connection to the model at once; `run` then returns what had arrived."""
        loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        self._stopped = True
        if self._receiving is not None:
            self._receiving.cancel()

    async def run(self) -> Outcome:
        """Send, receive, and say what came of it. Raises nothing that is the upstream's or the network's fault."""
        receiving = self._receiving = asyncio.create_task(self._receive())
        if self._stopped:
            receiving.cancel()
        await asyncio.wait({receiving}, timeout=TOTAL_S)
        if not receiving.done():
            await _end(receiving)
            return self._outcome(failure=TOTAL_TIMEOUT)
        if receiving.cancelled():
            return self._outcome(stopped=True)
        return self._settle(receiving)

    def _settle(self, receiving: asyncio.Task[None]) -> Outcome:
        error = receiving.exception()
        if error is None:
            return self._outcome()
        if not isinstance(error, _UPSTREAMS_FAULT):
            raise error
        failure = classify(error, begun=self.first_token_at is not None, target=self._target)
        return self._outcome(failure=failure, answer=error.body if isinstance(error, ErrorAnswer) else None)

    async def _receive(self) -> None:
        async with post(self._target, "/v1/messages", self._request, self._headers, within_s=FIRST_BYTE_S) as answer:
            await self._read(answer)

    async def _read(self, answer: Answer) -> None:
        self._request_id = answer.headers.get("request-id", "")
        if not 200 <= answer.status < 300:
            raise ErrorAnswer(status=answer.status, headers=answer.headers, body=await _read_error(answer))
        decoder = FrameDecoder(most_bytes=_LARGEST_FRAME_BYTES)
        while data := await read_within(answer, BETWEEN_BYTES_S):
            for frame in decoder.feed(data):
                # Some servers end with a frame that is none of this API.
                if frame and not self._complete:
                    self._take(json.loads(frame), answer)

    def _take(self, event: dict[str, Any], answer: Answer) -> None:
        kind = event["type"]
        if kind == "error":
            raise ErrorAnswer(status=answer.status, headers=answer.headers, body=event)
        self._message.take(event)
        if kind == "message_stop":
            self._complete = True
        elif kind == "content_block_start" and event["content_block"]["type"] != "text":
            self._sink.begin(event["content_block"]["type"])
        elif kind == "content_block_delta":
            if self.first_token_at is None:
                self.first_token_at = timezone.now()
            if event["delta"]["type"] == "text_delta":
                self._add(self._pairs.join(event["delta"]["text"]))

    def _add(self, piece: str) -> None:
        if piece:
            self._pieces.append(piece)
            self._sink.add(piece)

    def _outcome(self, *, failure: Failure | None = None, stopped: bool = False, answer: object = None) -> Outcome:
        self._add(self._pairs.join("", final=True))
        message = self._message.plain()
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
            upstream_request_id=self._request_id,
        )


#: Besides the network's errors, what an answer causes that is not what this API says.
_UPSTREAMS_FAULT = (
    ErrorAnswer,
    NoAnswerInTime,
    Unanswered,
    BrokenOff,
    TimeoutError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RecursionError,
)


async def _end(work: asyncio.Task[Any]) -> None:
    """Cancel `work` and wait until it has cleaned up behind itself."""
    work.cancel()
    await asyncio.wait({work})
    if not work.cancelled():
        work.exception()


async def _read_error(answer: Answer) -> Any:
    """The body of an error answer: JSON if it is some, else text."""
    body = bytearray()
    while len(body) < _LARGEST_ERROR_BYTES and (data := await read_within(answer, BETWEEN_BYTES_S)):
        body += data
    try:
        return json.loads(bytes(body))
    except (ValueError, RecursionError):
        return body.decode(errors="replace")


def _error_answer(answer: object) -> dict[str, Any] | None:
    return join_pairs(answer) if isinstance(answer, dict) else None
