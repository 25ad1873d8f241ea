"""One answer over the replicas of a model: a lost one is replaced unseen, or the answer goes on with another.

A replica is lost to an answer when its connection breaks, when it is silent for too long, when it sends what makes no
sense, and when it is known to be dead. It is then suspect, and verified again before it gets more work.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, closing
from dataclasses import dataclass

from inference_backend.continuation import (
    Resumption,
    Seam,
    SeamMismatchError,
    Transcript,
    Way,
    resume_by_prefill,
    resume_by_replay,
    resume_sampled,
)
from inference_backend.engines.protocol import (
    EngineEvent,
    GenerationRequest,
    Started,
    Stopped,
    TextDelta,
    ToolJson,
    Usage,
)
from inference_backend.errors import (
    BackendError,
    EngineConnectionError,
    EngineCutError,
    EngineError,
    EngineFailedError,
    EngineOffSchemaError,
    EngineProtocolError,
    EngineTimeoutError,
    EngineUnavailableError,
)
from inference_backend.fleet.model import Model
from inference_backend.fleet.replica import Replica
from inference_backend.pools.token_pool import Lease
from inference_backend.prompt_size import Sized
from inference_backend.recurring_timeout import RecurringTimeout
from inference_backend.scheduling.affinity import prefix_chain
from inference_backend.scheduling.work import Work
from inference_backend.tiers import Tier

MOST_REPLACEMENTS = 1
MOST_CONTINUATIONS = 2
# A suspect replica is verified again within a few answers' time; callers rather wait for that than be turned away.
VERDICT_S = 3.0

LOST = (EngineConnectionError, EngineCutError, EngineTimeoutError, EngineProtocolError)


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """Whose request it is. `id` is unique in this process, `key` is the account whose fair share it comes out of."""

    id: str
    tier: Tier
    key: str


class Failover:
    """Made for one answer and used once. `replaced` and `continued` count; `continued_by` is the last way taken."""

    def __init__(
        self, model: Model, sized: Sized, origin: Origin, *, on_failure: Callable[[EngineError], None]
    ) -> None:
        self._model = model
        self._sized = sized
        self._origin = origin
        self._on_failure = on_failure
        self._timeouts = model.timeouts
        self._transcript = Transcript()
        self._has_tool_json = False
        self._lost: set[str] = set()
        self._avoid: frozenset[str] = frozenset()
        self._leases = 0
        self._total_deadline: float | None = None
        self._failed_ways: set[Way] = set()
        self.replica: Replica | None = None
        self.version: str | None = None
        self.replaced = 0
        self.continued = 0
        self.continued_by: Way | None = None

    async def events(self) -> AsyncGenerator[EngineEvent]:
        """Ends with Stopped. Raises OverloadedError before the first text, EngineError at any time."""
        resumption: Resumption | None = None
        while True:
            try:
                async with aclosing(self._attempt(resumption)) as events:
                    async for event in events:
                        yield event
                return
            except SeamMismatchError:
                resumption = self._resume_otherwise(resumption)
            except EngineError as error:
                resumption = await self._recover(error)

    async def _attempt(self, resumption: Resumption | None) -> AsyncGenerator[EngineEvent]:
        request = resumption.request if resumption else self._sized.request
        if not self._model.ready:
            await self._model.wait_for_verdict(VERDICT_S)
        async with self._model.pool.lease(self._work(request, is_resumed=resumption is not None)) as lease:
            replica = self._model.replica(lease.replica)
            self.replica, self.version = replica, replica.version
            events = self._phases(replica, request, lease)
            if resumption is not None:
                events = _spliced(events, resumption)
            async with aclosing(events):
                async for event in events:
                    self._note(event)
                    yield event

    def _work(self, request: GenerationRequest, *, is_resumed: bool) -> Work:
        self._leases += 1
        now = time.monotonic()
        return Work(
            id=f"{self._origin.id}/{self._leases}",
            tier=self._origin.tier,
            key=self._origin.key,
            prompt_tokens=self._sized.prompt_tokens,
            max_tokens=request.max_tokens,
            deadline=min(now + self._timeouts.queue_s, self._total_deadline or float("inf")),
            arrived_at=now,
            prefix=prefix_chain([request.system or "", *(turn.text for turn in request.turns)]),
            avoid=self._avoid,
            resumed=is_resumed or self.replaced > 0,
        )

    async def _phases(self, replica: Replica, request: GenerationRequest, lease: Lease) -> AsyncGenerator[EngineEvent]:
        """Raises EngineTimeoutError for the phase that took too long, EngineCutError once the replica is dead."""
        timeouts = self._timeouts
        if self._total_deadline is None:
            self._total_deadline = time.monotonic() + timeouts.total_s
        patience = Patience(self._total_deadline)
        patience.grant(timeouts.first_token_s, "start its answer")
        tokens = 0
        with replica.in_use(patience.give_up), closing(patience):
            async with aclosing(replica.engine.generate(request)) as events:
                while (event := await patience.next(events)) is not None:
                    replica.note_sign_of_life()
                    if isinstance(event, TextDelta | ToolJson):
                        lease.first_token()
                        patience.grant(timeouts.between_tokens_s, "continue its answer")
                        tokens += 1
                    if isinstance(event, TextDelta | Usage) and event.output_tokens is not None:
                        tokens = event.output_tokens
                    elif isinstance(event, Stopped):
                        lease.finished(tokens)
                        yield event
                        return
                    yield event
        raise EngineCutError("The engine ended the answer before it was complete.")

    def _note(self, event: EngineEvent) -> None:
        self._transcript.take(event)
        self._has_tool_json = self._has_tool_json or isinstance(event, ToolJson)

    # --- after a failure ---

    async def _recover(self, error: EngineError) -> Resumption | None:
        """How to go on; raises what the caller is told where there is no way."""
        self._on_failure(error)
        replica = self.replica
        if replica is None or self._is_over():
            raise error
        if isinstance(error, EngineOffSchemaError) or not isinstance(error, (*LOST, EngineFailedError)):
            raise error
        if isinstance(error, EngineFailedError):
            replica.doubt()
        else:
            replica.suspect(error.message)
        self._lost.add(replica.key)
        if self._transcript.tokens or self._transcript.text or self._has_tool_json:
            return await self._continue(error)
        await self._replace(error)
        return None

    def _is_over(self) -> bool:
        return self._total_deadline is not None and time.monotonic() >= self._total_deadline

    async def _replace(self, error: EngineError) -> None:
        """Nothing of the lost answer was passed on, so nobody can tell the difference."""
        if self.replaced >= MOST_REPLACEMENTS or not await self._find_another(error, version=None):
            raise _told(error) from error
        self.replaced += 1

    async def _continue(self, error: EngineError) -> Resumption:
        resumption = self._resume() if self.continued < MOST_CONTINUATIONS else None
        if resumption is None or not await self._find_another(error, version=self.version):
            raise error
        self.continued += 1
        self.continued_by = resumption.way
        return resumption

    def _resume_otherwise(self, failed: Resumption | None) -> Resumption:
        """The other replica began differently; perhaps it goes on from the text as it is."""
        if failed is not None:
            self._failed_ways.add(failed.way)
        resumption = self._resume()
        if resumption is None:
            lost = EngineCutError("The answer was lost with its engine, and another one cannot continue it.")
            self._on_failure(lost)
            raise lost
        self.continued_by = resumption.way
        return resumption

    async def _find_another(self, error: EngineError, *, version: str | None) -> bool:
        """Sets what the next lease avoids. The lost one itself may serve, when it is the only one and verified again.

        Not where it said that it failed: it would say so again.
        """
        model = self._model
        if model.ready_replicas(version=version, avoid=self._lost):
            fit = {one.key for one in model.ready_replicas(version=version)} - self._lost
        elif isinstance(error, EngineFailedError) or not await model.wait_for_verdict(VERDICT_S):
            return False
        else:
            fit = {one.key for one in model.ready_replicas(version=version)}
        # A version that takes over while this waits is none to continue with.
        self._avoid = frozenset(model.replicas) - fit if version is not None else frozenset(self._lost - fit)
        return bool(fit)

    def _resume(self) -> Resumption | None:
        request, configuration = self._sized.request, self._model.configuration
        if request.tools or request.schema is not None:
            return None
        can_prefill = self._model.capabilities.prefill and "prefill" not in self._failed_ways
        if _is_greedy(request):
            if self._transcript.tokens <= self._most_replayed() and "replay" not in self._failed_ways:
                return resume_by_replay(request, self._transcript)
            return resume_by_prefill(request, self._transcript) if can_prefill else None
        if configuration.continue_sampled and can_prefill:
            return resume_sampled(request, self._transcript)
        return None

    def _most_replayed(self) -> float:
        """Tokens."""
        configuration = self._model.configuration
        if configuration.replay_tokens is not None:
            return configuration.replay_tokens
        return configuration.replay_s / self._model.pool.decode_s_per_token


class Patience:
    """How long one waits for the next event. `total_deadline` is a time of time.monotonic().

    Time in which nobody waits, because a caller reads slowly, does not count.
    """

    def __init__(self, total_deadline: float) -> None:
        loop = asyncio.get_running_loop()
        self._clock = loop.time
        self._total_due = loop.time() + total_deadline - time.monotonic()
        self._seconds = 0.0
        self._waiting_for = ""
        self._limit = RecurringTimeout()
        self._is_hopeless = False

    def grant(self, seconds: float, waiting_for: str) -> None:
        self._seconds, self._waiting_for = seconds, waiting_for

    def give_up(self) -> None:
        """Whoever waits is woken."""
        self._is_hopeless = True
        self._limit.expire()

    def close(self) -> None:
        self._limit.close()

    async def next(self, events: AsyncGenerator[EngineEvent]) -> EngineEvent | None:
        """None at the end. Raises EngineTimeoutError, or EngineCutError after give_up."""
        if self._is_hopeless:
            raise EngineCutError("The engine was lost during the answer.")
        try:
            with self._limit.until(min(self._clock() + self._seconds, self._total_due)):
                return await anext(events)
        except StopAsyncIteration:
            return None
        except TimeoutError as error:
            if self._is_hopeless:
                raise EngineCutError("The engine was lost during the answer.") from error
            raise EngineTimeoutError(f"The engine did not {self._waiting_for} in time.") from error


async def _spliced(events: AsyncGenerator[EngineEvent], resumption: Resumption) -> AsyncGenerator[EngineEvent]:
    """What the caller does not have yet, counted as one answer. Raises SeamMismatchError."""
    seam = Seam(resumption)
    async with aclosing(events):
        async for event in events:
            match event:
                case Started(input_tokens=tokens):
                    yield resumption.corrected(Usage(input_tokens=tokens), is_caught_up=False)
                case TextDelta(text=text, output_tokens=tokens):
                    new = seam.feed(text)
                    if new:
                        written = None if tokens is None else resumption.tokens_before + tokens
                        yield TextDelta(text=new, output_tokens=written)
                case Usage():
                    yield resumption.corrected(event, is_caught_up=seam.is_closed)
                case Stopped():
                    seam.finish()
                    yield event
                case _:
                    yield event


def _told(error: EngineError) -> BackendError:
    if isinstance(error, EngineConnectionError | EngineCutError):
        return EngineUnavailableError("The engine cannot be reached; try again shortly.")
    return error


def _is_greedy(request: GenerationRequest) -> bool:
    return request.temperature == 0 or request.top_k == 1
