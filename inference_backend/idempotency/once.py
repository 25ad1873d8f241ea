"""Answers each keyed request once, however often and by however many callers it is sent."""

import asyncio
import contextlib
import itertools
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal, assert_never

from starlette.types import Send

from inference_backend.errors import (
    BackendError,
    ConflictError,
    DrainingError,
    InFlightElsewhereError,
    StoreDownError,
    TooLargeToReplayError,
)
from inference_backend.idempotency.journal import LEASE_S, Claim, Journal
from inference_backend.idempotency.key import KeyedRequest
from inference_backend.idempotency.listening import HEAR_S, Listener
from inference_backend.idempotency.recording import Recording
from inference_backend.idempotency.transitions import End, Kept

logger = logging.getLogger(__name__)

#: Sends one answer, and says whether it is whole: false where it ended with an error after its start.
Produce = Callable[[Send], Awaitable[bool]]
Outcome = Literal["generated", "joined", "replayed", "conflict", "busy", "too_large", "store_down"]

#: Also how long it takes until a process that writes an answer learns that another listens.
RENEW_S = LEASE_S / 10
#: A caller that was cut off comes back with its key after half a second, as the SDKs do, and finds its answer on the
#: way. One that does not must still have freed its slot of the engine within a second.
LINGER_S = 0.75
LINGER_LOOK_S = 0.05
#: For so long a finished answer is kept in memory while the store cannot take it.
SETTLE_S = 60.0
SETTLE_PAUSE_S = 0.5
CLOSE_S = 2.0
REPLAYED = (b"idempotent-replayed", b"true")


@dataclass(kw_only=True, slots=True, eq=False)
class Flight:
    """One keyed request under way in this process: its first caller, and all who joined."""

    request: KeyedRequest
    fence: str
    recording: Recording = field(default_factory=Recording)
    callers: int = 0
    #: The answer came out of the journal, or is heard from the process that writes it.
    is_replay: bool = False
    is_heard: bool = False
    #: The answer is whole; what is left to do is to write it down.
    is_whole: bool = False
    #: Nobody is left, or another attempt has taken over.
    is_leaving: bool = False
    is_overtaken: bool = False
    #: Bytes of the answer that other processes can hear; None where none listens.
    shared: int | None = None
    task: "asyncio.Task[None] | None" = None

    @property
    def can_be_joined(self) -> bool:
        return not self.is_leaving and (self.is_whole or not self.recording.has_ended)


class OncePerKey:
    def __init__(
        self, journal: Journal, *, process: str, count: Callable[[Outcome], None] = lambda outcome: None
    ) -> None:
        self._journal = journal
        self._process = process
        self._count = count
        self._flights: dict[str, Flight] = {}
        self._numbers = itertools.count(1)

    async def answer(self, request: KeyedRequest, send: Send, produce: Produce) -> Outcome:
        """Sends what `produce` makes, or made, to `send`. `produce` runs for at most one caller at a time.

        It runs in a task of its own, which is cancelled when the last caller leaves. Raises what `produce` raises
        before the start of its answer, ConflictError, InFlightElsewhereError, TooLargeToReplayError or
        StoreDownError.
        """
        flight = await self._find(request)
        is_first = flight is None
        if flight is None:
            flight = self._open(request, produce)
        elif flight.request.fingerprint != request.fingerprint:
            raise self._refuse("conflict")
        outcome: Outcome = "generated" if is_first else "replayed" if flight.is_whole else "joined"
        if not is_first:
            self._count(outcome)

        def mark() -> list[tuple[bytes, bytes]]:
            return [REPLAYED] if flight.is_replay or flight.is_heard or not is_first else []

        async with self._calling(flight):
            await flight.recording.follow(send, mark)
        if flight.is_heard:
            return "joined"
        return "replayed" if flight.is_replay else outcome

    async def aclose(self) -> None:
        """Ends what still runs, and releases its keys. Whole answers have a moment to be written down."""
        flights = list(self._flights.values())
        for flight in flights:
            self._leave(flight)
        tasks = [flight.task for flight in flights if flight.task]
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_S)
        await _end(tasks)

    async def _find(self, request: KeyedRequest) -> Flight | None:
        while flight := self._flights.get(request.name):
            if flight.can_be_joined or flight.task is None:
                return flight
            # It failed, or its callers have left: its key is released in a moment.
            await asyncio.wait({flight.task})
        return None

    def _open(self, request: KeyedRequest, produce: Produce) -> Flight:
        flight = Flight(request=request, fence=f"{self._process}:{next(self._numbers)}")
        self._flights[request.name] = flight
        flight.task = asyncio.create_task(self._fly(flight, produce))
        return flight

    @contextlib.asynccontextmanager
    async def _calling(self, flight: Flight) -> AsyncIterator[None]:
        flight.callers += 1
        try:
            yield
        finally:
            flight.callers -= 1
            if not flight.callers and not flight.is_heard:
                await self._linger(flight)
            if not flight.callers and not flight.recording.has_ended:
                self._leave(flight)
                await _end([flight.task])

    async def _linger(self, flight: Flight) -> None:
        """The answer goes on for a moment without a caller, and for as long as another process listens to it."""
        until = time.monotonic() + LINGER_S
        while not (flight.callers or flight.recording.has_ended or flight.task is None or flight.task.done()):
            if time.monotonic() >= until and not await self._is_listened_to(flight):
                return
            await asyncio.wait({flight.task}, timeout=LINGER_LOOK_S)

    async def _is_listened_to(self, flight: Flight) -> bool:
        try:
            return await self._journal.share(flight.request, flight.fence, None, b"", 0) is not None
        except StoreDownError:
            return False

    def _leave(self, flight: Flight) -> None:
        flight.is_leaving = True
        if flight.task and not flight.is_whole:
            flight.task.cancel()

    async def _fly(self, flight: Flight, produce: Produce) -> None:
        error: BaseException | None = None
        try:
            self._obey(flight, await self._claim_or_listen(flight))
            if not flight.is_whole:
                await self._generate(flight, produce)
        except (Exception, asyncio.CancelledError) as raised:  # noqa: BLE001 - it is the callers' to handle
            error = raised
        finally:
            # Before the callers know: one who tries again at once must not meet what is over.
            del self._flights[flight.request.name]
        if flight.is_overtaken:
            error = _busy()
        if error is not None:
            # A caller who is still here was cut off by the end of this process, and is not cancelled itself.
            flight.recording.fail(DrainingError() if isinstance(error, asyncio.CancelledError) else error)

    async def _claim_or_listen(self, flight: Flight) -> Claim:
        """What is to be done, once no other process writes the answer."""
        while (claim := await self._claim(flight)).verdict == "busy":
            if not flight.is_heard:
                self._count("joined")
            flight.is_heard = True
            listener = Listener(self._journal, flight.request, flight.recording)
            if await listener.listen():
                claim = await self._claim(flight)
                if claim.verdict == "claimed":
                    await self._release(flight)
                flight.is_whole = await listener.complete(claim)
                return claim
        flight.is_heard = flight.is_heard and claim.verdict == "done"
        return claim

    async def _claim(self, flight: Flight) -> Claim:
        step = asyncio.ensure_future(self._journal.claim(flight.request, flight.fence))
        try:
            await asyncio.wait({step})
            return step.result()
        except StoreDownError as error:
            self._count("store_down")
            raise StoreDownError(
                "Idempotency keys cannot be checked at the moment: their store is down. Nothing was generated."
            ) from error
        except asyncio.CancelledError:
            # The step in the store goes on, and may claim the key.
            await asyncio.wait({step})
            await self._release(flight)
            raise

    def _obey(self, flight: Flight, claim: Claim) -> None:
        if flight.is_whole:
            return
        match claim.verdict:
            case "claimed":
                self._count("generated")
            case "done" if claim.answer:
                if not flight.is_heard:
                    self._count("replayed")
                flight.is_replay = flight.is_whole = True
                flight.recording.load(claim.answer)
            case "done" | "too_large":
                raise self._refuse("too_large")
            case "busy" | "conflict":
                raise self._refuse(claim.verdict)
            case _:
                assert_never(claim.verdict)

    def _refuse(self, outcome: Literal["conflict", "busy", "too_large"]) -> BackendError:
        self._count(outcome)
        if outcome == "conflict":
            return ConflictError("This Idempotency-Key was used for a different request. Use a new key for a new one.")
        if outcome == "busy":
            return _busy()
        return TooLargeToReplayError(
            "The answer for this Idempotency-Key was given and is too large to be kept. Use a new key to generate anew."
        )

    async def _generate(self, flight: Flight, produce: Produce) -> None:
        renewing = asyncio.create_task(self._renew(flight))
        try:
            try:
                flight.is_whole = await produce(flight.recording.send)
            except (Exception, asyncio.CancelledError):
                if flight.recording.has_started and not flight.is_leaving:
                    await self._settle(flight, "failed")
                elif not flight.is_overtaken:
                    await self._release(flight)
                raise
            await self._settle(flight, _end_of(flight))
        finally:
            await _end([renewing])

    async def _renew(self, flight: Flight) -> None:
        """Until cancelled. An attempt that was overtaken is ended: its answer is another's to give."""
        while True:
            await self._share(flight, time.monotonic() + RENEW_S)
            try:
                if await self._journal.renew(flight.request, flight.fence):
                    continue
            except StoreDownError:
                continue
            if not flight.is_whole:
                flight.is_overtaken = flight.is_leaving = True
                if flight.task:
                    flight.task.cancel()
            return

    async def _share(self, flight: Flight, until: float) -> None:
        """Lets other processes hear the answer, where one listens; until that time."""
        while (left := until - time.monotonic()) > 0:
            # The first time it is only a question.
            head, body = (None, b"") if flight.shared is None else flight.recording.said_since(flight.shared)
            shared = None
            with contextlib.suppress(StoreDownError):
                shared = await self._journal.share(flight.request, flight.fence, head, body, flight.shared or 0)
            is_news = flight.shared is None and shared is not None
            flight.shared = shared
            if not is_news:
                await asyncio.sleep(min(left, RENEW_S if shared is None else HEAR_S))

    async def _settle(self, flight: Flight, end: End) -> None:
        """Writes the end down. While the store is down the answer stays in memory, and its key in flight.

        So it does while another attempt has the key, which a store that lost its data may have given away: should
        that one be turned away, this answer is the one.
        """
        answer = flight.recording.kept_answer() if end == "done" else None
        until = time.monotonic() + (SETTLE_S if flight.is_whole else 0)
        while True:
            try:
                kept: Kept | Literal["down"] = await self._journal.finish(flight.request, flight.fence, end, answer)
            except StoreDownError:
                kept = "down"
            if kept == "kept":
                return
            if kept == "ended" or time.monotonic() >= until:
                logger.warning("an answer could not be kept", extra={"end": end, "reason": kept})
                return
            await asyncio.sleep(SETTLE_PAUSE_S)

    async def _release(self, flight: Flight) -> None:
        # A key that cannot be released is free when its lease is over.
        with contextlib.suppress(StoreDownError):
            await self._journal.release(flight.request, flight.fence)


def _end_of(flight: Flight) -> End:
    if not flight.is_whole:
        return "failed"
    return "too_large" if flight.recording.is_too_large else "done"


def _busy() -> InFlightElsewhereError:
    return InFlightElsewhereError(
        "A request with this Idempotency-Key is being answered at the moment. Try again in a moment for its answer."
    )


async def _end(tasks: "Iterable[asyncio.Task[None] | None]") -> None:
    """Cancels, and waits until everything is cleaned up."""
    running = {task for task in tasks if task is not None}
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running)
