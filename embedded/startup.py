"""Start services and jobs as early as what they stand behind allows, and say when each is ready."""

import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

from embedded.errors import StartFailed
from embedded.folder import DataFolder
from embedded.service import Job, NotReady, Service
from embedded.supervisor import POLL_S, Supervisor

TAIL_LINES = 15
#: How long a vital service may keep dying at once before we say so. Long enough for a leftover to let go of a file.
CRASHING_FOR_S = 8

Say = Callable[[str], None]


class StoppedEarly(RuntimeError):
    """Somebody asked for a stop during the start."""


class Startup:
    """One start. Everything independent runs at the same time, each in a thread of its own."""

    def __init__(
        self,
        supervisor: Supervisor,
        folder: DataFolder,
        say: Say,
        stop: threading.Event,
        *,
        crashing_for_s: float = CRASHING_FOR_S,
    ) -> None:
        self._supervisor = supervisor
        self._folder = folder
        self._say = say
        self._stop = stop
        self._crashing_for_s = crashing_for_s
        self._done: dict[str, Future[None]] = {}

    def run(self, services: Sequence[Service], jobs: Sequence[Job]) -> list[str]:
        """Returns the names of the services that do not answer but need not. Raises StartFailed."""
        late: list[str] = []
        self._done = {name: Future() for name in [*(each.name for each in services), *(each.name for each in jobs)]}
        with ThreadPoolExecutor(max_workers=len(self._done) or 1) as pool:
            for service in services:
                pool.submit(self._guard, service.name, service.after, partial(self._start, service, late))
            for job in jobs:
                pool.submit(self._guard, job.name, job.after, partial(self._run, job))
        for future in self._done.values():
            future.result()
        return late

    def _guard(self, name: str, after: Sequence[str], act: Callable[[], None]) -> None:
        """Wait for what comes before, act, and let what comes after know, also of a failure."""
        try:
            for other in after:
                self._done[other].result()
            self._check_stop()
            act()
        except BaseException as error:  # noqa: BLE001 - handed on to whoever waits, and to `run`
            self._done[name].set_exception(error)
            self._stop_waiting(error)
        else:
            self._done[name].set_result(None)

    def _stop_waiting(self, error: BaseException) -> None:
        """One failure ends the start: the others need not use up their time."""
        if not isinstance(error, StoppedEarly):
            self._stop.set()

    def _check_stop(self) -> None:
        if self._stop.is_set():
            raise StoppedEarly

    def _start(self, service: Service, late: list[str]) -> None:
        began = time.monotonic()
        service.prepare()
        self._supervisor.start(service.name)
        try:
            self._wait(service, began + service.start_within_s)
        except StartFailed:
            if service.vital:
                raise
            late.append(service.name)
            self._say(line(service.title, f"not ready: see {self._folder.log(service.name)}; trying on"))
            return
        service.finish()
        self._say(line(service.title, "ready", time.monotonic() - began))

    def _wait(self, service: Service, deadline: float) -> None:
        crashing_deadline = time.monotonic() + self._crashing_for_s
        while True:
            self._check_stop()
            state = self._supervisor.states()[service.name]
            now = time.monotonic()
            try:
                if state.name == "RUNNING" or (state.alive and not service.settles):
                    service.probe()
                    return
                reason = f"{state.name.lower()}: {state.detail}"
            except NotReady as error:
                reason = str(error)
            if now > deadline or (now > crashing_deadline and not state.alive):
                raise StartFailed(failure(service.title, reason, self._folder.log(service.name)))
            self._stop.wait(POLL_S)

    def _run(self, job: Job) -> None:
        began = time.monotonic()
        log = self._folder.log(job.name)
        with log.open("wb") as file:
            process = subprocess.Popen(
                job.command,
                cwd=job.folder,
                env=dict(job.environment),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                status = self._wait_for_end(process, began + job.within_s)
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()
        if status != 0:
            raise StartFailed(failure(job.title, f"`{' '.join(job.command[2:])}` failed (exit {status})", log))
        job.then()
        self._say(line(job.title, "done", time.monotonic() - began))

    def _wait_for_end(self, process: "subprocess.Popen[bytes]", deadline: float) -> int:
        while (status := process.poll()) is None:
            self._check_stop()
            if time.monotonic() > deadline:
                return -1
            self._stop.wait(POLL_S)
        return status


def line(title: str, state: str, seconds: float | None = None) -> str:
    return f"  {title:<18} {state}" + ("" if seconds is None else f"  {seconds:.1f} s")


def failure(title: str, reason: str, log: Path) -> str:
    """What happened and the end of the log, so that nobody has to look for it."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL_LINES:]
    except FileNotFoundError:
        lines = []
    return "\n".join([f"{title}: {reason}", *(f"  | {each}" for each in lines), f"The whole log: {log}"])
