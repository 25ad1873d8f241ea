"""The path of a request to /v1/messages and /v1/messages/count_tokens."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TypeVar

from starlette.types import Receive, Scope, Send

from inference_backend.connection import read_body, read_headers, response_head, run_while_connected, send_json
from inference_backend.dialect.answers import PING, EventWriter, MessageCollector, TokenCount
from inference_backend.dialect.conversation import build_generation, build_prompt
from inference_backend.dialect.errors import error_event, shape_of
from inference_backend.dialect.schema import Prompt, parse_count_request, parse_messages_request
from inference_backend.engines.protocol import EngineEvent, Stopped, TextDelta, ToolJson
from inference_backend.errors import BackendError
from inference_backend.failover import Origin
from inference_backend.generation import Generation
from inference_backend.record import RequestRecord, record_of
from inference_backend.service import Service
from inference_backend.tiers import read_tier

# An overload that shows within this time is a real 529, which clients retry; after it the caller has a 200.
HOLD_S = 1.0
# Load balancers cut streams that are silent for a minute.
PING_S = 5.0
LARGE_BODY_BYTES = 1024 * 1024

Parsed = TypeVar("Parsed", bound=Prompt)


class CreateMessage:
    """POST /v1/messages"""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        service, record, headers = self._service, record_of(scope), read_headers(scope)
        version = await service.greet(headers, record)
        with service.in_flight.enter():
            request = await _parse(parse_messages_request, await read_body(headers, receive))
            model = service.find_model(request.model, record)
            record.model, record.stream = model.id, request.stream
            wanted = build_generation(request, version=version, capabilities=model.capabilities)
            generation = Generation(
                model,
                wanted,
                _origin(record),
                stop_sequences=request.stop_sequences or (),
                on_failure=service.metrics.count_failure,
            )
            answer = Answer(service, record, generation)
            await run_while_connected(receive, answer.stream(send) if request.stream else answer.send_whole(send))


class CountTokens:
    """POST /v1/messages/count_tokens"""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        service, record, headers = self._service, record_of(scope), read_headers(scope)
        await service.greet(headers, record)
        with service.in_flight.enter():
            request = await _parse(parse_count_request, await read_body(headers, receive))
            model = service.find_model(request.model, record)
            record.model = model.id
            prompt = build_prompt(request, capabilities=model.capabilities)
            generation = Generation(
                model,
                prompt,
                _origin(record),
                stop_sequences=(),
                on_failure=service.metrics.count_failure,
            )

            async def count() -> None:
                await send_json(send, 200, {"input_tokens": await generation.count_prompt()})

            await run_while_connected(receive, count())


class Answer:
    """Sends one generation to one caller."""

    def __init__(self, service: Service, record: RequestRecord, generation: Generation) -> None:
        self._service = service
        self._record = record
        self._generation = generation
        self._tokens = TokenCount()
        self._last_piece_at: float | None = None

    async def send_whole(self, send: Send) -> None:
        collector = MessageCollector(model=self._record.model or "", tokens=self._tokens)
        try:
            async with aclosing(self._generation.events()) as events:
                async for event in events:
                    self._note(event)
                    collector.take(event)
        finally:
            self._settle()
        await send_json(send, 200, collector.message())

    async def stream(self, send: Send) -> None:
        writer = EventWriter(model=self._record.model or "", tokens=self._tokens)
        is_open = False
        try:
            async with aclosing(_with_pauses(self._generation.events())) as events:
                async for event in events:
                    frames = self._frames(event, writer)
                    if not frames:
                        continue
                    if not is_open:
                        is_open = True
                        await send(_stream_head())
                        frames = writer.start() + frames
                    await send(_part(frames))
        except BackendError as error:
            if not is_open:
                raise
            self._record.error = error.code or shape_of(error).type
            await send(_part(error_event(error, request_id=self._record.request_id)))
        finally:
            self._settle()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _frames(self, event: EngineEvent | None, writer: EventWriter) -> bytes:
        if event is None:
            return PING
        self._note(event)
        return b"".join(writer.write(event))

    def _note(self, event: EngineEvent) -> None:
        self._tokens.take(event)
        if isinstance(event, Stopped):
            self._record.stop_reason = event.reason
        elif isinstance(event, TextDelta | ToolJson):
            self._time_piece()

    def _time_piece(self) -> None:
        now, metrics, tier = time.monotonic(), self._service.metrics, self._record.tier or "none"
        if self._last_piece_at is None:
            self._record.first_token_s = now - self._record.started_at
            metrics.first_token.labels(tier=tier).observe(self._record.first_token_s)
        else:
            metrics.token_gap.labels(tier=tier).observe(now - self._last_piece_at)
        self._last_piece_at = now

    def _settle(self) -> None:
        """Also for answers that broke off: the tokens were made."""
        record, generation = self._record, self._generation
        record.input_tokens, record.output_tokens = self._tokens.input, self._tokens.output
        record.replica, record.version = generation.replica, generation.version
        record.replaced, record.continued = generation.replaced, generation.continued
        record.continued_by = generation.continued_by
        self._service.metrics.count_failovers(
            replaced=generation.replaced, continued=generation.continued, continued_by=generation.continued_by
        )


def _origin(record: RequestRecord) -> Origin:
    return Origin(id=record.request_id, tier=read_tier(record.tier or "") or "free", key=record.account or "")


async def _parse(parser: Callable[[bytes], Parsed], body: bytes) -> Parsed:
    if len(body) > LARGE_BODY_BYTES:
        return await asyncio.to_thread(parser, body)
    return parser(body)


async def _with_pauses(events: AsyncGenerator[EngineEvent]) -> AsyncGenerator[EngineEvent | None]:
    """The events, and None whenever nothing came that the caller can see: after HOLD_S at first, then every PING_S."""
    loop = asyncio.get_running_loop()
    due = loop.time() + HOLD_S
    pending: asyncio.Future[EngineEvent] | None = None
    async with aclosing(events):
        try:
            while True:
                pending = pending or asyncio.ensure_future(anext(events))
                await asyncio.wait({pending}, timeout=max(0.0, due - loop.time()))
                if not pending.done():
                    due = loop.time() + PING_S
                    yield None
                    continue
                finished, pending = pending, None
                try:
                    event = finished.result()
                except StopAsyncIteration:
                    return
                if isinstance(event, TextDelta | ToolJson):
                    due = loop.time() + PING_S
                yield event
        finally:
            if pending is not None:
                pending.cancel()
                await asyncio.gather(pending, return_exceptions=True)


def _stream_head() -> dict[str, object]:
    return dict(
        response_head(
            200,
            {
                "content-type": "text/event-stream; charset=utf-8",
                "cache-control": "no-cache",
                # Otherwise nginx collects the stream and delivers it at the end.
                "x-accel-buffering": "no",
            },
        )
    )


def _part(frames: bytes) -> dict[str, object]:
    return {"type": "http.response.body", "body": frames, "more_body": True}
