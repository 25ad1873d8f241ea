"""Simulated token engines behind the pool's own scheduler, or behind none, on a clock of its own."""

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import count, cycle
from typing import Protocol

from inference_backend.scheduling.delay_gate import DelayGate, Refusal
from inference_backend.scheduling.work import Decisions, Work
from inference_backend.simulation.report import Figures, TierFigures, percentile
from inference_backend.simulation.token_engine import TokenCost, TokenEngine
from inference_backend.simulation.token_traffic import Request
from inference_backend.tiers import TIERS

NOTICE_S = 0.05


class Scheduler(Protocol):
    """What the simulation needs of a policy; TokenScheduler has it."""

    def add_replica(self, name: str, *, slots: int, kv_tokens: int | None, now: float) -> None: ...
    def remove_replica(self, name: str, now: float) -> list[Work]: ...
    def submit(self, work: Work, now: float) -> Refusal | None: ...
    def poll(self, now: float) -> Decisions: ...
    def next_wakeup(self) -> float | None: ...
    def first_token(self, work_id: str, now: float) -> None: ...
    def finish(self, work_id: str, output_tokens: int, now: float) -> None: ...


class RoundRobin:
    """No control: each request goes to the next replica at once and waits there, first come, first served."""

    def __init__(self) -> None:
        self._replicas: dict[str, dict[str, Work]] = {}
        self._turns = cycle([""])
        self._next: list[tuple[Work, str]] = []

    def add_replica(self, name: str, *, slots: int, kv_tokens: int | None, now: float) -> None:
        self._replicas[name] = {}
        self._turns = cycle(list(self._replicas))

    def remove_replica(self, name: str, now: float) -> list[Work]:
        works = self._replicas.pop(name, {})
        self._turns = cycle(list(self._replicas))
        return list(works.values())

    def submit(self, work: Work, now: float) -> None:
        name = next(self._turns)
        self._replicas[name][work.id] = work
        self._next.append((work, name))

    def poll(self, now: float) -> Decisions:
        starts, self._next = self._next, []
        return Decisions(starts=starts)

    def next_wakeup(self) -> float | None:
        return None

    def first_token(self, work_id: str, now: float) -> None:
        pass

    def finish(self, work_id: str, output_tokens: int, now: float) -> None:
        for works in self._replicas.values():
            works.pop(work_id, None)


@dataclass(kw_only=True, slots=True)
class Progress:
    """One request: its work now (another one after its replica died), where, and how many tokens came before that."""

    request: Request
    work: Work
    replica: str | None = None
    first_token_at: float | None = None
    written: int = 0


@dataclass(slots=True)
class Ends:
    """How requests ended, by tier. `first_token_s` is from arrival, in the order in which they came."""

    first_token_s: dict[str, list[float]] = field(default_factory=lambda: {tier: [] for tier in TIERS})
    by_key: dict[str, list[float]] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TIERS, 0))
    expired: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TIERS, 0))
    failed: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TIERS, 0))
    finished: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TIERS, 0))
    late: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TIERS, 0))
    output_tokens: int = 0
    continued: int = 0
    told_starting: int = 0


class TokenPoolSimulation:
    """Runs until every request has met its end; time is what the next event says.

    `survives_loss`: what ran on a replica that dies is put to the head of the queue, with the text so far as part of
    the prompt; otherwise it has failed.
    """

    def __init__(self, scheduler: Scheduler, *, cost: TokenCost, replicas: int, survives_loss: bool = True) -> None:
        self.ends = Ends()
        self.now = 0.0
        self.gaps: list[tuple[float, int]] = []
        self.tokens_by_second: dict[int, int] = {}
        self._scheduler = scheduler
        self._cost = cost
        self._survives_loss = survives_loss
        self._engines: dict[str, TokenEngine] = {}
        self._announced: tuple[DelayGate, float] | None = None
        self._dead: dict[str, TokenEngine] = {}
        self._busy: set[str] = set()
        self._events: list[tuple[float, int, str, str]] = []
        self._order = count()
        self._numbers = count()
        self._progress: dict[str, Progress] = {}
        for number in range(replicas):
            self._join(f"gpu-{number}")

    def kill(self, name: str, *, at: float) -> None:
        """It stops in the middle of a step; the broken connections are noticed after NOTICE_S."""
        self._schedule(at, "die", name)
        self._schedule(at + NOTICE_S, "gone", name)

    def revive(self, name: str, *, at: float) -> None:
        self._schedule(at, "join", name)

    def announce(self, gate: DelayGate, *, at: float, ready_at: float) -> None:
        """The gate hears at that time of engines that will be ready later."""
        self._announced = (gate, ready_at)
        self._schedule(at, "announce", "")

    def run(self, requests: Iterable[Request]) -> None:
        coming = iter(requests)
        request = next(coming, None)
        while True:
            wakeup = self._scheduler.next_wakeup()
            at_wakeup = math.inf if wakeup is None else max(wakeup, self.now)
            at_event = self._events[0][0] if self._events else math.inf
            at_arrival = request.at if request else math.inf
            at_next = min(at_wakeup, at_event, at_arrival)
            if at_next == math.inf:
                return
            self.now = at_next
            if at_event == self.now:
                self._happen()
            elif request and at_arrival == self.now:
                self._arrive(request)
                request = next(coming, None)
            self._obey(self._scheduler.poll(self.now))

    def tokens_per_s(self, begin: float, end: float) -> float:
        """Written in that time, by the whole second."""
        return sum(self.tokens_by_second.get(second, 0) for second in range(int(begin), int(end))) / (end - begin)

    def gap_s(self, share: float) -> float:
        """Percentile of the time between two tokens of one answer."""
        ordered = sorted(self.gaps)
        left = share * sum(answers for _, answers in ordered)
        for seconds, answers in ordered:
            left -= answers
            if left <= 0:
                return seconds
        return math.nan

    def figures(self, bound_s: float, **others: float) -> Figures:
        ends = self.ends

        def of(*tiers: str) -> TierFigures:
            return TierFigures.of(
                [seconds for tier in tiers for seconds in ends.first_token_s[tier]],
                bound_s=bound_s,
                refused=sum(ends.refused[tier] for tier in tiers),
                expired=sum(ends.expired[tier] for tier in tiers),
                failed=sum(ends.failed[tier] for tier in tiers),
            )

        return Figures(
            everybody=of(*TIERS),
            tiers={tier: of(tier) for tier in TIERS},
            others={
                "output_tokens_per_s": ends.output_tokens / self.now if self.now else 0.0,
                "late": float(sum(ends.late.values())),
                "expired": float(sum(ends.expired.values())),
                "failed": float(sum(ends.failed.values())),
                "told_capacity_starting": float(ends.told_starting),
                "p50_token_gap_ms": 1000 * self.gap_s(0.5),
                "p99_token_gap_ms": 1000 * self.gap_s(0.99),
                "worst_token_gap_ms": 1000 * self.gap_s(1.0),
                **others,
            },
        )

    def percentile_of_keys(self, keys: Iterable[str], share: float) -> float:
        return percentile(sorted(seconds for key in keys for seconds in self.ends.by_key.get(key, ())), share)

    def _schedule(self, at: float, kind: str, name: str) -> None:
        heapq.heappush(self._events, (at, next(self._order), kind, name))

    def _join(self, name: str) -> None:
        self._engines[name] = TokenEngine(self._cost)
        self._scheduler.add_replica(name, slots=self._cost.slots, kv_tokens=self._cost.kv_tokens, now=self.now)

    def _arrive(self, request: Request) -> None:
        work = Work(
            id=str(next(self._numbers)),
            tier=request.tier,
            key=request.key,
            prompt_tokens=request.prompt_tokens,
            max_tokens=request.max_tokens,
            deadline=self.now + request.patience_s,
            arrived_at=self.now,
            prefix=request.prefix,
        )
        self._submit(Progress(request=request, work=work))

    def _submit(self, progress: Progress) -> None:
        refusal = self._scheduler.submit(progress.work, self.now)
        if refusal is None:
            self._progress[progress.work.id] = progress
        else:
            self.ends.refused[progress.request.tier] += 1
            self.ends.told_starting += refusal.code == "capacity_starting"

    def _happen(self) -> None:
        _, _, kind, name = heapq.heappop(self._events)
        if kind == "step" and name in self._busy:
            self._end_step(name)
        elif kind == "die":
            self._dead[name] = self._engines.pop(name)
            self._busy.discard(name)
        elif kind == "gone":
            for work in self._scheduler.remove_replica(name, self.now):
                self._lose(self._progress.pop(work.id), self._dead[name])
        elif kind == "announce" and self._announced is not None:
            gate, ready_at = self._announced
            gate.capacity_starting(ready_at)
        elif kind == "join":
            self._join(name)

    def _obey(self, decisions: Decisions) -> None:
        for work, name in decisions.starts:
            progress = self._progress[work.id]
            progress.replica = name
            if (engine := self._engines.get(name)) is not None:
                engine.add(
                    work.id,
                    prompt_tokens=work.prompt_tokens,
                    output_tokens=progress.request.output_tokens - progress.written,
                    prefix=work.prefix,
                )
                self._begin_step(name)
        for work in decisions.expired:
            progress = self._progress.pop(work.id)
            self.ends.expired[work.tier] += 1
            self.ends.late[work.tier] += self.now > work.deadline and progress.first_token_at is None

    def _begin_step(self, name: str) -> None:
        engine = self._engines[name]
        if name in self._busy:
            return
        seconds = engine.begin_step()
        if seconds is not None:
            self._busy.add(name)
            if engine.writing:
                self.gaps.append((seconds, engine.writing))
            self._schedule(self.now + seconds, "step", name)

    def _end_step(self, name: str) -> None:
        self._busy.discard(name)
        outcome = self._engines[name].end_step()
        for work_id in outcome.first:
            self._note_first_token(self._progress[work_id])
        written = len(outcome.first) + len(outcome.more)
        self.ends.output_tokens += written
        second = int(self.now)
        self.tokens_by_second[second] = self.tokens_by_second.get(second, 0) + written
        for work_id in outcome.finished:
            progress = self._progress.pop(work_id)
            self.ends.finished[progress.request.tier] += 1
            self._scheduler.finish(work_id, progress.request.output_tokens - progress.written, self.now)
        self._begin_step(name)

    def _note_first_token(self, progress: Progress) -> None:
        self._scheduler.first_token(progress.work.id, self.now)
        if progress.first_token_at is not None:
            return
        request = progress.request
        progress.first_token_at = self.now
        self.ends.first_token_s[request.tier].append(self.now - request.at)
        self.ends.by_key.setdefault(request.key, []).append(self.now - request.at)
        self.ends.late[request.tier] += self.now > request.at + request.patience_s

    def _lose(self, progress: Progress, engine: TokenEngine) -> None:
        if not self._survives_loss:
            self.ends.failed[progress.request.tier] += 1
            return
        progress.written += engine.written(progress.work.id)
        self.ends.continued += progress.first_token_at is not None
        progress.work = replace(
            progress.work,
            id=str(next(self._numbers)),
            prompt_tokens=progress.request.prompt_tokens + progress.written,
            max_tokens=progress.request.max_tokens - progress.written,
            avoid=progress.work.avoid | {progress.replica or ""},
            deadline=max(progress.work.deadline, self.now + progress.request.patience_s),
            resumed=True,
        )
        self._submit(progress)
