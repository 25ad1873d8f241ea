"""Prometheus metrics of the pools that make batch calls."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from inference_backend.scheduling.batch_decisions import Snapshot

_FILL_BUCKETS = (1, 2, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 75, 100, 150, 200, 256)
_SECONDS_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.5, 1, 2.5, 5, 10, 30)


class BatchMetrics:
    """The label `pool` is the id of a model, or `safety`; both come from the configuration."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._calls = Counter("inference_batch_calls", "Calls by outcome", ["pool", "outcome"], registry=registry)
        self._fill = Histogram(
            "inference_batch_fill", "Inputs in a call", ["pool"], buckets=_FILL_BUCKETS, registry=registry
        )
        self._seconds = Histogram(
            "inference_batch_call_seconds", "Duration of a call", ["pool"], buckets=_SECONDS_BUCKETS, registry=registry
        )
        self._waiting = Gauge("inference_batch_waiting", "Inputs in the queue", ["pool", "tier"], registry=registry)
        self._workers = Gauge("inference_batch_workers", "Workers by state", ["pool", "state"], registry=registry)
        self._refused = Gauge(
            "inference_batch_refused", "Inputs turned away since the start", ["pool", "tier"], registry=registry
        )
        self._ended = Gauge(
            "inference_batch_inputs", "Inputs since the start, by end", ["pool", "end"], registry=registry
        )

    def observe(self, pool: str, inputs: int, seconds: float, outcome: str) -> None:
        self._calls.labels(pool=pool, outcome=outcome).inc()
        self._fill.labels(pool=pool).observe(inputs)
        self._seconds.labels(pool=pool).observe(seconds)

    def forget(self) -> None:
        """Before the pools are shown: one that is gone is shown no more."""
        for gauge in (self._waiting, self._workers, self._refused, self._ended):
            gauge.clear()

    def show(self, pool: str, state: Snapshot) -> None:
        """Called when the metrics are read."""
        for tier, waiting in state.queued.items():
            self._waiting.labels(pool=pool, tier=tier).set(waiting)
            self._refused.labels(pool=pool, tier=tier).set(state.refused[tier])
        self._workers.labels(pool=pool, state="healthy").set(state.healthy)
        self._workers.labels(pool=pool, state="idle").set(state.idle)
        for end in ("submitted", "completed", "expired", "cancelled", "given_up"):
            self._ended.labels(pool=pool, end=end).set(getattr(state, end))
