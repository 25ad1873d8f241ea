"""The scheduler of a pool of token engines: one central queue, pulled by whichever replica has a place free.

Late binding keeps priority, shedding and cancellation effective on everything that waits. A place is granted when the
replica has a slot, room in its KV cache for prompt and answer, and room to read the prompt: the prompts being read at
once are bounded, because reading one takes turns with the answers being written there and would stall them.
"""

import math
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice

from inference_backend.scheduling.budget import ReplicaBudget, Running
from inference_backend.scheduling.deadlines import TICK_S
from inference_backend.scheduling.delay_gate import LONGEST_RETRY_S, Band, DelayGate, Refusal
from inference_backend.scheduling.rates import ServiceRates
from inference_backend.scheduling.waiting import Entry, WaitingLine
from inference_backend.scheduling.work import Decisions, Work
from inference_backend.tiers import TIERS, Tier

TOKEN_ENGINE_BANDS: Mapping[Tier, Band] = {
    "free": Band(low_s=2.0, high_s=6.0),
    "pro": Band(low_s=10.0, high_s=20.0),
    "internal": Band(low_s=30.0, high_s=60.0),
}
GATE_WINDOW_S = 1.0
NO_REPLICA_RETRY_S = 2
FULL_RETRY_S = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenPolicy:
    """`prefill_portion`: prompt tokens being read at once by one replica. `lookahead`: how many may be passed over
    because they do not fit now; one passed over `most_passed` times gets the next replica for itself. `headroom` is the
    share of slots and KV cache that a tier leaves to those above it, whole slots only; they find a place at once then.
    """

    prefill_portion: int = 2048
    most_waiting: int = 100_000
    age_s: Mapping[Tier, float] = field(default_factory=lambda: {"free": 20.0, "pro": 10.0})
    aged_every: int = 8
    lookahead: int = 8
    most_passed: int = 16
    headroom: Mapping[Tier, float] = field(default_factory=lambda: {"free": 1 / 16})
    prefix_blocks: int = 4096


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplicaUse:
    name: str
    slots: int
    running: int
    kv_tokens: int | None
    kv_used: int
    prefill_tokens: int
    decode_s_per_token: float
    is_draining: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """`running` counts answers on replicas that are still known."""

    waiting: Mapping[Tier, int]
    running: int
    replicas: tuple[ReplicaUse, ...]


def token_gate(bands: Mapping[Tier, Band] = TOKEN_ENGINE_BANDS) -> DelayGate:
    """Answers take seconds and come one by one, so the delay is judged over a longer time than that of a batch call."""
    return DelayGate(bands, window_s=GATE_WINDOW_S)


class TokenScheduler:
    """Pure: every method takes `now`, in seconds of a clock that never goes back. The same calls decide the same.

    Whoever drives it calls `poll` after each change and at `next_wakeup`, and ends each submitted work exactly once:
    by its expiry, by `finish`, or by `cancel`.
    """

    def __init__(self, *, gate: DelayGate | None = None, policy: TokenPolicy | None = None) -> None:
        self.rates = ServiceRates()
        self._policy = policy or TokenPolicy()
        self._gate = gate
        self._line = WaitingLine(age_s=self._policy.age_s, aged_every=self._policy.aged_every)
        self._replicas: dict[str, ReplicaBudget] = {}
        self._open: dict[str, ReplicaBudget] = {}
        self._running: dict[str, Running] = {}
        self._held: dict[str, ReplicaBudget] = {}
        self._headroom = {tier: self._policy.headroom.get(tier, 0.0) for tier in TIERS}
        self._starts = 0

    def add_replica(self, name: str, *, slots: int, kv_tokens: int | None, now: float) -> None:
        """It may be given work from now; one known already, also a draining one, gets these limits.

        `kv_tokens` is None where the engine does not say. Raises ValueError for limits below 1.
        """
        budget = self._replicas.get(name)
        if budget is None:
            budget = ReplicaBudget(
                name,
                prefill_portion=self._policy.prefill_portion,
                prefix_blocks=self._policy.prefix_blocks,
                decode_s=self.rates.decode.s_per_token,
            )
        budget.limit(slots=slots, kv_tokens=kv_tokens)
        budget.is_draining = False
        self._replicas[name] = budget
        self._refresh(budget)

    def drain_replica(self, name: str, now: float) -> None:
        """No new work; what runs there ends in its own time."""
        if (budget := self._replicas.get(name)) is not None:
            budget.is_draining = True
            self._release_hold(budget.held_for)
            self._refresh(budget)

    def remove_replica(self, name: str, now: float) -> list[Work]:
        """It is gone, and so are the answers that ran there: these are returned, and need no `finish` any more."""
        budget = self._replicas.pop(name, None)
        if budget is None:
            return []
        self._open.pop(name, None)
        self._release_hold(budget.held_for)
        for work_id in budget.running:
            del self._running[work_id]
        return [running.work for running in budget.running.values()]

    def submit(self, work: Work, now: float) -> Refusal | None:
        """None: it waits. Raises ValueError for an id that waits or runs already."""
        if work.id in self._line or work.id in self._running:
            raise ValueError(f"the work {work.id} is here already")
        refusal = self._refuse(work, now)
        if refusal is not None:
            return refusal
        output_tokens = self.rates.expected_output(work.max_tokens)
        cost_s = self.rates.place_s(work.prompt_tokens, output_tokens)
        self.rates.note_offered(work.tier, cost_s, now)
        self._line.add(
            work, output_tokens=output_tokens, cost_s=cost_s, latest_start=self._latest_start(work, now), now=now
        )
        return None

    def poll(self, now: float) -> Decisions:
        """What starts now and what never will."""
        decisions = Decisions(expired=self._line.pop_expired(now))
        for work in decisions.expired:
            self._release_hold(work.id)
        while self._open and len(self._line):
            start = self._start_next(now)
            if start is None:
                break
            decisions.starts.append(start)
        return decisions

    def next_wakeup(self) -> float | None:
        """When `poll` must be called again at the latest, whatever happens."""
        return self._line.next_expiry()

    def first_token(self, work_id: str, now: float) -> None:
        """Its prompt is read: the next one may be."""
        running = self._running.get(work_id)
        if running is None or running.first_token_at is not None:
            return
        running.first_token_at = now
        self.rates.prefill.note(now - running.started_at, running.prefill_tokens)
        running.budget.end_prefill(running)
        self._refresh(running.budget)

    def finish(self, work_id: str, output_tokens: int, now: float) -> None:
        """It ended by itself after `output_tokens`. Nothing happens where the work is not running (any more)."""
        running = self._running.get(work_id)
        if running is None:
            return
        if running.first_token_at is not None and output_tokens > 1:
            seconds = now - running.first_token_at
            self.rates.decode.note(seconds, output_tokens - 1)
            running.budget.decode.note(seconds, output_tokens - 1)
        self.rates.note_output(output_tokens)
        self._end(running)

    def cancel(self, work_id: str, now: float) -> bool:
        """It ends here, waiting or running, and says nothing of the engine's speed. False where it is not known."""
        if self._line.remove(work_id) is not None:
            self._release_hold(work_id)
            return True
        if (running := self._running.get(work_id)) is not None:
            self._end(running)
            return True
        return False

    def expected_wait(self, tier: Tier, now: float) -> float:
        """Seconds that new work of this tier would wait for its place, were it let in; infinite without replicas."""
        return self._wait_s(tier, 1.0, now)

    def running_on(self, name: str) -> int:
        budget = self._replicas.get(name)
        return len(budget.running) if budget is not None else 0

    def snapshot(self) -> Snapshot:
        return Snapshot(
            waiting={tier: len(line) for tier, line in self._line.tiers.items()},
            running=len(self._running),
            replicas=tuple(
                ReplicaUse(
                    name=budget.name,
                    slots=budget.slots,
                    running=len(budget.running),
                    kv_tokens=budget.kv_tokens,
                    kv_used=budget.kv_used,
                    prefill_tokens=budget.prefill_tokens,
                    decode_s_per_token=budget.decode.s_per_token,
                    is_draining=budget.is_draining,
                )
                for budget in self._replicas.values()
            ),
        )

    def _latest_start(self, work: Work, now: float) -> float:
        """Later, behind half a portion of other prompts, its first token would miss the deadline.

        At least half of its time is given to the queue: a measured rate that is far too low must not keep work out for
        which a place is free, or it would never be corrected.
        """
        prefill_s = self.rates.prefill_s(work.prompt_tokens + self._policy.prefill_portion // 2)
        return work.deadline - min(prefill_s, (work.deadline - now) / 2) - TICK_S

    def _refuse(self, work: Work, now: float) -> Refusal | None:
        tier = work.tier
        if not any(name not in work.avoid and not budget.is_draining for name, budget in self._replicas.items()):
            if self._gate and not work.avoid:
                return self._gate.admit(tier, delay_s=math.inf, now=now)
            return Refusal(tier=tier, code="no_capacity", retry_after_s=NO_REPLICA_RETRY_S, delay_s=math.inf)
        if work.resumed:
            return None
        wait_s = self.expected_wait(tier, now)
        if len(self._line) >= self._policy.most_waiting:
            return Refusal(tier=tier, code="overloaded", retry_after_s=FULL_RETRY_S, delay_s=wait_s)
        if self._gate is None:
            return None
        share = self._line.tiers[tier].share_ahead_of(work.key)
        own_wait_s = self._wait_s(tier, share, now)
        if now + own_wait_s > work.deadline:
            retry_s = min(LONGEST_RETRY_S, max(1, math.ceil(own_wait_s)))
            return Refusal(tier=tier, code="deadline", retry_after_s=retry_s, delay_s=own_wait_s)
        if share < 1.0 and own_wait_s <= self._gate.band(tier).low_s:
            # The line is long because of others, and fair: this one passes them, and must not pay for them here.
            return None
        interval_s = self._mean_place_s() / self._places(tier)
        return self._gate.admit(tier, delay_s=wait_s, now=now, capacity=1 / interval_s, interval_s=interval_s)

    def _wait_s(self, tier: Tier, share: float, now: float) -> float:
        """What waits in the tiers above, and this share of what waits in this one, in seconds of place, divided by the
        places that the tiers above leave to it; plus the time until a place falls free at all.
        """
        places, all_places = self._places(tier), self._places("internal")
        if not places:
            return math.inf
        if not len(self._line) and tier in self._open_tiers():
            return 0.0
        own, *above = (self._line.tiers[other] for other in TIERS[TIERS.index(tier) :])
        ahead_s = self.rates.place_s(
            share * own.prompt_tokens + sum(line.prompt_tokens for line in above),
            share * own.output_tokens + sum(line.output_tokens for line in above),
        )
        left = min(places, all_places - self.rates.offered_above(tier, now))
        return ahead_s / max(left, places / self._policy.aged_every) + self._mean_place_s() / places

    def _mean_place_s(self) -> float:
        return self.rates.place_s(0.0, self.rates.expected_output(1 << 30))

    def _places(self, tier: Tier) -> int:
        """Answers that run side by side when work waits: fewer than slots where the KV cache is what is short."""
        headroom = self._headroom[tier]
        slots = sum(
            budget.slots - int(headroom * budget.slots) for budget in self._replicas.values() if not budget.is_draining
        )
        running = len(self._running)
        return min(slots, running) if running and len(self._line) and not self._open else slots

    def _start_next(self, now: float) -> tuple[Work, str] | None:
        passed: list[Entry] = []
        with closing(self._line.candidates(now, self._open_tiers())) as candidates:
            for entry, goes_first in islice(candidates, self._policy.lookahead):
                headroom = 0.0 if goes_first else self._headroom[entry.work.tier]
                choice = self._choose(entry.work, headroom)
                if choice is not None:
                    break
                passed.append(entry)
            else:
                return None
        for other in passed:
            other.passed += 1
            if other.passed >= self._policy.most_passed:
                self._hold_replica(other.work)
        budget, uncached_tokens = choice
        work = entry.work
        cost_s = self.rates.place_s(work.prompt_tokens, self.rates.expected_output(work.max_tokens))
        self._line.take(entry, cost_s=cost_s, now=now)
        self._release_hold(work.id)
        self._starts += 1
        budget.last_start = self._starts
        self._running[work.id] = budget.start(
            work, uncached_tokens=uncached_tokens, output_tokens=entry.output_tokens, now=now
        )
        self._refresh(budget)
        return work, budget.name

    def _open_tiers(self) -> list[Tier]:
        replicas = self._open.values()
        return [
            tier for tier, headroom in self._headroom.items() if any(budget.is_open_to(headroom) for budget in replicas)
        ]

    def _choose(self, work: Work, headroom: float) -> tuple[ReplicaBudget, int] | None:
        """Where its first token comes soonest: least estimated work, less what a known prefix saves there.

        A replica that knows the prefix thus wins only while its lead in work is smaller than the saving.
        """
        pace = self.rates.prefill.s_per_token
        best: tuple[float, int, ReplicaBudget, int] | None = None
        for budget in self._open.values():
            uncached_tokens = budget.uncached_tokens(work)
            if not budget.fits(work, uncached_tokens=uncached_tokens, headroom=headroom):
                continue
            rank = (budget.busy_s(pace) + uncached_tokens * pace, budget.last_start)
            if best is None or rank < best[:2]:
                best = (*rank, budget, uncached_tokens)
        return None if best is None else best[2:]

    def _hold_replica(self, work: Work) -> None:
        """Nothing else starts there until this does: else small work would fill each gap before it is wide enough."""
        if work.id in self._held:
            return
        pace = self.rates.prefill.s_per_token
        free = [
            budget
            for name, budget in self._replicas.items()
            if budget.held_for is None and not budget.is_draining and name not in work.avoid
        ]
        if free:
            budget = min(free, key=lambda budget: (budget.busy_s(pace), budget.last_start))
            budget.held_for = work.id
            self._held[work.id] = budget

    def _release_hold(self, work_id: str | None) -> None:
        if work_id is not None and (budget := self._held.pop(work_id, None)) is not None:
            budget.held_for = None

    def _end(self, running: Running) -> None:
        del self._running[running.work.id]
        running.budget.end(running)
        self._refresh(running.budget)

    def _refresh(self, budget: ReplicaBudget) -> None:
        if budget.is_open:
            self._open[budget.name] = budget
        else:
            self._open.pop(budget.name, None)
