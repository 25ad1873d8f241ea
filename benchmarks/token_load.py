"""A token scheduler under as much work as its replicas can do, for measuring what its decisions cost."""

from __future__ import annotations

import time
from collections import deque

from inference_backend.scheduling.delay_gate import Band
from inference_backend.scheduling.token import TokenPolicy, TokenScheduler, token_gate
from inference_backend.scheduling.work import Work
from inference_backend.tiers import TIERS

REPLICAS, SLOTS, ACCOUNTS = 8, 32, 1000
PROMPT_TOKENS, MAX_TOKENS, OUTPUT_TOKENS = 200, 400, 120
ANSWER_S = 3.0
#: So wide that nobody is refused: the queue is to stay as long as it is.
WIDE = {tier: Band(low_s=1e6, high_s=2e6) for tier in TIERS}


class TokenLoad:
    """8 replicas of 32 places, all taken, and a queue of the given length from 1,000 accounts in three tiers.

    Each step is one request's whole life: one arrives, one ends, and the place goes to one, whose first token comes.
    """

    def __init__(self, waiting: int) -> None:
        self.now = 1000.0
        self.scheduler = TokenScheduler(gate=token_gate(WIDE), policy=TokenPolicy(most_waiting=10**6))
        for replica in range(REPLICAS):
            self.scheduler.add_replica(f"gpu-{replica}", slots=SLOTS, kv_tokens=None, now=self.now)
        self._next = 0
        self._running: deque[str] = deque()
        self._coming: deque[Work] = deque()
        for _ in range(REPLICAS * SLOTS + waiting):
            self._submit(self._work())

    def prepare(self, steps: int) -> None:
        """The requests of so many steps: to make them is not the scheduler's work."""
        self._coming.extend(self._work() for _ in range(steps))

    def step(self) -> None:
        self._arrive()
        self._end_one()

    def timed_step(self) -> float:
        """Seconds of processor time of the submission with its poll."""
        began = time.thread_time()
        self._arrive()
        took = time.thread_time() - began
        self._end_one()
        return took

    def cancel_in_the_middle(self) -> float:
        """Seconds to take one out of the queue; it is put back at the end, so that the length stays."""
        # Free work, which waits longest; every third is.
        number = self._next - max(1, sum(self.scheduler.snapshot().waiting.values()) // 2)
        began = time.thread_time()
        self.scheduler.cancel(str(number - number % 3), self.now)
        took = time.thread_time() - began
        self._submit(self._work())
        return took

    def _arrive(self) -> None:
        self.now += ANSWER_S / (REPLICAS * SLOTS)
        self._submit(self._coming.popleft())

    def _end_one(self) -> None:
        self.scheduler.finish(self._running.popleft(), OUTPUT_TOKENS, self.now)
        self._poll()

    def _work(self) -> Work:
        number = self._next
        self._next += 1
        return Work(
            id=str(number),
            tier=TIERS[number % 3],
            key=str(number * 7919 % ACCOUNTS),
            prompt_tokens=PROMPT_TOKENS,
            max_tokens=MAX_TOKENS,
            deadline=self.now + 1e6 + number % 997,
            arrived_at=self.now,
        )

    def _submit(self, work: Work) -> None:
        self.scheduler.submit(work, self.now)
        self._poll()

    def _poll(self) -> None:
        starts = self.scheduler.poll(self.now).starts
        while starts:
            for work, _ in starts:
                self._running.append(work.id)
                self.scheduler.first_token(work.id, self.now)
            starts = self.scheduler.poll(self.now).starts
