"""The last minutes of the service, sampled every SAMPLE_S, so that the page shows a past as soon as it is opened."""

import asyncio
import math
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from prometheus_client import Counter

from inference_backend.service import Service
from inference_backend.status.quantiles import Buckets, quantile, read_buckets
from inference_backend.tiers import TIERS, Tier

SAMPLE_S = 2.0
KEPT = 150
#: Quantiles are of this long, or a quiet minute would have none.
LOOK_BACK_S = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """`at`: seconds since 1970. Rates are of the time since the sample before; None where nothing was seen."""

    at: float
    waiting: dict[Tier, int]
    expected_wait_s: float | None
    running: int
    slots: int
    requests_per_s: float
    tokens_per_s: float
    shed_per_s: float
    first_token_p50_s: float | None
    first_token_p99_s: float | None
    token_gap_p99_s: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Reading:
    """Counters as they stood. `at` is shown; rates go by `monotonic_at`, which nobody sets back."""

    at: float
    monotonic_at: float
    requests: float
    tokens: float
    shed: float
    first_token: Buckets
    token_gap: Buckets


class History:
    def __init__(self, service: Service) -> None:
        self._service = service
        self._readings: deque[_Reading] = deque(maxlen=int(LOOK_BACK_S / SAMPLE_S))
        self._samples: deque[Sample] = deque(maxlen=KEPT)

    async def watch(self) -> None:
        """Until cancelled."""
        while True:
            self.take_sample()
            await asyncio.sleep(SAMPLE_S)

    def take_sample(self) -> None:
        now = self._read()
        if self._readings:
            self._samples.append(self._sample(self._readings[0], self._readings[-1], now))
        self._readings.append(now)

    def as_json(self) -> list[dict[str, Any]]:
        return [asdict(sample) for sample in self._samples]

    def _read(self) -> _Reading:
        metrics = self._service.metrics
        embeddings = sum(sum(model.pool.snapshot().refused.values()) for model in self._service.embeddings.all())
        return _Reading(
            at=time.time(),
            monotonic_at=time.monotonic(),
            requests=total(metrics.requests.answered),
            tokens=total(metrics.requests.tokens, direction="output"),
            shed=total(metrics.pools.shed) + total(metrics.limited) + embeddings,
            first_token=read_buckets(metrics.requests.first_token),
            token_gap=read_buckets(metrics.requests.token_gap),
        )

    def _sample(self, oldest: _Reading, last: _Reading, now: _Reading) -> Sample:
        elapsed = max(now.monotonic_at - last.monotonic_at, 1e-3)
        pools = [model.pool for model in self._service.fleet.models.values()]
        states = [pool.snapshot() for pool in pools]
        waits = [pool.expected_wait("pro") for pool in pools]
        return Sample(
            at=round(now.at, 1),
            waiting={tier: sum(state.waiting.get(tier, 0) for state in states) for tier in TIERS},
            expected_wait_s=finite(max(waits, default=0.0)),
            running=sum(state.running for state in states),
            slots=sum(use.slots for state in states for use in state.replicas if not use.is_draining),
            requests_per_s=round((now.requests - last.requests) / elapsed, 2),
            tokens_per_s=round((now.tokens - last.tokens) / elapsed, 2),
            shed_per_s=round(max(0.0, now.shed - last.shed) / elapsed, 2),
            first_token_p50_s=quantile(oldest.first_token, now.first_token, 0.5),
            first_token_p99_s=quantile(oldest.first_token, now.first_token, 0.99),
            token_gap_p99_s=quantile(oldest.token_gap, now.token_gap, 0.99),
        )


def finite(seconds: float) -> float | None:
    """JSON has no infinity; None says that nothing takes work."""
    return round(seconds, 3) if math.isfinite(seconds) else None


def total(counter: Counter, **labels: str) -> float:
    """Over all children with these labels."""
    return sum(_values(counter, labels))


def _values(counter: Counter, labels: dict[str, str]) -> Iterable[float]:
    for metric in counter.collect():
        for sample in metric.samples:
            if sample.name.endswith("_total") and labels.items() <= sample.labels.items():
                yield sample.value
