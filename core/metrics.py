"""The web application's Prometheus metrics, drawn in one place so that a dashboard can be written from this file.

With several processes (web workers, Celery), `PROMETHEUS_MULTIPROC_DIR` makes them share their counts.
"""

from __future__ import annotations

import os

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    Counter,
    Histogram,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

REQUEST_SECONDS = Histogram(
    "playground_request_seconds",
    "Server time of a request, by method, route pattern and status.",
    ["method", "route", "status"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
)
RUNS_ENDED = Counter("playground_runs_ended_total", "Runs that ended, by status.", ["status"])
RUN_FIRST_TOKEN_SECONDS = Histogram(
    "playground_run_first_token_seconds",
    "Time from a run's creation to its first token.",
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 1.5, 2.5, 5, 10, 30, 60),
)
BODY_READS = Counter("playground_body_reads_total", "Texts read from the body store, by where they were.", ["source"])
BODY_CORRUPT = Counter("playground_body_corrupt_total", "Texts whose bytes did not match their SHA-256 on a read.")
BUS_LOST = Counter("playground_bus_lost_total", "Messages that could not be published to sockets; repaired by drains.")
CHAT_SENT = Counter("playground_chat_sent_total", "Chat messages kept, by what happened.", ["outcome"])
CHAT_DRAINS = Counter("playground_chat_drains_total", "Catch-ups of sockets from the inbox, by why.", ["why"])
CHAT_CLOSED = Counter("playground_chat_sockets_closed_total", "Chat sockets closed by us, by code.", ["code"])


def render() -> tuple[bytes, str]:
    """The current values in Prometheus text form, and its content type."""
    registry: CollectorRegistry = REGISTRY
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry), CONTENT_TYPE_LATEST
