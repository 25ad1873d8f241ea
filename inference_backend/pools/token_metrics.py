"""Prometheus metrics of the pools in front of token engines."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from inference_backend.pools.token_pool import PoolObserver, TokenPool
from inference_backend.tiers import TIERS, Tier

_WAIT_BUCKETS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120)


class TokenMetrics:
    """The label `model` is the id of a model, from the configuration."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.queue = Histogram(
            "inference_queue_seconds",
            "From arrival in the queue to a place on a replica",
            ["model", "tier"],
            buckets=_WAIT_BUCKETS,
            registry=registry,
        )
        self.shed = Counter(
            "inference_shed", "Requests that the queue turned away", ["model", "tier", "reason"], registry=registry
        )
        self._waiting = Gauge("inference_queue_waiting", "Requests in the queue", ["model", "tier"], registry=registry)
        self._expected = Gauge(
            "inference_expected_wait_seconds",
            "Expected wait of a request that came now; +Inf where no replica takes work",
            ["model", "tier"],
            registry=registry,
        )
        self._running = Gauge("inference_running", "Answers on replicas", ["model"], registry=registry)
        self._slots = Gauge(
            "inference_slots",
            "Places of a replica: all, and those taken",
            ["model", "replica", "state"],
            registry=registry,
        )
        self._prefill = Gauge(
            "inference_prefill_tokens",
            "Prompt tokens that a replica is reading",
            ["model", "replica"],
            registry=registry,
        )
        self._kv_used = Gauge(
            "inference_kv_used_ratio",
            "Share of the KV cache that answers hold or have reserved, where its size is known",
            ["model", "replica"],
            registry=registry,
        )
        self._decode = Gauge(
            "inference_decode_seconds_per_token",
            "Measured time of a replica for one token of one answer",
            ["model", "replica"],
            registry=registry,
        )

    def observer(self, model: str) -> PoolObserver:
        return _Observer(self, model)

    def forget(self) -> None:
        """Before `show`, or replicas and models that are gone would stay."""
        gauges = (self._waiting, self._expected, self._running, self._slots, self._prefill, self._kv_used, self._decode)
        for gauge in gauges:
            gauge.clear()

    def show(self, model: str, pool: TokenPool) -> None:
        """Called when the metrics are read."""
        state = pool.snapshot()
        for tier in TIERS:
            self._waiting.labels(model=model, tier=tier).set(state.waiting.get(tier, 0))
            self._expected.labels(model=model, tier=tier).set(pool.expected_wait(tier))
        self._running.labels(model=model).set(state.running)
        for replica in state.replicas:
            self._slots.labels(model=model, replica=replica.name, state="all").set(replica.slots)
            self._slots.labels(model=model, replica=replica.name, state="taken").set(replica.running)
            self._prefill.labels(model=model, replica=replica.name).set(replica.prefill_tokens)
            if replica.kv_tokens:
                used = replica.kv_used / replica.kv_tokens
                self._kv_used.labels(model=model, replica=replica.name).set(used)
            self._decode.labels(model=model, replica=replica.name).set(replica.decode_s_per_token)


class _Observer:
    def __init__(self, metrics: TokenMetrics, model: str) -> None:
        self._metrics = metrics
        self._model = model

    def started(self, tier: Tier, queue_s: float) -> None:
        self._metrics.queue.labels(model=self._model, tier=tier).observe(queue_s)

    def shed(self, tier: Tier, reason: str) -> None:
        self._metrics.shed.labels(model=self._model, tier=tier, reason=reason).inc()
