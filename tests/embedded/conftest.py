from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.services_plugin import ALONE, Instance, is_locked, reap, start
from tests.waiting import wait_until

StartAlone = Callable[..., Instance]


def is_stopped(instance: Instance) -> bool:
    reap()
    return not is_locked(instance.data / "run" / "lock")


def stop(instance: Instance) -> None:
    """Ask for an orderly stop and wait for its end."""
    if not is_stopped(instance):
        os.kill(instance.supervisor_pid, signal.SIGTERM)
        wait_until(lambda: is_stopped(instance))


@pytest.fixture
def start_alone(tmp_path: Path) -> Iterator[StartAlone]:
    """Starts instances that share nothing with the other tests; all are stopped at the end of the test."""
    folders: set[Path] = set()

    def start_one(*words: str, data: Path = tmp_path / "data") -> Instance:
        folders.add(data)
        return start(data, *words, environment={**ALONE, "EMBEDDED_ENGINE_THREADS": "1"})

    yield start_one
    for folder in folders:
        if (folder / "run" / "ready").exists():
            stop(Instance(data=folder))
