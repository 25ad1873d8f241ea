"""Prometheus metrics of one service. Accounts are no label: their number has no bound."""

from collections.abc import Iterable, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

from inference_backend.errors import BackendError
from inference_backend.pools.batch_metrics import BatchMetrics
from inference_backend.pools.token_metrics import TokenMetrics
from inference_backend.request_metrics import RequestMetrics
from inference_backend.safety.metrics import SafetyMetrics

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = RequestMetrics(self._registry)
        self.in_flight = Gauge("inference_in_flight", "Requests being answered", registry=self._registry)
        self.body_bytes = Gauge(
            "inference_body_bytes", "Of the bodies of requests that are being read or answered", registry=self._registry
        )
        self.engine_failures = Counter(
            "inference_engine_failures", "Failures of the engine, seen or not", ["kind"], registry=self._registry
        )
        self.failovers = Counter(
            "inference_failovers",
            "Replicas lost to an answer that went on: replaced before its first byte, or continued after it",
            ["way"],
            registry=self._registry,
        )
        self.replicas = Gauge("inference_replicas", "Replicas by state", ["model", "state"], registry=self._registry)
        self.idempotency = Counter(
            "inference_idempotency", "Requests with an Idempotency-Key", ["outcome"], registry=self._registry
        )
        self.limited = Counter(
            "inference_limited", "Requests beyond a limit of their account", ["tier", "limit"], registry=self._registry
        )
        self.batch = BatchMetrics(self._registry)
        self.pools = TokenMetrics(self._registry)
        self.safety = SafetyMetrics(self._registry)

    def count_failure(self, error: BackendError) -> None:
        self.engine_failures.labels(kind=error.code or type(error).__name__).inc()

    def count_failovers(self, *, replaced: int, continued: int, continued_by: str | None) -> None:
        """Of one answer."""
        if replaced:
            self.failovers.labels(way="replaced").inc(replaced)
        if continued:
            self.failovers.labels(way=continued_by or "replay").inc(continued)

    def count_idempotency(self, outcome: str) -> None:
        self.idempotency.labels(outcome=outcome).inc()

    def count_limited(self, tier: str, limit: str) -> None:
        self.limited.labels(tier=tier, limit=limit).inc()

    def show_fleet(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """The rows of Fleet.report()."""
        self.replicas.clear()
        for row in rows:
            self.replicas.labels(model=row["model"], state=row["state"]).inc()

    def names(self) -> dict[str, tuple[str, ...]]:
        """Every metric as it is printed, with its labels."""
        # The client knows labels only of its collectors, and those only by this attribute.
        collectors = self._registry._collector_to_names
        return {
            family.name + ("_total" if family.type == "counter" else ""): tuple(getattr(collector, "_labelnames", ()))
            for collector in collectors
            for family in collector.collect()
        }

    def render(self) -> bytes:
        return generate_latest(self._registry)
