"""Prometheus metrics of the requests: how many, how they ended, and how long their callers waited."""

from prometheus_client import CollectorRegistry, Counter, Histogram

from inference_backend.record import CLIENT_GONE_STATUS, RequestRecord

_LATENCY_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2.5, 5, 10, 30, 60, 120)
_GAP_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 30)


class RequestMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.answered = Counter(
            "inference_requests", "Requests answered", ["path", "status", "tier"], registry=registry
        )
        self.errors = Counter(
            "inference_errors",
            "Requests that ended in an error, also within a stream, by its code",
            ["code", "status", "tier"],
            registry=registry,
        )
        self.first_token = Histogram(
            "inference_first_token_seconds",
            "From arrival to the first piece of the answer",
            ["tier"],
            buckets=_LATENCY_BUCKETS,
            registry=registry,
        )
        self.token_gap = Histogram(
            "inference_token_gap_seconds",
            "Between two pieces of an answer",
            ["tier"],
            buckets=_GAP_BUCKETS,
            registry=registry,
        )
        self.tokens = Counter(
            "inference_tokens", "Tokens of completed and broken answers", ["direction", "tier"], registry=registry
        )
        self.client_disconnects = Counter(
            "inference_client_disconnects", "Callers that left before their answer", registry=registry
        )

    def count(self, path: str, record: RequestRecord) -> None:
        """`path` is one of the routes, never the text that the caller sent."""
        tier, status = record.tier or "none", str(record.status or 0)
        self.answered.labels(path, status, tier).inc()
        if record.error:
            self.errors.labels(record.error, status, tier).inc()
        if record.status == CLIENT_GONE_STATUS:
            self.client_disconnects.inc()
        self._add_tokens(record)

    def count_late_tokens(self, record: RequestRecord) -> None:
        """Of an answer that went on for others after its own request had ended; else `count` counts them."""
        if record.is_closed:
            self._add_tokens(record)

    def _add_tokens(self, record: RequestRecord) -> None:
        tier = record.tier or "none"
        if record.input_tokens:
            self.tokens.labels("input", tier).inc(record.input_tokens)
        if record.output_tokens:
            self.tokens.labels("output", tier).inc(record.output_tokens)
