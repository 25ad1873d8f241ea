"""What one replica can take at once, and what it has taken: places, KV cache and prompts still being read."""

import math
from collections.abc import Iterable

from inference_backend.scheduling.affinity import PrefixMemory
from inference_backend.scheduling.rates import MeasuredPace
from inference_backend.scheduling.work import Work


class Running:
    """`kv_tokens` and `prefill_tokens` are what it holds; `prefill_tokens` falls to 0 with its first token."""

    __slots__ = ("budget", "first_token_at", "kv_tokens", "output_tokens", "prefill_tokens", "started_at", "work")

    def __init__(
        self,
        work: Work,
        budget: "ReplicaBudget",
        *,
        started_at: float,
        kv_tokens: int,
        prefill_tokens: int,
        output_tokens: int,
    ) -> None:
        self.work = work
        self.budget = budget
        self.started_at = started_at
        self.kv_tokens = kv_tokens
        self.prefill_tokens = prefill_tokens
        self.output_tokens = output_tokens
        self.first_token_at: float | None = None


class ReplicaBudget:
    """Tokens throughout. A prompt larger than a limit is let in where it is alone, since else it never would be.

    `headrooms`: the shares of everything that work of some tier leaves to others.
    """

    slots: int
    kv_tokens: int | None

    def __init__(
        self, name: str, *, prefill_portion: int, prefix_blocks: int, decode_s: float, headrooms: Iterable[float]
    ) -> None:
        self.name = name
        self.running: dict[str, Running] = {}
        self.kv_used = 0
        self.prefill_tokens = 0
        self.prefix = PrefixMemory(prefix_blocks)
        self.decode = MeasuredPace(decode_s)
        self.is_draining = False
        self.held_for: str | None = None
        self.last_start = 0
        self._prefill_portion = prefill_portion
        self._output_tokens = 0
        # Slots, prompt tokens and KV tokens, as far as each may go. Looked at several times for each request.
        self._limits: dict[float, tuple[int, float, float]] = dict.fromkeys(headrooms, (0, 0.0, 0.0))

    def limit(self, *, slots: int, kv_tokens: int | None) -> None:
        """Raises ValueError. What runs already keeps what it has."""
        if slots < 1 or (kv_tokens is not None and kv_tokens < 1):
            raise ValueError(f"{self.name}: slots and kv_tokens must be above 0")
        self.slots = slots
        self.kv_tokens = kv_tokens
        for headroom in self._limits:
            # Reading is what newcomers wait for, so whoever leaves anything to others leaves half of it.
            portion = self._prefill_portion / 2 if headroom else self._prefill_portion
            kv_limit = math.inf if kv_tokens is None else kv_tokens * (1 - headroom)
            self._limits[headroom] = (slots - int(headroom * slots), portion, kv_limit)

    def places(self, headroom: float) -> int:
        """Slots of a replica that takes work."""
        return 0 if self.is_draining else self._limits[headroom][0]

    def is_open_to(self, headroom: float) -> bool:
        """Whether work that leaves this share to others could start now."""
        slots, portion, kv_limit = self._limits[headroom]
        return (
            len(self.running) < slots
            and (self.prefill_tokens < portion or not self.prefill_tokens)
            and (self.kv_used < kv_limit or not self.kv_used)
            and not self.is_draining
        )

    def uncached_tokens(self, work: Work) -> int:
        if not work.prefix:
            return work.prompt_tokens
        share = self.prefix.matched(work.prefix) / len(work.prefix)
        return max(1, round(work.prompt_tokens * (1 - share)))

    def fits(self, work: Work, *, uncached_tokens: int, headroom: float) -> bool:
        """Of a replica that is open to it."""
        if self.name in work.avoid or (self.held_for is not None and self.held_for != work.id):
            return False
        _, portion, kv_limit = self._limits[headroom]
        if self.prefill_tokens and self.prefill_tokens + uncached_tokens > portion:
            return False
        return not self.kv_used or self.kv_used + self._kv_need(work) <= kv_limit

    def busy_s(self, prefill_s_per_token: float) -> float:
        """Until everything that it has is done: prompts one after the other, answers side by side in its places."""
        decode_s = self._output_tokens * self.decode.s_per_token / self.slots
        return self.prefill_tokens * prefill_s_per_token + decode_s

    def start(self, work: Work, *, uncached_tokens: int, output_tokens: int, now: float) -> Running:
        running = Running(
            work,
            self,
            started_at=now,
            kv_tokens=self._kv_need(work),
            prefill_tokens=uncached_tokens,
            output_tokens=output_tokens,
        )
        self.running[work.id] = running
        self.kv_used += running.kv_tokens
        self.prefill_tokens += running.prefill_tokens
        self._output_tokens += running.output_tokens
        if work.prefix:
            self.prefix.remember(work.prefix)
        return running

    def end_prefill(self, running: Running) -> None:
        self.prefill_tokens -= running.prefill_tokens
        running.prefill_tokens = 0

    def end(self, running: Running) -> None:
        if running.prefill_tokens:
            self.end_prefill(running)
        self.kv_used -= running.kv_tokens
        self._output_tokens -= running.output_tokens
        del self.running[running.work.id]

    def _kv_need(self, work: Work) -> int:
        need = work.prompt_tokens + work.max_tokens
        return need if self.kv_tokens is None else min(need, self.kv_tokens)
