"""What a simulation came to, and how it is shown."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from inference_backend.tiers import TIERS, Tier

COLUMNS = ("offered", "answered", "in time", "refused", "p50 ms", "p99 ms", "worst ms")


def percentile(ordered: Sequence[float], share: float) -> float:
    """The least value that `share` of them do not exceed; NaN without any."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else math.nan


@dataclass(frozen=True, kw_only=True, slots=True)
class TierFigures:
    """Counts and, of those answered, seconds from arrival to answer. `in_time`: within the bound asked for."""

    offered: int
    answered: int
    in_time: int
    refused: int
    expired: int
    failed: int
    p50_s: float
    p99_s: float
    worst_s: float

    @classmethod
    def of(
        cls, latencies: Sequence[float], *, bound_s: float, refused: int = 0, expired: int = 0, failed: int = 0
    ) -> "TierFigures":
        ordered = sorted(latencies)
        return cls(
            offered=len(ordered) + refused + expired + failed,
            answered=len(ordered),
            in_time=sum(latency <= bound_s for latency in ordered),
            refused=refused,
            expired=expired,
            failed=failed,
            p50_s=percentile(ordered, 0.50),
            p99_s=percentile(ordered, 0.99),
            worst_s=ordered[-1] if ordered else math.nan,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """One run. `others` are further numbers by name (unit in the name)."""

    everybody: TierFigures
    tiers: Mapping[Tier, TierFigures]
    others: Mapping[str, float]


class Scenario(Protocol):
    """A named situation. `controlled`: with admission by tier; otherwise one queue, first come, first served."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    def run(self, *, seed: int, controlled: bool) -> Figures: ...


def compare(scenario: Scenario, *, seed: int) -> dict[str, Figures]:
    return {
        "with control": scenario.run(seed=seed, controlled=True),
        "without": scenario.run(seed=seed, controlled=False),
    }


def table(scenario: Scenario, runs: Mapping[str, Figures]) -> str:
    """Lines of text: one a tier and run, so that the same tier with and without control stand below each other."""
    lines = [f"{scenario.name}: {scenario.title}", f"  {'':22}" + "".join(f"{name:>10}" for name in COLUMNS)]
    rows = [("everybody", run, figures.everybody) for run, figures in runs.items()]
    rows += [(tier, run, figures.tiers[tier]) for tier in reversed(TIERS) for run, figures in runs.items()]
    for name, run, row in rows:
        if row.offered:
            lines.append(f"  {name:9} {run:12}" + "".join(f"{cell:>10}" for cell in cells(row)))
    for run, figures in runs.items():
        others = ", ".join(f"{name} {value:.3g}" for name, value in figures.others.items())
        lines.append(f"  {'':9} {run:12}  {others}")
    return "\n".join(lines) + "\n"


def cells(row: TierFigures) -> tuple[str, ...]:
    shares = (f"{100 * count / row.offered:.2f} %" for count in (row.answered, row.in_time, row.refused))
    times = ("-" if math.isnan(value) else f"{1000 * value:.0f}" for value in (row.p50_s, row.p99_s, row.worst_s))
    return (str(row.offered), *shares, *times)
