"""The fixed batch call over HTTP: at most 50 inputs, always 200 ms, on simulated devices; ours beside its peers.

    python -m benchmarks.fixed_batch            ours, mosec, LitServe and Ray Serve; about four minutes
    python -m benchmarks.fixed_batch --quick    ours alone, shorter; under 50 s

Exits with 1 where a figure falls short, and says which. All systems get the same call, load (open loop, Poisson, the
same seed), generator and machine, one after the other in one run; peers run in an environment of their own that
`make .venv/installed-peers` builds. A device is simulated by waiting, so what is measured is the batching.

Rows: `busy` 2 devices at 400/s (80 % of what they can do), `calm` 2 devices at 20/s, `killed` 2 devices at 200/s of
which one process is killed with SIGKILL in the middle of a call, `large` 10 devices at 2,000/s.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import httpx2

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "fixed_batch.json"
PEERS_PYTHON = ROOT / ".venv" / "peers" / "bin" / "python"
KEY = "key-of-the-benchmark"
START_S = 90
Figures = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Row:
    name: str
    devices: int
    rate: float
    seconds: float
    kill_after_s: float | None = None

    def shorter(self) -> Row:
        return Row(
            name=self.name,
            devices=self.devices,
            rate=self.rate,
            seconds=self.seconds / 2,
            kill_after_s=self.kill_after_s and self.kill_after_s / 2,
        )


ROWS = (
    Row(name="busy", devices=2, rate=400, seconds=12),
    Row(name="calm", devices=2, rate=20, seconds=12),
    Row(name="killed", devices=2, rate=200, seconds=12, kill_after_s=4),
    Row(name="large", devices=10, rate=2000, seconds=15),
)


class System(Protocol):
    """One way to serve the call."""

    @property
    def name(self) -> str: ...

    def running(self, row: Row) -> contextlib.AbstractContextManager[Server]: ...


@dataclass(kw_only=True)
class Server:
    """`calls`: how many calls were made since the start, and how many inputs they held."""

    url: str
    headers: tuple[str, ...]
    body: str
    calls: Callable[[], tuple[int, int]]
    kill_one: Callable[[], None]


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


class Ours:
    """`killed` has processes as devices, so that one can be killed; the other rows wait inside the service."""

    name = "ours"

    @contextlib.contextmanager
    def running(self, row: Row) -> Iterator[Server]:
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            port, *device_ports = free_ports(1 + row.devices)
            devices: list[subprocess.Popen[bytes]] = []

            def start_device(port: int) -> None:
                command = [sys.executable, "-m", "benchmarks.peers.device", "--port", str(port)]
                devices.append(stack.enter_context(process(command)))

            def kill_one() -> None:
                # Started again at once, as the peers do with a worker of theirs that died.
                devices[0].kill()
                start_device(device_ports[0])

            if row.kill_after_s is not None:
                for each in device_ports:
                    start_device(each)
                for each in device_ports:
                    wait_for(f"http://127.0.0.1:{each}/v1/embeddings", '{"input": "x"}', {})
            config = folder / "inference.toml"
            config.write_text(_configuration(row, device_ports if devices else []))
            command = [sys.executable, "-m", "inference_backend", "serve", "--port", str(port)]
            environment = {"INFERENCE_CONFIG": str(config), "INFERENCE_SERVICE_KEY": KEY, "REDIS_URL": ""}
            stack.enter_context(process(command, environment))
            url, body = f"http://127.0.0.1:{port}/v1/embeddings", '{"model": "device", "input": "a text"}'
            wait_for(url, body, {"authorization": f"Bearer {KEY}"})
            before = _batch_counts(port)
            yield Server(
                url=url,
                headers=(f"authorization: Bearer {KEY}",),
                body=body,
                calls=lambda: _difference(before, _batch_counts(port)),
                kill_one=kill_one if devices else _nobody,
            )


def _nobody() -> None:
    raise SystemExit("this row has no process to kill")


def _configuration(row: Row, device_ports: list[int]) -> str:
    if device_ports:
        urls = json.dumps([f"http://127.0.0.1:{port}" for port in device_ports])
        engine = f'engine = "openai"\nurls = {urls}\n'
    else:
        engine = f'engine = "simulated"\nworkers = {row.devices}\n'
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
    def running(self, row: Row) -> Iterator[Server]:
        with tempfile.TemporaryDirectory() as folder:
            counts = Path(folder) / "counts"
            (port,) = free_ports(1)
            script = str(ROOT / "benchmarks" / "peers" / self.script)
            command = [str(PEERS_PYTHON), script, str(port), str(row.devices), str(counts)]
            with process(command):
                url, body = f"http://127.0.0.1:{port}{self.path}", '{"input": "a text"}'
                wait_for(url, body, {"content-type": "application/json"})
                time.sleep(2)
                before = len(_read_counts(counts))
                yield Server(
                    url=url,
                    headers=(),
                    body=body,
                    calls=lambda: _summed(_read_counts(counts)[before:]),
                    kill_one=lambda: os.kill(_read_counts(counts)[-1][0], signal.SIGKILL),
                )


def _read_counts(path: Path) -> list[tuple[int, int]]:
    if not path.exists():
        return []
    return [(int(pid), int(size)) for pid, size in (line.split() for line in path.read_text().splitlines())]


def _summed(calls: list[tuple[int, int]]) -> tuple[int, int]:
    return len(calls), sum(size for _, size in calls)


SYSTEMS: tuple[System, ...] = (
    Ours(),
    Peer("mosec", "mosec_server.py", "/inference"),
    Peer("LitServe", "litserve_server.py", "/predict"),
    Peer("Ray Serve", "ray_server.py", "/"),
)


def measure(system: System, row: Row) -> Figures:
    with system.running(row) as server:
        command = [sys.executable, "-m", "benchmarks.load", "--url", server.url, "--body", server.body]
        command += ["--rate", str(row.rate), "--seconds", str(row.seconds)]
        for header in server.headers:
            command += ["--header", header]
        load = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
        if row.kill_after_s is not None:
            time.sleep(row.kill_after_s)
            server.kill_one()
        output, _ = load.communicate(timeout=row.seconds + 120)
        calls, inputs = server.calls()
    figures: Figures = json.loads(output)
    figures["shed"] = sum(count for status, count in figures["statuses"].items() if status != "200")
    figures["fill"] = round(inputs / calls, 1) if calls else None
    return figures


def shortfalls(row: Row, all_figures: dict[str, Figures]) -> Iterator[str]:
    """What is promised: never worse than a peer, and the figures that stand by themselves."""
    ours = all_figures["ours"]
    if _lost(ours):
        yield f"{row.name}: {_lost(ours)} requests of ours were not answered with 200: {ours['statuses']}"
    for name, theirs in all_figures.items():
        if name != "ours":
            yield from _behind(row, ours, name, theirs)
    if row.name == "large" and ours["served_per_s"] < 1900:
        yield f"large: {ours['served_per_s']} requests/s, wanted 1,900"
    if row.name == "large" and ours["p99_ms"] > 320:
        yield f"large: p99 {ours['p99_ms']} ms, wanted at most 320"


def _behind(row: Row, ours: Figures, name: str, theirs: Figures) -> Iterator[str]:
    """A peer that serves less than half of what was asked is quick with the rest; that counts for nothing."""
    if _lost(theirs) < _lost(ours):
        yield f"{row.name}: {name} lost fewer requests"
    if theirs["served_per_s"] < 0.5 * row.rate:
        return
    for figure in ("p50_ms", "p99_ms", "worst_ms"):
        if theirs[figure] < ours[figure]:
            yield f"{row.name}: {figure} of {name} is {theirs[figure]}, ours {ours[figure]}"


def _lost(figures: Figures) -> int:
    return int(figures["shed"] + figures["unanswered"])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fixed_batch")
    parser.add_argument("--quick", action="store_true", help="ours alone, half as long")
    parser.add_argument("--row", action="append", choices=[row.name for row in ROWS])
    given = parser.parse_args()
    rows = [row.shorter() if given.quick else row for row in ROWS if not given.row or row.name in given.row]
    systems = SYSTEMS[:1] if given.quick else SYSTEMS
    if not given.quick and not PEERS_PYTHON.exists():
        raise SystemExit("the peers are missing: make .venv/installed-peers")
    results: dict[str, dict[str, Figures]] = {}
    problems: list[str] = []
    print(f"{'row':8}{'system':11}{'fill':>6}{'p50':>9}{'p99':>9}{'worst':>9}{'lost':>6}{'served/s':>10}{'cpu':>6}")
    for row in rows:
        results[row.name] = {}
        for system in systems:
            found = results[row.name][system.name] = measure(system, row)
            print(
                f"{row.name:8}{system.name:11}{found['fill'] or '-':>6}{found['p50_ms']:>9}{found['p99_ms']:>9}"
                f"{found['worst_ms']:>9}{_lost(found):>6}{found['served_per_s']:>10}"
                f"{found['cpu_share']:>6}",
                flush=True,
            )
        problems += shortfalls(row, results[row.name])
    for problem in problems:
        print(f"short: {problem}")
    if not given.quick and not given.row:
        machine = f"{os.cpu_count()} cores, Python {platform.python_version()}"
        command = "python -m benchmarks.fixed_batch"
        RESULTS.write_text(
            json.dumps({"command": command, "machine": machine, "rows": results, "short": problems}, indent=1) + "\n"
        )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
