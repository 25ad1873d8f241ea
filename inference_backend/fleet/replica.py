"""One engine and what is known of it.

provisioning   nothing answers at its address yet
loading        it answers, and takes no requests or serves something else
warming        it is asked the golden question
verified       everything is right; it stands by while another version has the traffic
ready          verified, and takes traffic
suspect        a request saw it fail; it is verified again before it gets more traffic
draining       finishes what it has begun, and gets nothing new
dead           was verified once, and cannot be reached
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from typing import Literal, Protocol

from inference_backend.engines.protocol import Engine
from inference_backend.errors import BackendError, EngineBusyError, EngineConnectionError, EngineTimeoutError
from inference_backend.fleet.configuration import ReplicaConfiguration
from inference_backend.fleet.engine_kinds import KINDS
from inference_backend.fleet.verification import Evidence, ask_golden_question, ask_what_is_served, check_health

logger = logging.getLogger(__name__)

Phase = Literal["provisioning", "loading", "warming", "verified", "suspect", "dead"]
State = Literal["provisioning", "loading", "warming", "verified", "ready", "suspect", "draining", "dead"]
STARTING: frozenset[Phase] = frozenset({"provisioning", "loading", "warming"})

VERIFIED_POLL_S = 1.0
OTHER_POLL_S = 0.25
SILENCE_S = 15.0


class Judge(Protocol):
    """The model that the replica belongs to."""

    def judge(self, replica: "Replica", evidence: Evidence) -> None:
        """Raises EngineFailedError where the evidence is not that of this model."""

    def settle(self) -> None:
        """Something about a replica changed."""


class Replica:
    """`key` is its name in the pool: the configured name, with a number while an older one of that name drains.

    `is_open`: the pool gives it work. `is_leaving`: it is in the configuration no more.
    """

    def __init__(self, configuration: ReplicaConfiguration, engine: Engine, judge: Judge, *, key: str) -> None:
        self.configuration = configuration
        self.engine = engine
        self.key = key
        self.phase: Phase = "provisioning"
        self.reason = "not verified yet"
        self.evidence: Evidence | None = None
        self.verified_at = float("inf")
        self.is_open = False
        self.is_leaving = False
        self.successor: Replica | None = None
        self.running = 0
        self.idle = asyncio.Event()
        self.idle.set()
        self.changed = asyncio.Event()
        self.starting_since = time.monotonic()
        self.start_took_s: float | None = None
        self._judge = judge
        self._check_now = asyncio.Event()
        self._is_doubted = False
        self._was_seen_starting = False
        self._alive_at = float("-inf")
        self._suspect_since = float("inf")
        self._on_lost: set[Callable[[], None]] = set()

    @property
    def state(self) -> State:
        if self.phase == "dead":
            return "dead"
        if self.is_leaving or (self.phase == "verified" and not self.is_open and self.running):
            return "draining"
        return "ready" if self.is_open else self.phase

    @property
    def version(self) -> str | None:
        return self.evidence.version if self.evidence else None

    @property
    def slots(self) -> int:
        stated = self.evidence.served.slots if self.evidence else None
        return self.configuration.slots or stated or KINDS[self.configuration.engine].slots

    def report(self) -> dict[str, object]:
        evidence = self.evidence
        return {
            "replica": self.key,
            "engine": self.configuration.engine,
            "state": self.state,
            "reason": self.reason,
            "version": (evidence.version or None) if evidence else None,
            "golden": evidence.golden if evidence else None,
            "slots": self.slots,
            "running": self.running,
        }

    # --- what requests tell of it ---

    @contextlib.contextmanager
    def in_use(self, on_lost: Callable[[], None]) -> Iterator[None]:
        """Around each use of the engine. `on_lost` is called when it is known that no answer will come any more."""
        self.running += 1
        self.idle.clear()
        self._on_lost.add(on_lost)
        try:
            yield
        finally:
            self._on_lost.discard(on_lost)
            self.running -= 1
            if not self.running:
                self.idle.set()

    def suspect(self, reason: str) -> None:
        """A request was let down by it: no more traffic until it is verified again, which starts at once."""
        if self.phase == "verified":
            self._enter("suspect", reason)
        self._check_now.set()

    def doubt(self) -> None:
        """It said that it failed at a request, which may be the request's fault: verify it while it works on."""
        self._is_doubted = True
        self._check_now.set()

    def note_sign_of_life(self) -> None:
        """A request heard from it: then a slow health check means that it is busy, not that it is gone."""
        self._alive_at = time.monotonic()

    def give_up(self) -> None:
        """Whoever waits for it is told not to."""
        for tell in list(self._on_lost):
            tell()

    # --- what it is asked ---

    async def watch(self) -> None:
        """Verify, watch, verify again after every absence; until cancelled."""
        while True:
            try:
                await (self._recheck() if self.phase == "verified" else self._verify())
            except Exception:
                # A bug of one engine's adapter must not leave its replica unwatched, nor take others along.
                logger.exception("replica check failed", extra={"replica": self.key})
                self._enter("suspect" if self.verified_at < float("inf") else "loading", "its check failed")
            if self.phase in STARTING:
                self._judge.settle()  # a start that takes too long is announced no more
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(VERIFIED_POLL_S if self.phase == "verified" else OTHER_POLL_S):
                    await self._check_now.wait()
            self._check_now.clear()

    async def _recheck(self) -> None:
        """One bad check only makes it suspect: a connection may break by chance. The next check follows at once."""
        is_doubted, self._is_doubted = self._is_doubted, False
        try:
            await check_health(self.engine)
            if is_doubted:
                self._judge.judge(self, await self._gather_evidence())
        except EngineTimeoutError as error:
            if is_doubted or time.monotonic() - self._alive_at > SILENCE_S:
                self.suspect(error.message)
        except BackendError as error:
            self.suspect(error.message)

    async def _verify(self) -> None:
        try:
            await check_health(self.engine)
        except BackendError as error:
            if self.phase in {"suspect", "dead"} and self._alive_at < self._suspect_since:
                self.give_up()
            self._enter(self._phase_after(error), error.message)
            return
        try:
            evidence = await self._gather_evidence()
            self._judge.judge(self, evidence)
        except BackendError as error:
            self._enter(self._phase_after(error), error.message)
        else:
            self.evidence = evidence
            self._enter("verified", "verified")

    async def _gather_evidence(self) -> Evidence:
        served, version = await ask_what_is_served(self.engine, self.configuration.digest)
        if self.phase in STARTING or self.phase == "dead":
            self._enter("warming", "asking for a known answer")
        golden = await ask_golden_question(self.engine)
        return Evidence(served=served, version=version, golden=golden)

    def _phase_after(self, error: BackendError) -> Phase:
        is_absent = isinstance(error, EngineConnectionError) and not isinstance(error, EngineBusyError)
        if is_absent:
            return "dead" if self.phase in {"suspect", "dead"} else "provisioning"
        return "suspect" if self.phase == "suspect" else "loading"

    def _enter(self, phase: Phase, reason: str) -> None:
        if phase == self.phase and reason == self.reason:
            return
        logger.info("replica state", extra={"replica": self.key, "state": phase, "reason": reason})
        was, self.phase, self.reason = self.phase, phase, reason
        now = time.monotonic()
        if phase == "verified":
            self.verified_at = min(self.verified_at, now) if was == "suspect" else now
            # One that was up before it was known of says nothing about how long a start takes.
            if was in STARTING and self._was_seen_starting:
                self.start_took_s = now - self.starting_since
            self._was_seen_starting = False
        elif phase in {"provisioning", "loading"}:
            self._was_seen_starting = True
            if was not in STARTING:
                self.starting_since = now
        if phase == "suspect" and was != "suspect":
            self._suspect_since = now
        self._judge.settle()
        self.changed.set()
        self.changed = asyncio.Event()
