"""The limits of each tier, from the tables `[tiers.<tier>]` of the configuration file.

requests_per_minute, input_tokens_per_minute, output_tokens_per_minute, concurrency
    of one account. Without a table they are wide enough for any one person's use of one machine, and only stop a
    program that has run away.
delay_low_ms, delay_high_ms, limit_floor
    between these expected waits in the queue of a token engine the limits shrink down to `limit_floor` of themselves,
    and the queue itself turns more and more requests of this tier away.
without_store = "local" | "refuse"
    while the store is down: every process counts for itself, so that an account gets up to its limits once for each
    process, or nobody of this tier is served.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from inference_backend.limits.bucket import Rate
from inference_backend.limits.tightening import Tightening
from inference_backend.scheduling.token import TOKEN_ENGINE_BANDS
from inference_backend.settings import SettingsError
from inference_backend.tiers import TIERS, Tier

KEYS = frozenset(
    {
        "requests_per_minute",
        "input_tokens_per_minute",
        "output_tokens_per_minute",
        "concurrency",
        "delay_low_ms",
        "delay_high_ms",
        "limit_floor",
        "without_store",
    }
)
WithoutStore = Literal["local", "refuse"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TierLimits:
    requests: Rate
    input_tokens: Rate
    output_tokens: Rate
    concurrency: int
    tightening: Tightening
    without_store: WithoutStore = "local"

    def scaled(self, factor: float) -> tuple[Rate, Rate, Rate]:
        if factor == 1.0:
            return self.rates
        return (self.requests.scaled(factor), self.input_tokens.scaled(factor), self.output_tokens.scaled(factor))

    @property
    def rates(self) -> tuple[Rate, Rate, Rate]:
        return (self.requests, self.input_tokens, self.output_tokens)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Default:
    requests: int
    input_tokens: int
    output_tokens: int
    concurrency: int


_DEFAULTS: Mapping[Tier, _Default] = {
    "free": _Default(requests=60_000, input_tokens=60_000_000, output_tokens=30_000_000, concurrency=1_000),
    "pro": _Default(requests=120_000, input_tokens=120_000_000, output_tokens=60_000_000, concurrency=2_000),
    "internal": _Default(requests=600_000, input_tokens=600_000_000, output_tokens=300_000_000, concurrency=10_000),
}


def read_tier_limits(document: Mapping[str, Any]) -> dict[Tier, TierLimits]:
    """Limits of every tier, from the loaded configuration file. Raises SettingsError naming table and field."""
    tables = document.get("tiers", {})
    if not isinstance(tables, Mapping):
        raise SettingsError("[tiers] must hold tables such as [tiers.free]")
    for name in tables:
        if name not in TIERS:
            raise SettingsError(f"[tiers.{name}]: there are the tiers {', '.join(TIERS)}")
    return {tier: _read_tier(tier, tables.get(tier, {})) for tier in TIERS}


def _read_tier(tier: Tier, table: object) -> TierLimits:
    if not isinstance(table, Mapping):
        raise SettingsError(f"[tiers.{tier}] must be a table")
    if unknown := sorted(table.keys() - KEYS):
        raise SettingsError(f"[tiers.{tier}] {unknown[0]} is not known; there are {', '.join(sorted(KEYS))}")
    default = _DEFAULTS[tier]

    def number(name: str, otherwise: float, *, least: float) -> float:
        value = table.get(name, otherwise)
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < 1e15:
            raise SettingsError(f"[tiers.{tier}] {name} must be a number of at least {least:g}, not {value!r}")
        return float(value)

    band = TOKEN_ENGINE_BANDS[tier]
    low_s = number("delay_low_ms", band.low_s * 1000, least=0) / 1000
    high_s = number("delay_high_ms", band.high_s * 1000, least=0) / 1000
    if low_s >= high_s:
        raise SettingsError(f"[tiers.{tier}] delay_low_ms must be below delay_high_ms")
    floor = number("limit_floor", 0.1, least=0.001)
    if floor > 1:
        raise SettingsError(f"[tiers.{tier}] limit_floor must be at most 1")
    return TierLimits(
        requests=Rate(per_minute=number("requests_per_minute", default.requests, least=1)),
        input_tokens=Rate(per_minute=number("input_tokens_per_minute", default.input_tokens, least=1)),
        output_tokens=Rate(per_minute=number("output_tokens_per_minute", default.output_tokens, least=1)),
        concurrency=int(number("concurrency", default.concurrency, least=1)),
        tightening=Tightening(low_s=low_s, high_s=high_s, floor=floor),
        without_store=_read_without_store(tier, table),
    )


def _read_without_store(tier: Tier, table: Mapping[str, Any]) -> WithoutStore:
    value = table.get("without_store", "local")
    if value not in get_args(WithoutStore):
        raise SettingsError(f'[tiers.{tier}] without_store must be "local" or "refuse", not {value!r}')
    return cast("WithoutStore", value)
