"""Audit counters: how often, at which stage, for whom and why. Never of which text."""

from prometheus_client import CollectorRegistry, Counter, Histogram

_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1)


class SafetyMetrics:
    """Categories and rules are the operator's words, from the policy file."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.verdicts = Counter(
            "inference_safety_verdicts",
            "Verdicts by stage",
            ["stage", "verdict", "tier", "category"],
            registry=registry,
        )
        self.seconds = Histogram(
            "inference_safety_seconds", "Duration of a stage", ["stage"], buckets=_BUCKETS, registry=registry
        )
