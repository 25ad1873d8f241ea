"""One generation, sent to one caller: as a stream of events or as one message, within the limits of its account."""

import math
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

from starlette.types import Send

from inference_backend.connection import send_json
from inference_backend.dialect.answers import EventWriter, MessageCollector, TokenCount
from inference_backend.dialect.errors import error_event, shape_of
from inference_backend.engines.protocol import EngineEvent, GenerationRequest, Stopped, TextDelta, ToolJson
from inference_backend.errors import BackendError
from inference_backend.event_stream import EventStream, part
from inference_backend.fleet.model import Model
from inference_backend.generation import Generation
from inference_backend.keys import Caller
from inference_backend.limits.quota import Charge
from inference_backend.prompt_size import estimate_prompt_tokens
from inference_backend.record import RequestRecord
from inference_backend.safety.stages import Inspection
from inference_backend.service import Service


@dataclass(frozen=True, kw_only=True, slots=True)
class Reservation:
    """What an answer may cost its account at most, in tokens, and how long its tier waits at the moment."""

    input_tokens: int
    output_tokens: int
    expected_wait_s: float


def reserve(wanted: GenerationRequest, model: Model, caller: Caller) -> Reservation:
    expected_wait_s = model.pool.expected_wait(caller.tier)
    return Reservation(
        input_tokens=estimate_prompt_tokens(wanted),
        output_tokens=min(wanted.max_tokens, model.context or wanted.max_tokens),
        # Without any replica the wait is infinite, which says nothing about how much others ask for.
        expected_wait_s=expected_wait_s if math.isfinite(expected_wait_s) else 0.0,
    )


class Answer:
    """Made for one request and sent once, whoever reads it. Both ways of sending say whether the answer is whole.

    They raise BackendError while nothing was sent.
    """

    def __init__(
        self,
        service: Service,
        record: RequestRecord,
        generation: Generation,
        *,
        caller: Caller,
        reservation: Reservation,
        inspection: Inspection | None,
    ) -> None:
        self._service = service
        self._record = record
        self._generation = generation
        self._caller = caller
        self._reservation = reservation
        self._inspection = inspection
        self._tokens = TokenCount()
        self._last_piece_at: float | None = None
        # Found once: looking up a label costs more than counting.
        self._token_gap = service.metrics.requests.token_gap.labels(tier=caller.tier)

    async def send_whole(self, send: Send) -> bool:
        collector = MessageCollector(model=self._record.model or "", tokens=self._tokens)
        async with (
            self._admitted(),
            self._service.in_flight.until_cut(),
            aclosing(self._events()) as events,
        ):
            async for event in events:
                self._note(event)
                collector.take(event)
        await send_json(send, 200, collector.message(), self._headers() | self._continued())
        return True

    async def stream(self, send: Send) -> bool:
        async with self._admitted():
            is_whole = await self._send_events(send)
        await send(part(b"", is_last=True))
        return is_whole

    async def _send_events(self, send: Send) -> bool:
        writer = EventWriter(model=self._record.model or "", tokens=self._tokens)
        stream = EventStream(send, head=self._headers, start=writer.start)
        try:
            async with (
                stream.kept_alive(),
                self._service.in_flight.until_cut(),
                aclosing(self._events()) as events,
            ):
                async for event in events:
                    self._note(event)
                    if frames := self._frames(event, writer):
                        await stream.write(frames)
        except BackendError as error:
            if not stream.is_open:
                raise
            self._record.error = error.code or shape_of(error).type
            await send(part(error_event(error, request_id=self._record.request_id)))
            return False
        return True

    def _events(self) -> AsyncGenerator[EngineEvent]:
        events = self._generation.events()
        return self._inspection.guard(events) if self._inspection else events

    def _continued(self) -> dict[str, str]:
        """How an answer went on that lost its replica, for whoever compares answers."""
        generation = self._generation
        if not generation.continued:
            return {}
        return {"x-inference-continued": f"{generation.continued}; by={generation.continued_by}"}

    def _headers(self) -> dict[str, str]:
        return self._inspection.headers if self._inspection else {}

    @asynccontextmanager
    async def _admitted(self) -> AsyncIterator[None]:
        """Raises RateLimitedError or StoreDownError."""
        async with self._service.limits.admit(
            account=self._caller.account,
            tier=self._caller.tier,
            input_tokens=self._reservation.input_tokens,
            output_tokens=self._reservation.output_tokens,
            expected_wait_s=self._reservation.expected_wait_s,
        ) as charge:
            try:
                yield
            finally:
                self._settle(charge)

    def _frames(self, event: EngineEvent, writer: EventWriter) -> bytes:
        frames = writer.write(event)
        if isinstance(event, Stopped):
            # The headers are long gone; clients of the API pass over a comment.
            frames = b"".join(f": {name}: {value}\n\n".encode() for name, value in self._continued().items()) + frames
        return frames

    def _note(self, event: EngineEvent) -> None:
        self._tokens.take(event)
        if isinstance(event, Stopped):
            self._record.stop_reason = event.reason
        elif isinstance(event, TextDelta | ToolJson):
            self._time_piece()

    def _time_piece(self) -> None:
        now, tier = time.monotonic(), self._caller.tier
        if self._last_piece_at is None:
            self._record.first_token_s = now - self._record.started_at
            self._service.metrics.requests.first_token.labels(tier=tier).observe(self._record.first_token_s)
        else:
            self._token_gap.observe(now - self._last_piece_at)
        self._last_piece_at = now

    def _settle(self, charge: Charge) -> None:
        """Also for answers that broke off: the tokens were made. One that never began costs nothing."""
        record, generation, tokens = self._record, self._generation, self._tokens
        record.input_tokens, record.output_tokens = tokens.input, tokens.output
        record.replica, record.version = generation.replica, generation.version
        record.replaced, record.continued = generation.replaced, generation.continued
        record.continued_by = generation.continued_by
        self._service.metrics.count_failovers(
            replaced=generation.replaced, continued=generation.continued, continued_by=generation.continued_by
        )
        self._service.metrics.requests.count_late_tokens(record)
        if tokens.pieces or record.stop_reason:
            read = tokens.input_tokens if tokens.input_tokens is not None else self._reservation.input_tokens
            charge.settle(input_tokens=read, output_tokens=tokens.output)


async def end_with_error(send: Send, error: BackendError, record: RequestRecord) -> None:
    """Of a stream that has begun."""
    record.error = error.code or shape_of(error).type
    await send(part(error_event(error, request_id=record.request_id)))
    await send(part(b"", is_last=True))
