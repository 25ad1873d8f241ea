"""Order and failure of a start, with services that are small programs."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded.errors import StartFailed
from embedded.folder import DataFolder
from embedded.service import Job, NotReady, Service
from embedded.startup import Startup
from embedded.supervisor import Supervisor

RUNS = "import time; print('here', flush=True); time.sleep(60)"
DIES = "import sys; sys.exit('no such model')"


def service(name: str, program: str, **changes: object) -> Service:
    values: dict[str, object] = {
        "name": name,
        "title": name.title(),
        "command": (sys.executable, "-c", program),
        "environment": {"PATH": os.environ["PATH"]},
        "probe": lambda: None,
        "rank": 10,
        "stop_within_s": 1,
    }
    return Service(**(values | changes))  # type: ignore[arg-type]


def job(name: str, program: str, *after: str) -> Job:
    return Job(name=name, title=name.title(), command=(sys.executable, "-c", program), environment={}, after=after)


class Start:
    """A start on a folder of its own, and what it said."""

    def __init__(self, folder: DataFolder) -> None:
        self.said: list[str] = []
        self._folder = folder
        self._supervisor: Supervisor | None = None

    def run(self, services: list[Service], jobs: list[Job]) -> list[str]:
        self._supervisor = Supervisor(self._folder, services, sockets=self._folder.sockets())
        self._supervisor.launch({"PATH": os.environ["PATH"]})
        stop = threading.Event()
        startup = Startup(self._supervisor, self._folder, self.said.append, stop, crashing_for_s=0.5)
        return startup.run(services, jobs)

    def pid(self, name: str) -> int:
        assert self._supervisor is not None
        return self._supervisor.states()[name].pid

    def stop(self) -> None:
        if self._supervisor is not None:
            self._supervisor.shut_down()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    starting = Start(DataFolder.open(tmp_path / "data"))
    yield starting
    starting.stop()


def test_each_starts_behind_what_it_names(start: Start) -> None:
    services = [service("second", RUNS, after=("job",)), service("first", RUNS)]
    assert start.run(services, [job("job", "pass", "first")]) == []
    assert [line.split()[0] for line in start.said] == ["First", "Job", "Second"]


def test_a_service_that_can_be_done_without_is_reported_and_does_not_stop_the_start(start: Start) -> None:
    services = [service("engine", DIES, vital=False, settles=True), service("web", RUNS)]
    assert start.run(services, []) == ["engine"]
    assert start.pid("web")
    assert any("Engine" in line and "not ready" in line and "engine.log" in line for line in start.said)


def test_a_service_that_is_needed_stops_the_start_with_the_end_of_its_log(start: Start) -> None:
    with pytest.raises(StartFailed, match=r"(?s)Database.*no such model.*database\.log"):
        start.run([service("database", DIES, settles=True), service("web", RUNS, after=("database",))], [])
    assert not start.pid("web")


def test_a_service_that_never_answers_stops_the_start_in_its_time(start: Start) -> None:
    def silent() -> None:
        raise NotReady("connection refused")

    with pytest.raises(StartFailed, match="connection refused"):
        start.run([service("database", RUNS, probe=silent, start_within_s=1.0)], [])


def test_a_step_that_fails_stops_the_start_with_what_it_printed(start: Start) -> None:
    with pytest.raises(StartFailed, match=r"(?s)Migrate.*exit 3.*boom"):
        start.run([service("web", RUNS, after=("migrate",))], [job("migrate", "print('boom'); raise SystemExit(3)")])
    assert not start.pid("web")


def test_what_a_service_prints_is_in_its_log_in_a_folder_for_the_owner_only(start: Start, tmp_path: Path) -> None:
    start.run([service("web", RUNS, settles=True)], [])
    log = tmp_path / "data" / "logs" / "web.log"
    assert "here" in log.read_text()
    assert log.parent.stat().st_mode & 0o077 == 0
