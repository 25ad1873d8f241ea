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
from inference_backend.scheduling.replica_set import ReplicaSet
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
NOTHING = Decisions()
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
        self._running: dict[str, Running] = {}
        self._headroom = {tier: self._policy.headroom.get(tier, 0.0) for tier in TIERS}
        self._above = {tier: [self._line.tiers[above] for above in TIERS[TIERS.index(tier) + 1 :]] for tier in TIERS}
        self._replicas = ReplicaSet(
            prefill_portion=self._policy.prefill_portion,
            prefix_blocks=self._policy.prefix_blocks,
            headroom=self._headroom,
        )

    def add_replica(self, name: str, *, slots: int, kv_tokens: int | None, now: float) -> None:
        """It may be given work from now; one known already, also a draining one, gets these limits.

        `kv_tokens` is None where the engine does not say. Raises ValueError for limits below 1.
        """
        self._replicas.put(name, slots=slots, kv_tokens=kv_tokens, decode_s=self.rates.decode.s_per_token)

    def drain_replica(self, name: str, now: float) -> None:
        """No new work; what runs there ends in its own time."""
        self._replicas.drain(name)

    def remove_replica(self, name: str, now: float) -> list[Work]:
        """It is gone, and so are the answers that ran there: these are returned, and need no `finish` any more."""
        budget = self._replicas.remove(name)
        if budget is None:
            return []
        for work_id in budget.running:
            del self._running[work_id]
        return [running.work for running in budget.running.values()]

    def submit(self, work: Work, now: float) -> Refusal | None:
        """None: it waits. Raises ValueError for an id that waits or runs already."""
        if work.id in self._line.entries or work.id in self._running:
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
        waiting = self._line.entries
        expired = self._line.pop_expired(now) if waiting else []
        for work in expired:
            self._replicas.release(work.id)
        starts: list[tuple[Work, str]] = []
        while waiting and self._replicas.open:
            start = self._start_next(now)
            if start is None:
                break
            starts.append(start)
        return Decisions(starts=starts, expired=expired) if starts or expired else NOTHING

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
        self._replicas.refresh(running.budget)

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
            self._replicas.release(work_id)
            return True
        if (running := self._running.get(work_id)) is not None:
            self._end(running)
            return True
        return False

    def expected_wait(self, tier: Tier, now: float) -> float:
        """Seconds that new work of this tier would wait for its place, were it let in; infinite without replicas."""
        others_s, own_s = self._waits(tier, now)
        return others_s + own_s

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
                for budget in self._replicas
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
        if not self._replicas.takes(work):
            if self._gate and not work.avoid:
                return self._gate.admit(tier, delay_s=math.inf, now=now)
            return Refusal(tier=tier, code="no_capacity", retry_after_s=NO_REPLICA_RETRY_S, delay_s=math.inf)
        if work.resumed:
            return None
        if len(self._line.entries) >= self._policy.most_waiting:
            wait_s = self.expected_wait(tier, now)
            return Refusal(tier=tier, code="overloaded", retry_after_s=FULL_RETRY_S, delay_s=wait_s)
        return self._ask_gate(self._gate, work, now) if self._gate else None

    def _ask_gate(self, gate: DelayGate, work: Work, now: float) -> Refusal | None:
        tier = work.tier
        others_s, own_s = self._waits(tier, now)
        share = self._line.tiers[tier].share_ahead_of(work.key) if own_s else 0.0
        wait_s = others_s + share * own_s
        if now + wait_s > work.deadline:
            retry_after_s = min(LONGEST_RETRY_S, max(1, math.ceil(wait_s)))
            return Refusal(tier=tier, code="deadline", retry_after_s=retry_after_s, delay_s=wait_s)
        if own_s and share < 1.0 and wait_s <= gate.band(tier).low_s:
            # The line is long because of others, and fair: this one passes them, and must not pay for them here.
            return None
        interval_s = self.rates.mean_place_s / self._replicas.places(self._headroom[tier])
        return gate.admit(tier, delay_s=others_s + own_s, now=now, capacity=1 / interval_s, interval_s=interval_s)

    def _waits(self, tier: Tier, now: float) -> tuple[float, float]:
        """Seconds that new work waits: for a place to fall free and for the tiers above; and for its whole own tier.

        Work in seconds of place, divided by the places that the tiers above leave to it: those that they keep busy with
        what they offer are not there for this one.
        """
        replicas, headroom, own = self._replicas, self._headroom[tier], self._line.tiers[tier]
        prompt_tokens = output_tokens = 0
        for line in self._above[tier]:
            prompt_tokens += line.prompt_tokens
            output_tokens += line.output_tokens
        if not output_tokens and not own.output_tokens and replicas.open_to[tier]:
            return 0.0, 0.0
        places, all_places = replicas.places(headroom), replicas.places(0.0)
        if not places:
            return math.inf, 0.0
        if self._running and not replicas.open:
            # The KV cache may be full before the slots are.
            places, all_places = min(places, len(self._running)), min(all_places, len(self._running))
        left = max(all_places - self.rates.offered_above(tier, now), places / self._policy.aged_every)
        left = min(places, left)
        prefill_s, decode_s = self.rates.prefill.s_per_token, self.rates.decode.s_per_token
        above_s = prompt_tokens * prefill_s + output_tokens * decode_s
        own_s = own.prompt_tokens * prefill_s + own.output_tokens * decode_s
        return above_s / left + self.rates.mean_place_s / places, own_s / left

    def _start_next(self, now: float) -> tuple[Work, str] | None:
        first = self._line.first(now, self._replicas.open_to)
        if first is None:
            return None
        entry, goes_first = first
        choice = self._choose(entry, goes_first=goes_first)
        if choice is not None:
            return self._start(entry, *choice, goes_first=goes_first, now=now)
        return self._start_behind(now)

    def _start_behind(self, now: float) -> tuple[Work, str] | None:
        """The first does not fit at present, perhaps another one does."""
        passed: list[Entry] = []
        with closing(self._line.candidates(now, self._replicas.open_to)) as candidates:
            for entry, goes_first in islice(candidates, self._policy.lookahead):
                choice = self._choose(entry, goes_first=goes_first)
                if choice is not None:
                    break
                passed.append(entry)
            else:
                return None
        for other in passed:
            other.passed += 1
            if other.passed >= self._policy.most_passed:
                self._replicas.hold(other.work, prefill_s=self.rates.prefill.s_per_token)
        return self._start(entry, *choice, goes_first=goes_first, now=now)

    def _choose(self, entry: Entry, *, goes_first: bool) -> tuple[ReplicaBudget, int] | None:
        headroom = 0.0 if goes_first else self._headroom[entry.work.tier]
        return self._replicas.choose(entry.work, headroom=headroom, prefill_s=self.rates.prefill.s_per_token)

    def _start(
        self, entry: Entry, budget: ReplicaBudget, uncached_tokens: int, *, goes_first: bool, now: float
    ) -> tuple[Work, str]:
        work = entry.work
        rates = self.rates
        output_tokens = rates.expected_output(work.max_tokens)
        cost_s = work.prompt_tokens * rates.prefill.s_per_token + output_tokens * rates.decode.s_per_token
        self._line.take(entry, cost_s=cost_s, goes_first=goes_first)
        self._replicas.release(work.id)
        self._running[work.id] = budget.start(
            work, uncached_tokens=uncached_tokens, output_tokens=entry.output_tokens, now=now
        )
        self._replicas.note_start(budget)
        return work, budget.name

    def _end(self, running: Running) -> None:
        del self._running[running.work.id]
        running.budget.end(running)
        self._replicas.refresh(running.budget)
