"""The stages around one answer: size and rules before the queue, the classifier beside the prefill, windows over the
output."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Literal

from inference_backend.engines.protocol import (
    EngineEvent,
    GenerationRequest,
    Refusal,
    Stopped,
)
from inference_backend.errors import BackendError, BodyTooLargeError, EngineUnavailableError, SafetyUnavailableError
from inference_backend.pools.batch_pool import BatchPool
from inference_backend.safety.finding import Finding, Passage, Scores
from inference_backend.safety.metrics import SafetyMetrics
from inference_backend.safety.policy import Policy, Side
from inference_backend.safety.windows import HeldBack
from inference_backend.tiers import Tier

logger = logging.getLogger(__name__)

Verdict = Literal["pending", "allowed", "refused", "unchecked"]
Stage = Literal["rules", "input", "output"]

HEADER = "x-safety-verdict"
LONG_TEXT_CHARS = 256 * 1024
# Of the answer so far, for classifiers that look at the exchange, and for what two windows share.
KEPT_CHARS = 4000

Pool = BatchPool[Passage, Scores]


@dataclass(kw_only=True, slots=True, eq=False)
class Edition:
    """A policy and the pool of its classifier, None where it names none; `answers` are those being judged by it."""

    policy: Policy
    pool: Pool | None
    answers: int = 0
    is_retired: bool = False


class SafetyStages:
    """What a policy asks for. An answer is judged to its end by the edition that it began with."""

    def __init__(self, policy: Policy, *, pool: Pool | None, metrics: SafetyMetrics) -> None:
        self.edition = Edition(policy=policy, pool=pool)
        self.metrics = metrics
        self._retired: set[Edition] = set()
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def policy(self) -> Policy:
        return self.edition.policy

    @property
    def pool(self) -> Pool | None:
        return self.edition.pool

    def start(self) -> None:
        if self.pool:
            self.pool.start()

    async def aclose(self) -> None:
        await asyncio.gather(*self._closing, return_exceptions=True)
        for pool in {edition.pool for edition in (self.edition, *self._retired)} - {None}:
            if pool is not None:
                await pool.aclose()

    def replace(self, policy: Policy, pool: Pool | None) -> None:
        """For answers that begin from now. The old pool, if `pool` is another, closes when no answer needs it."""
        old, self.edition = self.edition, Edition(policy=policy, pool=pool)
        old.is_retired = True
        self._retired.add(old)
        self._close_unneeded(old)

    @contextmanager
    def judging(self, edition: Edition) -> Iterator[Edition]:
        """Around the answer of a request that came while `edition` was in force; yields the one that judges it."""
        if edition.is_retired:
            edition = self.edition
        edition.answers += 1
        try:
            yield edition
        finally:
            edition.answers -= 1
            self._close_unneeded(edition)

    def _close_unneeded(self, edition: Edition) -> None:
        if not edition.is_retired or edition.answers:
            return
        self._retired.discard(edition)
        pool = edition.pool
        if pool is not None and all(pool is not other.pool for other in (self.edition, *self._retired)):
            task = asyncio.create_task(pool.aclose())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    def open(self, request: GenerationRequest, *, tier: Tier, request_id: str = "") -> "Inspection":
        """For one request; used once."""
        return Inspection(self, request, tier=tier, request_id=request_id)


class Inspection:
    """Call `check_input` before the queue, and read the answer through `guard`."""

    def __init__(self, stages: SafetyStages, request: GenerationRequest, *, tier: Tier, request_id: str) -> None:
        self._stages = stages
        self._metrics = stages.metrics
        # Everything that the caller wrote, the system prompt and prefilled words of the assistant included.
        self._prompt = "\n".join(filter(None, (request.system, *(turn.text for turn in request.turns))))
        self._tier = tier
        self._take(stages.edition)
        self._request_id = request_id
        self._finding: Finding | None = None
        self._is_input_checked = False
        self.verdict: Verdict = "pending"

    def _take(self, edition: Edition) -> None:
        self._edition = edition
        self._policy, self._pool, self._own = edition.policy, edition.pool, edition.policy.tier(self._tier)

    @property
    def headers(self) -> dict[str, str]:
        """What is known so far; a stream that is refused later says so in its last event."""
        return {HEADER: f"{self.verdict}; policy={self._policy.digest}"}

    async def check_input(self) -> None:
        """Raises BodyTooLargeError. What the rules refuse is answered by `guard`, without asking the engine."""
        self._is_input_checked = True
        limit = self._own.max_input_bytes
        if limit is not None and (size := len(self._prompt.encode())) > limit:
            raise BodyTooLargeError(f"The prompt is {size} bytes long; the limit for the tier {self._tier} is {limit}.")
        if self._own.rules:
            self._finding = await self._match("input", self._prompt)
            self._note("rules", self._finding, is_checked=True)

    async def guard(self, events: AsyncGenerator[EngineEvent]) -> AsyncGenerator[EngineEvent]:
        """The events that may be seen. Where something is refused the engine is stopped, and Stopped says why.

        Looks at the input first, unless `check_input` did. Raises what that and `events` raise, and
        SafetyUnavailableError where nothing can be judged and the policy is `closed`.
        """
        async with aclosing(events):
            with self._stages.judging(self._edition) as edition:
                self._take(edition)
                async with aclosing(self._judged(events)) as judged:
                    async for event in judged:
                        yield event

    async def _judged(self, events: AsyncGenerator[EngineEvent]) -> AsyncGenerator[EngineEvent]:
        if not self._is_input_checked:
            await self.check_input()
        if self._finding:
            yield self._refuse(self._finding)
            return
        # The engine reads the prompt meanwhile: a verdict costs no time, as long as it is the faster one.
        first = asyncio.create_task(_next(events))
        try:
            finding = await self._judge_input()
            event = None if finding else await first
        finally:
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
        if finding:
            await events.aclose()
            yield self._refuse(finding)
            return
        async with aclosing(self._windows(event, events)) as checked:
            async for event in checked:
                yield event

    async def _windows(
        self, first: EngineEvent | None, events: AsyncGenerator[EngineEvent]
    ) -> AsyncGenerator[EngineEvent]:
        """Text is passed on once the window it is in was judged; what an answer that fails had said before, too."""
        held, is_watched, seen = HeldBack(target=self._policy.windows.target_chars), self._watches_output(), ""
        async for event in _with_failure(first, events):
            is_held = is_watched and held.add(event)
            if held.is_due or (held.text and isinstance(event, Stopped | BackendError)):
                if finding := await self._judge_output(held.text, seen):
                    await events.aclose()
                    yield self._refuse(finding)
                    return
                seen = (seen + held.text)[-KEPT_CHARS:]
                for each in held.take():
                    yield each
            if isinstance(event, BackendError):
                raise event
            if not is_held:
                yield event

    def _watches_output(self) -> bool:
        has_rules = self._own.rules and len(self._policy.rules["output"]) > 0
        return has_rules or (self._own.output_classifier and self._pool is not None)

    # Judging

    async def _judge_input(self) -> Finding | None:
        finding = None
        if self._own.input_classifier and self._pool:
            finding = await self._classify("input", Passage(text=self._prompt, prompt=self._prompt))
        if self.verdict == "pending":
            self.verdict = "allowed" if self._own.rules or self._pool else "unchecked"
        return finding

    async def _judge_output(self, text: str, seen: str) -> Finding | None:
        overlap = self._policy.windows.overlap_chars
        context = (seen[-overlap:] if overlap else "") + text
        if self._own.rules and (finding := await self._match("output", context)):
            self._note("output", finding, is_checked=True)
            return finding
        if not (self._own.output_classifier and self._pool):
            return None
        return await self._classify("output", Passage(text=context, prompt=self._prompt, answer=seen + text))

    async def _match(self, side: Side, text: str) -> Finding | None:
        rules = self._policy.rules[side]
        began = time.monotonic()
        # RE2 lets other threads run.
        found = (
            await asyncio.to_thread(rules.first_match, text) if len(text) > LONG_TEXT_CHARS else rules.first_match(text)
        )
        self._metrics.seconds.labels(stage="rules").observe(time.monotonic() - began)
        return found

    async def _classify(self, stage: Stage, passage: Passage) -> Finding | None:
        """Raises SafetyUnavailableError where the classifier is down and the policy is `closed`."""
        if not self._pool or not self._policy.classifier:
            return None
        began = time.monotonic()
        budget_s = self._policy.classifier.budget_ms / 1000
        if not self._pool.is_ready:
            # Every window of an answer would wait for the whole budget, and in vain.
            self._do_without(stage, EngineUnavailableError("No worker of the classifier is well."))
            return None
        try:
            # The pool's deadline ends the wait for a call, this one also a call that does not end.
            async with asyncio.timeout(budget_s):
                scores = await self._pool.submit(passage, tier=self._tier, deadline_s=budget_s)
        except (BackendError, TimeoutError) as error:
            self._do_without(stage, error)
            return None
        finally:
            self._metrics.seconds.labels(stage=stage).observe(time.monotonic() - began)
        finding = self._exceeds(scores)
        self._note(stage, finding, is_checked=True)
        return finding

    def _exceeds(self, scores: Scores) -> Finding | None:
        for category, threshold in self._own.thresholds.items():
            if scores.get(category, 0.0) >= threshold:
                return Finding(category=category, explanation="A classifier found this not to be allowed here.")
        return None

    def _do_without(self, stage: Stage, error: BackendError | TimeoutError) -> None:
        """Raises SafetyUnavailableError where the policy says so."""
        self._note(stage, None, is_checked=False)
        when_down = self._policy.when_down(self._tier)
        logger.warning(
            "safety classifier is down",
            extra={
                "request_id": self._request_id,
                "stage": stage,
                "tier": self._tier,
                "when_down": when_down,
                "reason": error.code if isinstance(error, BackendError) else "timeout",
            },
        )
        if when_down == "closed":
            raise SafetyUnavailableError("This request cannot be checked at the moment; try again shortly.") from error

    # Telling

    def _refuse(self, finding: Finding) -> Stopped:
        logger.info(
            "refused",
            extra={
                "request_id": self._request_id,
                "tier": self._tier,
                "category": finding.category,
                "policy": self._policy.digest,
            },
        )
        return Stopped(reason="refusal", refusal=Refusal(category=finding.category, explanation=finding.explanation))

    def _note(self, stage: Stage, finding: Finding | None, *, is_checked: bool) -> None:
        outcome: Verdict = "refused" if finding else "allowed" if is_checked else "unchecked"
        category = finding.category if finding else ""
        self._metrics.verdicts.labels(stage=stage, verdict=outcome, tier=self._tier, category=category).inc()
        if outcome != "allowed":
            self.verdict = outcome


async def _next(events: AsyncGenerator[EngineEvent]) -> EngineEvent | None:
    return await anext(events, None)


async def _with_failure(
    first: EngineEvent | None, events: AsyncGenerator[EngineEvent]
) -> AsyncGenerator[EngineEvent | BackendError]:
    """The failure of an answer as its last item."""
    try:
        if first is not None:
            yield first
        async for event in events:
            yield event
    except BackendError as error:
        yield error
