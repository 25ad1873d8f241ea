"""How the tests share a machine that has much else to do: how many run at once, and which first. A pytest plugin."""

from __future__ import annotations

import inspect
import os

import httpx2
import hypothesis
import pytest

# A generated example is no slower for being interrupted.
hypothesis.settings.register_profile(
    "busy", hypothesis.settings(), deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("busy")

# Nor is an answer, for coming after more than the 5 s that a call without a timeout waits. All such calls share this.
default_timeout: httpx2.Timeout = inspect.signature(httpx2.get).parameters["timeout"].default
default_timeout.connect = default_timeout.read = default_timeout.write = default_timeout.pool = 60.0


@pytest.hookimpl(optionalhook=True, tryfirst=True)  # before the one of pytest-xdist, which is registered later
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Three for two cores: most of its time a test waits, for a process to start or a clock to go on.

    Those of faults load the machine by themselves. Each worker has a Redis database, and one more for its own workers.
    """
    cores = len(os.sched_getaffinity(0))
    return max(1, min(7, cores if config.option.markexpr == "faults" else cores * 3 // 2))


@pytest.hookimpl(trylast=True)  # the markers of the browser tests are set in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests last: Playwright leaves an event loop running in its process, where no async test can run then.

    Among the others, and among the browser tests, long ones come first: whoever takes one up last is waited for.
    """
    items.sort(key=lambda item: (has(item, "browser"), not has(item, "long")))


def has(item: pytest.Item, marker: str) -> bool:
    return item.get_closest_marker(marker) is not None
