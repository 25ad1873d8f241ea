"""When requests come, and from whom."""

import bisect
import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from inference_backend.tiers import Tier

MIX: Mapping[Tier, float] = {"internal": 0.1, "pro": 0.3, "free": 0.6}


@dataclass(frozen=True, kw_only=True, slots=True)
class Phase:
    """`duration_s` of Poisson arrivals at `rate` a second, or at one that moves in a straight line to `end_rate`."""

    duration_s: float
    rate: float
    end_rate: float | None = None

    def rate_after(self, elapsed_s: float) -> float:
        if self.end_rate is None:
            return self.rate
        return self.rate + (self.end_rate - self.rate) * elapsed_s / self.duration_s


def duration_of(phases: Sequence[Phase]) -> float:
    return sum(phase.duration_s for phase in phases)


def poisson_arrivals(
    phases: Sequence[Phase], *, mix: Mapping[Tier, float] = MIX, seed: int = 0
) -> Iterator[tuple[float, Tier]]:
    """(time in s, tier) in order, the same for the same seed.

    A changing rate is drawn by thinning (Lewis and Shedler 1979).
    """
    numbers = random.Random(seed)  # noqa: S311 - repeatable on purpose
    tiers, shares = list(mix), list(itertools.accumulate(mix.values()))
    last = len(tiers) - 1
    begin = 0.0
    for phase in phases:
        highest = max(phase.rate, phase.end_rate or 0.0)
        elapsed = numbers.expovariate(highest) if highest else phase.duration_s
        while elapsed < phase.duration_s:
            if phase.end_rate is None or numbers.random() * highest < phase.rate_after(elapsed):
                yield begin + elapsed, tiers[bisect.bisect(shares, numbers.random() * shares[-1], 0, last)]
            elapsed += numbers.expovariate(highest)
        begin += phase.duration_s
