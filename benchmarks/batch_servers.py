"""The systems of `benchmarks.fixed_batch`: ours and its peers, each with the same call, started and stopped."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import httpx2

from benchmarks.peers.device import CALL_S, TEXT

ROOT = Path(__file__).resolve().parent.parent
PEERS_PYTHON = ROOT / ".venv" / "peers" / "bin" / "python"
KEY = "key-of-the-benchmark"
START_S = 90


class System(Protocol):
    """One way to serve the call."""

    @property
    def name(self) -> str: ...

    def running(self, devices: int, *, as_processes: bool) -> contextlib.AbstractContextManager[Server]: ...


@dataclass(kw_only=True)
class Server:
    """`calls`: how many calls were made since the start, and how many inputs they held. `kill_one`: see `Kill`."""

    url: str
    headers: tuple[str, ...]
    body: str
    calls: Callable[[], tuple[int, int]]
    kill_one: Callable[[], Kill]


class Call(NamedTuple):
    """As the processes write them down. `ended_at` by the monotonic clock, which is one for the whole machine."""

    pid: int
    size: int
    ended_at: float


@dataclass(kw_only=True)
class Kill:
    """SIGKILL for the process that ended a call last, so that everybody's is early in its next one."""

    log: Path
    pid: int
    at: float
    #: Seconds since its call before this one had ended.
    into_call_s: float
    known: frozenset[int]

    @classmethod
    def of_the_last_to_end(cls, log: Path) -> Kill:
        calls = read_calls(log)
        pid, _, ended_at = calls[-1]
        os.kill(pid, signal.SIGKILL)
        at = time.monotonic()
        known = frozenset(call.pid for call in calls)
        return cls(log=log, pid=pid, at=at, into_call_s=min(at - ended_at, CALL_S), known=known)

    def out_s(self) -> float | None:
        """Until a new process began its first call for a caller; None: none ever did."""
        ends = [call.ended_at for call in read_calls(self.log) if call.pid not in self.known]
        return ends[0] - CALL_S - self.at if ends else None


def read_calls(log: Path) -> list[Call]:
    if not log.exists():
        return []
    rows = (line.split() for line in log.read_text().splitlines())
    return [Call(int(pid), int(size), float(ended_at)) for pid, size, ended_at in rows]


@contextlib.contextmanager
def process(command: Sequence[str], environment: dict[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """In a group of its own: some of the peers leave children behind when they are told to stop."""
    started = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield started
    finally:
        started.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            started.wait(8)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        started.wait(5)


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def wait_for(url: str, body: str, headers: dict[str, str]) -> None:
    give_up = time.monotonic() + START_S
    while time.monotonic() < give_up:
        with contextlib.suppress(httpx2.HTTPError):
            if httpx2.post(url, content=body, headers=headers, timeout=5, trust_env=False).status_code == 200:
                return
        time.sleep(0.2)
    raise SystemExit(f"{url} did not answer within {START_S} s")


class Devices:
    """Processes that can be killed; one that was is started again at once, as the peers do with a worker of theirs."""

    def __init__(self, stack: contextlib.ExitStack, folder: Path, count: int) -> None:
        self._stack = stack
        self._log = folder / "calls"
        self._ports: dict[int, int] = {}
        for port in free_ports(count):
            self._start(port)
        self.urls = [f"http://127.0.0.1:{port}" for port in self._ports.values()]
        for url in self.urls:
            wait_for(f"{url}/v1/embeddings", '{"input": "x"}', {})

    def _start(self, port: int) -> None:
        command = [sys.executable, "-m", "benchmarks.peers.device", str(port), str(self._log)]
        self._ports[self._stack.enter_context(process(command)).pid] = port

    def kill_one(self) -> Kill:
        kill = Kill.of_the_last_to_end(self._log)
        self._start(self._ports[kill.pid])
        return kill


class Ours:
    """With devices as processes it speaks HTTP to them; otherwise they wait inside the service."""

    name = "ours"

    @contextlib.contextmanager
    def running(self, devices: int, *, as_processes: bool) -> Iterator[Server]:
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            processes = Devices(stack, folder, devices) if as_processes else None
            config = folder / "inference.toml"
            config.write_text(_configuration(devices, processes.urls if processes else []))
            (port,) = free_ports(1)
            command = [sys.executable, "-m", "inference_backend", "serve", "--port", str(port)]
            environment = {"INFERENCE_CONFIG": str(config), "INFERENCE_SERVICE_KEY": KEY, "REDIS_URL": ""}
            stack.enter_context(process(command, environment))
            url, body = f"http://127.0.0.1:{port}/v1/embeddings", json.dumps({"model": "device", "input": TEXT})
            wait_for(url, body, {"authorization": f"Bearer {KEY}"})
            before = _batch_counts(port)
            yield Server(
                url=url,
                headers=(f"authorization: Bearer {KEY}",),
                body=body,
                calls=lambda: _difference(before, _batch_counts(port)),
                kill_one=processes.kill_one if processes else _nobody,
            )


def _nobody() -> Kill:
    raise SystemExit("there is no process to kill")


def _configuration(devices: int, urls: list[str]) -> str:
    if urls:
        engine = f'engine = "openai"\nurls = {json.dumps(urls)}\n'
    else:
        engine = f'engine = "simulated"\nworkers = {devices}\n'
    return f'[[embeddings]]\nid = "device"\n{engine}max_size = 50\ncall_ms = 200\n'


def _batch_counts(port: int) -> tuple[float, float]:
    """(calls, inputs) so far, from the histogram of batch sizes."""
    text = httpx2.get(f"http://127.0.0.1:{port}/metrics", timeout=5, trust_env=False).text
    values: dict[str, float] = {}
    for line in text.splitlines():
        if line.startswith("inference_batch_fill_"):
            name = line.split("{")[0].split(" ")[0]
            values[name] = values.get(name, 0.0) + float(line.rsplit(" ", 1)[1])
    return values.get("inference_batch_fill_count", 0.0), values.get("inference_batch_fill_sum", 0.0)


def _difference(before: tuple[float, float], after: tuple[float, float]) -> tuple[int, int]:
    return int(after[0] - before[0]), int(after[1] - before[1])


@dataclass(frozen=True)
class Peer:
    name: str
    script: str
    path: str

    @contextlib.contextmanager
    def running(self, devices: int, *, as_processes: bool) -> Iterator[Server]:
        """Their workers are processes in any case."""
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "calls"
            (port,) = free_ports(1)
            script = str(ROOT / "benchmarks" / "peers" / self.script)
            with process([str(PEERS_PYTHON), script, str(port), str(devices), str(log)]):
                url, body = f"http://127.0.0.1:{port}{self.path}", json.dumps({"input": TEXT})
                wait_for(url, body, {"content-type": "application/json"})
                time.sleep(2)
                before = len(read_calls(log))
                yield Server(
                    url=url,
                    headers=(),
                    body=body,
                    calls=lambda: _summed(read_calls(log)[before:]),
                    kill_one=lambda: Kill.of_the_last_to_end(log),
                )


def _summed(calls: list[Call]) -> tuple[int, int]:
    return len(calls), sum(call.size for call in calls)


SYSTEMS: tuple[System, ...] = (
    Ours(),
    Peer("mosec", "mosec_server.py", "/inference"),
    Peer("LitServe", "litserve_server.py", "/predict"),
    Peer("Ray Serve", "ray_server.py", "/"),
)
