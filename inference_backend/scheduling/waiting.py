"""The waiting line in front of a pool of token engines.

Order: work that lost its replica; then, in one of `aged_every` starts, the oldest of a lower tier once it has waited
`age_s`; then tier by tier, and inside a tier in fair order between keys, first come first served for each key.

Fair order is start-time fair queueing (Goyal, Vin, Cheng 1996) in estimated seconds of place: the start tag of a key's
next request is max(virtual time, start tag of its last one + the cost of that), the lowest tag is served, and virtual
time is the tag of what was served last. A key with 200 requests waiting therefore delays the first of another by one.
"""

import heapq
import math
from collections import OrderedDict
from collections.abc import Collection, Generator, Mapping
from contextlib import closing
from itertools import count, islice

from inference_backend.scheduling.deadlines import DeadlineWheel
from inference_backend.scheduling.work import Work
from inference_backend.tiers import TIERS, Tier

# Cancelled entries stay in a heap until they come up, or until they outnumber the others by this much.
SPARE_ENTRIES = 64
# All work of a replica that died avoids it. When it is back, this must not keep everybody else from it.
RESUMED_OFFERED = 3


class Entry:
    """`latest_start`: later than this its deadline is lost. `passed`: how often later work fitted and it did not."""

    __slots__ = ("cost_s", "latest_start", "output_tokens", "passed", "queued_at", "work")

    def __init__(self, work: Work, *, output_tokens: int, cost_s: float, queued_at: float, latest_start: float) -> None:
        self.work = work
        self.output_tokens = output_tokens
        self.cost_s = cost_s
        self.queued_at = queued_at
        self.latest_start = latest_start
        self.passed = 0


class Flow:
    """The waiting requests of one key. `ticket` marks its one valid entry in the heap of its line."""

    __slots__ = ("cost_s", "entries", "key", "start_tag", "ticket")

    def __init__(self, key: str, start_tag: float) -> None:
        self.key = key
        self.start_tag = start_tag
        self.cost_s = 0.0
        self.entries: OrderedDict[str, Entry] = OrderedDict()
        self.ticket = -1

    def add(self, entry: Entry) -> None:
        self.entries[entry.work.id] = entry
        self.cost_s += entry.cost_s

    def remove(self, entry: Entry) -> None:
        del self.entries[entry.work.id]
        self.cost_s -= entry.cost_s


class TierLine:
    """What waits in one tier. Each operation is O(log n) in the number of keys waiting."""

    def __init__(self) -> None:
        self.resumed: OrderedDict[str, Entry] = OrderedDict()
        self.arrivals: OrderedDict[str, Entry] = OrderedDict()
        self.prompt_tokens = 0
        self.output_tokens = 0
        self.cost_s = 0.0
        self._flows: dict[str, Flow] = {}
        self._heap: list[tuple[float, int, Flow]] = []
        self._tickets = count()
        self._virtual = 0.0
        # Keys without waiting work that are still ahead of virtual time: else leaving and coming back would pay.
        self._ahead: dict[str, float] = {}
        self._ahead_heap: list[tuple[float, str]] = []

    def __len__(self) -> int:
        return len(self.arrivals) + len(self.resumed)

    def share_ahead_of(self, key: str) -> float:
        """How much is served before a new request of this key, as a multiple of all that waits here now.

        Of each key that waits: as much as this one is ahead of virtual time, and one request. Above 1 for a key that
        takes more than its share: the others go first also with what is still to come.
        """
        if not self.arrivals or self.cost_s <= 0.0:
            return 0.0
        flow = self._flows.get(key)
        tag = flow.start_tag + flow.cost_s if flow else self._ahead.get(key, self._virtual)
        mean_s = self.cost_s / len(self)
        return len(self._flows) * (max(0.0, tag - self._virtual) + mean_s) / self.cost_s

    def add(self, entry: Entry) -> None:
        work = entry.work
        self.prompt_tokens += work.prompt_tokens
        self.output_tokens += entry.output_tokens
        self.cost_s += entry.cost_s
        if work.resumed:
            self.resumed[work.id] = entry
            return
        self.arrivals[work.id] = entry
        flow = self._flows.get(work.key)
        if flow is None:
            flow = Flow(work.key, max(self._virtual, self._ahead.pop(work.key, 0.0)))
            self._flows[work.key] = flow
            self._push(flow)
        flow.add(entry)

    def remove(self, entry: Entry) -> None:
        """It leaves without having been served, so its key pays nothing."""
        self._forget(entry)
        if not entry.work.resumed:
            flow = self._flows[entry.work.key]
            flow.remove(entry)
            if not flow.entries:
                self._retire(flow)
        self._settle()

    def take(self, entry: Entry, cost_s: float) -> None:
        """It is served: its key pays, and virtual time moves on if it was that key's turn.

        `cost_s` is what it is thought to cost now: estimates change while work waits, and all keys pay by the same one.
        """
        self._forget(entry)
        if entry.work.resumed:
            return
        flow = self._flows[entry.work.key]
        if self._heap and self._heap[0][2] is flow:
            self._virtual = max(self._virtual, flow.start_tag)
        flow.start_tag = max(self._virtual, flow.start_tag) + cost_s
        flow.remove(entry)
        if flow.entries:
            self._push(flow)
        else:
            self._retire(flow)
        self._settle()

    def fair_head(self) -> Entry | None:
        while self._heap:
            _, ticket, flow = self._heap[0]
            if ticket == flow.ticket:
                return next(iter(flow.entries.values()))
            heapq.heappop(self._heap)
        return None

    def fair_heads(self) -> Generator[Entry]:
        """The next of each key, in fair order. Whoever takes one stops the iteration and closes it."""
        passed: list[tuple[float, int, Flow]] = []
        try:
            while (head := self.fair_head()) is not None:
                yield head
                passed.append(heapq.heappop(self._heap))
        finally:
            for item in passed:
                heapq.heappush(self._heap, item)

    def _push(self, flow: Flow) -> None:
        flow.ticket = next(self._tickets)
        heapq.heappush(self._heap, (flow.start_tag, flow.ticket, flow))

    def _retire(self, flow: Flow) -> None:
        flow.ticket = -1
        del self._flows[flow.key]
        if flow.start_tag > self._virtual:
            self._ahead[flow.key] = flow.start_tag
            heapq.heappush(self._ahead_heap, (flow.start_tag, flow.key))

    def _forget(self, entry: Entry) -> None:
        self.prompt_tokens -= entry.work.prompt_tokens
        self.output_tokens -= entry.output_tokens
        self.cost_s -= entry.cost_s
        del (self.resumed if entry.work.resumed else self.arrivals)[entry.work.id]

    def _settle(self) -> None:
        if not self._flows:
            # Nobody waits, so nobody was treated unfairly: the account of shares starts afresh.
            self._virtual = 0.0
            self.cost_s = sum(entry.cost_s for entry in self.resumed.values())
            self._heap.clear()
            self._ahead.clear()
            self._ahead_heap.clear()
            return
        if len(self._heap) > 2 * len(self._flows) + SPARE_ENTRIES:
            self._heap = [item for item in self._heap if item[1] == item[2].ticket]
            heapq.heapify(self._heap)
        if self._ahead_heap:
            self._forget_caught_up()

    def _forget_caught_up(self) -> None:
        while self._ahead_heap and self._ahead_heap[0][0] <= self._virtual:
            tag, key = heapq.heappop(self._ahead_heap)
            if self._ahead.get(key) == tag:
                del self._ahead[key]
        if len(self._ahead_heap) > 2 * len(self._ahead) + SPARE_ENTRIES:
            self._ahead_heap = [(tag, key) for key, tag in self._ahead.items()]
            heapq.heapify(self._ahead_heap)


class WaitingLine:
    """All tiers. `age_s` names the tiers that rise and after how many seconds of waiting. `entries`: by id of work."""

    def __init__(self, *, age_s: Mapping[Tier, float], aged_every: int) -> None:
        self.tiers = {tier: TierLine() for tier in TIERS}
        self._by_importance = tuple(reversed(TIERS))
        self._lines = tuple((tier, self.tiers[tier]) for tier in self._by_importance)
        self._resumed = 0
        # Before that time nothing has waited too long. Most decisions need not look closer.
        self._none_aged_before = -math.inf
        self._age_s = age_s
        self._aged_every = aged_every
        self._since_aged = aged_every
        self.entries: dict[str, Entry] = {}
        self._expiry: DeadlineWheel[str] = DeadlineWheel()

    def add(self, work: Work, *, output_tokens: int, cost_s: float, latest_start: float, now: float) -> None:
        entry = Entry(work, output_tokens=output_tokens, cost_s=cost_s, queued_at=now, latest_start=latest_start)
        self.entries[work.id] = entry
        self._resumed += work.resumed
        self.tiers[work.tier].add(entry)
        self._expiry.add(work.id, latest_start)

    def remove(self, work_id: str) -> Work | None:
        entry = self.entries.pop(work_id, None)
        if entry is None:
            return None
        self._resumed -= entry.work.resumed
        self._expiry.discard(work_id, entry.latest_start)
        self.tiers[entry.work.tier].remove(entry)
        return entry.work

    def take(self, entry: Entry, *, cost_s: float, goes_first: bool) -> None:
        """It starts. `goes_first`: as it was said when it was offered."""
        del self.entries[entry.work.id]
        self._resumed -= entry.work.resumed
        self._expiry.discard(entry.work.id, entry.latest_start)
        self._since_aged = 1 if goes_first and not entry.work.resumed else self._since_aged + 1
        self.tiers[entry.work.tier].take(entry, cost_s)

    def pop_expired(self, now: float) -> list[Work]:
        """At most TICK_S after their latest start."""
        due = self._expiry.pop_due(now)
        return [work for work_id in due if (work := self.remove(work_id)) is not None] if due else []

    def next_expiry(self) -> float | None:
        return self._expiry.next_at()

    def first(self, now: float, open_to: Mapping[Tier, Collection[object]]) -> tuple[Entry, bool] | None:
        """The first of `candidates`."""
        if self._resumed:
            lines = (line.resumed for _, line in self._lines if line.resumed)
            return next(iter(next(lines).values())), True
        if self._since_aged >= self._aged_every and now >= self._none_aged_before:
            aged = self._oldest_aged(now)
            if aged is not None:
                return aged, True
        for tier, line in self._lines:
            if line.arrivals and open_to[tier] and (head := line.fair_head()) is not None:
                return head, False
        return None

    def candidates(self, now: float, open_to: Mapping[Tier, Collection[object]]) -> Generator[tuple[Entry, bool]]:
        """In order of service, of tiers that a replica is open to, and of what goes first: entry, and whether it does.

        What waited too long may come twice. Closed by whoever takes one.
        """
        resumed = (entry for _, line in self._lines for entry in line.resumed.values())
        for entry in islice(resumed, RESUMED_OFFERED):
            yield entry, True
        if self._since_aged >= self._aged_every and (aged := self._oldest_aged(now)) is not None:
            yield aged, True
        for tier in self._by_importance:
            if open_to[tier]:
                with closing(self.tiers[tier].fair_heads()) as heads:
                    for entry in heads:
                        yield entry, False

    def _oldest_aged(self, now: float) -> Entry | None:
        """The oldest of the tier that is longest past its age."""
        if now < self._none_aged_before:
            return None
        aged: Entry | None = None
        first = math.inf
        for tier, age_s in self._age_s.items():
            oldest = next(iter(self.tiers[tier].arrivals.values()), None)
            if oldest is not None and oldest.queued_at + age_s < first:
                aged, first = oldest, oldest.queued_at + age_s
        # What comes later is aged later.
        self._none_aged_before = min(first, now + min(self._age_s.values(), default=math.inf))
        return aged if first <= now else None
