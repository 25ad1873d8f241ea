"""Prompts and answers of made-up callers: how long, from whom, and how often the same beginning."""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from inference_backend.simulation.arrivals import MIX, Phase, poisson_arrivals
from inference_backend.tiers import Tier

#: Seconds that each tier waits for its first token.
PATIENCE_S: Mapping[Tier, float] = {"free": 10.0, "pro": 30.0, "internal": 60.0}


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """Sizes in tokens. `output_tokens` is what nobody knows before: where the answer ends."""

    at: float
    tier: Tier
    key: str
    prompt_tokens: int
    output_tokens: int
    max_tokens: int
    patience_s: float
    prefix: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """Log-normal, cut to a range: median, spread of the logarithm, least, most."""

    median: float
    sigma: float
    least: int
    most: int

    def draw(self, numbers: random.Random) -> int:
        return min(self.most, max(self.least, round(numbers.lognormvariate(math.log(self.median), self.sigma))))


@dataclass(frozen=True, kw_only=True, slots=True)
class Traffic:
    """`keys` accounts in each tier."""

    prompts: Sizes = field(default_factory=lambda: Sizes(median=250, sigma=1.0, least=16, most=4000))
    outputs: Sizes = field(default_factory=lambda: Sizes(median=120, sigma=0.7, least=8, most=800))
    max_tokens: int = 1024
    keys: int = 20
    mix: Mapping[Tier, float] = field(default_factory=lambda: MIX)

    def requests(self, phases: Sequence[Phase], *, seed: int) -> Iterator[Request]:
        """In order of arrival, the same for the same seed."""
        numbers = random.Random(seed + 1)  # noqa: S311 - repeatable on purpose
        for at, tier in poisson_arrivals(phases, mix=self.mix, seed=seed):
            yield self.draw(at, tier, f"{tier}-{numbers.randrange(self.keys)}", numbers)

    def draw(self, at: float, tier: Tier, key: str, numbers: random.Random) -> Request:
        return Request(
            at=at,
            tier=tier,
            key=key,
            prompt_tokens=self.prompts.draw(numbers),
            output_tokens=self.outputs.draw(numbers),
            max_tokens=self.max_tokens,
            patience_s=PATIENCE_S[tier],
        )
