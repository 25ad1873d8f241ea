"""Quantiles of what a histogram of Prometheus counted between two readings."""

from collections.abc import Mapping

from prometheus_client import Histogram

#: Upper bound of a bucket -> how many observations were at or below it.
Buckets = Mapping[float, float]


def read_buckets(histogram: Histogram) -> dict[float, float]:
    """Summed over all labels."""
    buckets: dict[float, float] = {}
    for metric in histogram.collect():
        for sample in metric.samples:
            if sample.name.endswith("_bucket"):
                bound = float(sample.labels["le"])
                buckets[bound] = buckets.get(bound, 0.0) + sample.value
    return buckets


def quantile(before: Buckets, after: Buckets, share: float) -> float | None:
    """As Prometheus' histogram_quantile: linear inside a bucket, the last finite bound beyond it; None without data."""
    counts = [(bound, after[bound] - before.get(bound, 0.0)) for bound in sorted(after)]
    if not counts or counts[-1][1] <= 0:
        return None
    rank = share * counts[-1][1]
    lower, below = 0.0, 0.0
    for bound, count in counts:
        if count >= rank:
            if bound == float("inf"):
                return lower
            return lower + (bound - lower) * (rank - below) / max(count - below, 1e-9)
        lower, below = bound, count
    return lower
