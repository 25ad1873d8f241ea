"""Situations of a model on four token engines. The times shown are those to the first token."""

import dataclasses
import heapq
import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from inference_backend.scheduling.token import TokenPolicy, TokenScheduler, token_gate
from inference_backend.simulation.arrivals import Phase
from inference_backend.simulation.report import Figures
from inference_backend.simulation.token_engine import TokenCost
from inference_backend.simulation.token_pool import RoundRobin, TokenPoolSimulation
from inference_backend.simulation.token_traffic import PATIENCE_S, Request, Traffic
from inference_backend.tiers import Tier

REPLICAS = 4
BOUND_S = 2.0
# The queue and the measured rates need this long to settle.
SETTLING_S = 20.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Burst:
    """`count` requests of one account at once, at `at_s` and, where given, each `every_s` after it."""

    at_s: float
    count: int
    tier: Tier = "pro"
    key: str = "burst"
    prompt_tokens: int = 250
    output_tokens: int = 120
    every_s: float | None = None

    def requests(self, until_s: float) -> Iterator[Request]:
        times = itertools.count(self.at_s, self.every_s) if self.every_s else iter((self.at_s,))
        for at in itertools.takewhile(lambda at: at < until_s, times):
            for _ in range(self.count):
                yield Request(
                    at=at,
                    tier=self.tier,
                    key=self.key,
                    prompt_tokens=self.prompt_tokens,
                    output_tokens=self.output_tokens,
                    max_tokens=1024,
                    patience_s=PATIENCE_S[self.tier],
                )


@dataclass(frozen=True, kw_only=True, slots=True)
class Outage:
    """Seconds from the start."""

    replica: str
    from_s: float
    to_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Surge:
    """From `at_s` on another load for `duration_s`; `count` engines are ordered then and ready `ready_s` later."""

    at_s: float
    duration_s: float
    load: float
    count: int
    ready_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenScenario:
    """`load`: rate of requests as a share of the highest that four engines can keep up with, see capacity_per_s."""

    name: str
    title: str
    load: float
    duration_s: float = 120.0
    bursts: tuple[Burst, ...] = ()
    outages: tuple[Outage, ...] = ()
    surge: Surge | None = None
    cost: TokenCost = field(default_factory=TokenCost)
    policy: TokenPolicy = field(default_factory=TokenPolicy)

    @property
    def end_s(self) -> float:
        """When the last request comes."""
        return self.duration_s if self.surge is None else self.surge.at_s + self.surge.duration_s

    def run(self, *, seed: int, controlled: bool) -> Figures:
        """Without control requests go to the replicas in turn and wait there; one that dies takes all with it."""
        gate = token_gate()
        scheduler = TokenScheduler(gate=gate, policy=self.policy) if controlled else RoundRobin()
        simulation = TokenPoolSimulation(scheduler, cost=self.cost, replicas=REPLICAS, survives_loss=controlled)
        for outage in self.outages:
            simulation.kill(outage.replica, at=outage.from_s)
            simulation.revive(outage.replica, at=outage.to_s)
        if self.surge is not None:
            ready_at = self.surge.at_s + self.surge.ready_s
            simulation.announce(gate, at=self.surge.at_s, ready_at=ready_at)
            for number in range(self.surge.count):
                simulation.revive(f"gpu-{REPLICAS + number}", at=ready_at)
        simulation.run(self._requests(seed))
        bursts = {burst.key for burst in self.bursts}
        others = {
            "settled_tokens_per_s": simulation.tokens_per_s(SETTLING_S, self.end_s),
            "continued": float(simulation.ends.continued),
        }
        if bursts:
            keys = simulation.ends.by_key.keys()
            others["others_p99_ms"] = 1000 * simulation.percentile_of_keys(keys - bursts, 0.99)
            others["bursts_p99_ms"] = 1000 * simulation.percentile_of_keys(bursts, 0.99)
        return simulation.figures(BOUND_S, **others)

    def _requests(self, seed: int) -> Iterator[Request]:
        capacity = capacity_per_s(self.cost)
        phases = [Phase(duration_s=self.duration_s, rate=self.load * capacity)]
        if self.surge is not None:
            phases = [
                Phase(duration_s=self.surge.at_s, rate=self.load * capacity),
                Phase(duration_s=self.surge.duration_s, rate=self.surge.load * capacity),
            ]
        steady = Traffic().requests(phases, seed=seed)
        extra = (burst.requests(self.end_s) for burst in self.bursts)
        return heapq.merge(steady, *extra, key=lambda request: request.at)


def capacity_tokens_per_s(cost: TokenCost) -> float:
    """Output tokens a second with every place taken and no end of work: what the engines can do at most."""
    simulation = TokenPoolSimulation(RoundRobin(), cost=cost, replicas=REPLICAS)
    simulation.run(_endless_work())
    return simulation.tokens_per_s(SETTLING_S, 60.0)


@cache
def capacity_per_s(cost: TokenCost) -> float:
    """Requests a second of the standard traffic."""
    return capacity_tokens_per_s(cost) / _mean_output_tokens()


def _endless_work() -> Iterator[Request]:
    traffic, numbers = Traffic(), random.Random(7)  # noqa: S311 - repeatable on purpose
    for _ in range(4000):
        yield traffic.draw(0.0, "free", "everybody", numbers)


def _mean_output_tokens() -> float:
    requests: Sequence[Request] = list(_endless_work())
    return sum(request.output_tokens for request in requests) / len(requests)


WHOLE_PROMPTS = dataclasses.replace(TokenCost(), chunk_tokens=None)

SCENARIOS = (
    TokenScenario(name="tokens-quiet", title="4 token engines, 2 % load", load=0.02, duration_s=700),
    TokenScenario(name="tokens-busy", title="4 token engines, 85 % load", load=0.85, duration_s=240),
    TokenScenario(name="tokens-overload", title="4 token engines, 150 % load", load=1.5, duration_s=240),
    TokenScenario(
        name="long-prompts",
        title="Engines that read prompts whole, 40 % load; 40 prompts of 1,500 tokens at once each 10 s",
        load=0.4,
        bursts=(Burst(at_s=5, count=40, prompt_tokens=1500, output_tokens=20, every_s=10),),
        cost=WHOLE_PROMPTS,
    ),
    TokenScenario(
        name="replica-dies",
        title="4 token engines, 65 % load; one dies after 40 s and is back 40 s later",
        load=0.65,
        outages=(Outage(replica="gpu-1", from_s=40, to_s=80),),
    ),
    TokenScenario(
        name="one-account-floods",
        title="4 token engines, 60 % load; one of the free accounts sends 600 requests at once",
        load=0.6,
        bursts=(Burst(at_s=30, count=600, tier="free"),),
    ),
    TokenScenario(
        name="tokens-warm-up",
        title="4 token engines, 60 % load, then three times as much; 4 more engines, ordered then, take 4 minutes",
        load=0.6,
        surge=Surge(at_s=60, duration_s=300, load=1.8, count=4, ready_s=240),
    ),
)
