"""Keeping versions and giving them out by label, beside Arize Phoenix and MLflow's prompt registry, in one run.

    python -m benchmarks.registry_peers [--quick]

The whole application, a Phoenix server and an MLflow server run on this machine, each as its own documentation starts
it (the two peers on SQLite, ours on PostgreSQL with commits on the disk and bodies in S3). The calls go round: one of
ours, one of each peer, and so on. Phoenix and ours are called over HTTP with one open connection, MLflow through its
client, which is the only way it documents. A prompt is written as people do it: each version is the last one with a
line changed. `history` lists the newest 100 versions; the peers' lists hold the texts, ours says where they are.

Exits with 1 unless ours is faster at each call, by the median, than each peer.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

import httpx2

from benchmarks.batch_servers import ROOT, free_ports
from benchmarks.thin_path import Application, running_application, wait_until_ready

PEERS = ROOT / ".venv" / "registry-peers" / "bin"
RESULTS = ROOT / "benchmarks" / "results" / "registry_peers.json"
LABEL = "production"
#: Characters of a prompt, and how often each call is measured.
SIZES = {"300 characters": (300, 120), "1 MB": (1_000_000, 40)}
HISTORY = 100
#: MLflow refuses a longer prompt.
MLFLOW_LONGEST = 100_000
CALLS = ("create", "by_label", "history")


class Registry(Protocol):
    def create(self, text: str) -> float: ...

    def label(self) -> None: ...

    def by_label(self) -> float: ...

    def history(self) -> float: ...


class Ours:
    def __init__(self, application: Application, name: str) -> None:
        self._http, self._key = application.http, application.api
        made = self._http.post("/api/v1/prompts", json={"name": name}, headers=self._key).raise_for_status()
        self._path = f"/api/v1/prompts/{made.json()['id']}"
        self._model = application.model
        self._number: int | None = None

    def create(self, text: str) -> float:
        spec = {"model": self._model, "max_tokens": 10, "messages": [{"role": "user", "content": text}]}
        body = {"spec": spec, "parent": self._number}
        seconds, answer = timed(self._http, "POST", f"{self._path}/versions", json=body, headers=self._key)
        self._number = answer["number"]
        return seconds

    def label(self) -> None:
        timed(self._http, "PUT", f"{self._path}/labels/{LABEL}", json={"version": self._number}, headers=self._key)

    def by_label(self) -> float:
        path = f"{self._path}/versions/{LABEL}?include=texts"
        seconds, answer = timed(self._http, "GET", path, headers=self._key)
        assert answer["spec"]["messages"][0]["content"]
        return seconds

    def history(self) -> float:
        seconds, answer = timed(self._http, "GET", f"{self._path}/versions?limit={HISTORY}", headers=self._key)
        assert len(answer["results"]) == HISTORY
        return seconds


class Phoenix:
    def __init__(self, url: str, name: str) -> None:
        self._http = httpx2.Client(base_url=url, timeout=60)
        self._name = name
        self._id = ""

    def create(self, text: str) -> float:
        version = {
            "description": "",
            "model_provider": "ANTHROPIC",
            "model_name": "m",
            "template": {
                "type": "chat",
                "messages": [{"role": "user", "content": [{"type": "text", "text": text}]}],
            },
            "template_type": "CHAT",
            "template_format": "MUSTACHE",
            "invocation_parameters": {"type": "anthropic", "anthropic": {"max_tokens": 10}},
        }
        body = {"prompt": {"name": self._name}, "version": version}
        seconds, answer = timed(self._http, "POST", "/v1/prompts", json=body)
        self._id = answer["data"]["id"]
        return seconds

    def label(self) -> None:
        self._http.post(f"/v1/prompt_versions/{self._id}/tags", json={"name": LABEL}).raise_for_status()

    def by_label(self) -> float:
        seconds, answer = timed(self._http, "GET", f"/v1/prompts/{self._name}/tags/{LABEL}")
        assert answer["data"]["template"]["messages"]
        return seconds

    def history(self) -> float:
        seconds, answer = timed(self._http, "GET", f"/v1/prompts/{self._name}/versions?limit={HISTORY}")
        assert len(answer["data"]) == HISTORY
        return seconds


class MLflow:
    def __init__(self, driver: subprocess.Popen[str], name: str) -> None:
        self._driver = driver
        self._name = name

    def create(self, text: str) -> float:
        return self._ask("create", text)[0]

    def label(self) -> None:
        self._ask("label")

    def by_label(self) -> float:
        return self._ask("by_label")[0]

    def history(self) -> float:
        seconds, count = self._ask("history")
        assert count == HISTORY
        return seconds

    def _ask(self, do: str, text: str = "") -> tuple[float, Any]:
        assert self._driver.stdin is not None
        assert self._driver.stdout is not None
        self._driver.stdin.write(json.dumps({"do": do, "name": self._name, "text": text}) + "\n")
        self._driver.stdin.flush()
        line = self._driver.stdout.readline()
        if not line:
            raise SystemExit(f"The client of MLflow ended with {self._driver.wait()} at `{do}`; what it said is above.")
        answer = json.loads(line)
        return float(answer["seconds"]), answer["answer"]


def timed(http: httpx2.Client, method: str, path: str, **options: Any) -> tuple[float, Any]:
    """Seconds until the whole answer is read as JSON, and it."""
    started = time.perf_counter()
    answer = http.request(method, path, **options).raise_for_status().json()
    return time.perf_counter() - started, answer


@contextmanager
def server(command: list[str], *, environment: dict[str, str], ready: str, log: Path) -> Iterator[None]:
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, env={**os.environ, **environment}, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            wait_until_ready(ready)
            yield
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(30)


@contextmanager
def phoenix_server(folder: Path) -> Iterator[str]:
    """Its address."""
    port, grpc = free_ports(2)
    environment = {
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(grpc),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    address = f"http://127.0.0.1:{port}"
    command = [str(PEERS / "phoenix"), "serve"]
    with server(command, environment=environment, ready=f"{address}/healthz", log=folder / "phoenix.log"):
        yield address


@contextmanager
def mlflow_client(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """The driver of a client of a server of its own. What the client complains of is printed."""
    [port] = free_ports(1)
    address = f"http://127.0.0.1:{port}"
    environment = {"PATH": f"{PEERS}:{os.environ['PATH']}", "MLFLOW_DISABLE_TELEMETRY": "true"}
    command = [str(PEERS / "mlflow"), "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    command += ["--backend-store-uri", f"sqlite:///{folder}/mlflow.db"]
    command += ["--artifacts-destination", f"{folder}/artifacts"]
    with server(command, environment=environment, ready=f"{address}/health", log=folder / "mlflow.log"):
        driver = subprocess.Popen(
            [str(PEERS / "python"), str(ROOT / "benchmarks" / "peers" / "mlflow_client.py"), address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **environment},
            text=True,
        )
        try:
            yield driver
        finally:
            driver.kill()
            driver.wait()


@contextmanager
def peers() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The address of a Phoenix, and the driver of a client of an MLflow."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        yield stack.enter_context(phoenix_server(folder)), stack.enter_context(mlflow_client(folder))


def texts(size: int, *, seed: int) -> Iterator[str]:
    """A prompt of `size` characters, then the same with one of its lines changed, and so on."""
    chance = random.Random(seed)
    words = ["harbour", "customer", "answer", "please", "never", "three", "language", "formal", "{{name}}", "because"]
    lines: list[str] = []
    while sum(map(len, lines)) + len(lines) < size:
        lines.append(" ".join(chance.choices(words, k=10)))
    while True:
        yield "\n".join(lines)[:size]
        lines[chance.randrange(len(lines))] = " ".join(chance.choices(words, k=10))


def measure(registries: dict[str, Registry], *, size: int, count: int) -> dict[str, dict[str, list[float]]]:
    """Seconds of each call by registry. `create` comes first, until each has a history of 100 at least."""
    found: dict[str, dict[str, list[float]]] = {name: {call: [] for call in CALLS} for name in registries}
    versions = texts(size, seed=size)
    for index in range(max(count, HISTORY) + 1):
        text = next(versions)
        for name, registry in registries.items():
            seconds = registry.create(text)
            if 0 < index <= count:
                found[name]["create"].append(seconds)
    for registry in registries.values():
        registry.label()
    for call in CALLS[1:]:
        for name, seconds in in_turn(registries, call, count):
            found[name][call].append(seconds)
    return found


def in_turn(registries: dict[str, Registry], call: str, count: int) -> Iterator[tuple[str, float]]:
    """A call of each registry `count` times over, after one that does not count."""
    for index in range(count + 1):
        for name, registry in registries.items():
            seconds = getattr(registry, call)()
            if index:
                yield name, seconds


def summary(seconds: list[float]) -> dict[str, float]:
    values = sorted(value * 1000 for value in seconds)
    return {"p50_ms": round(statistics.median(values), 2), "p95_ms": round(values[int(0.95 * (len(values) - 1))], 2)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a quarter of the calls; no result file")
    quick = parser.parse_args().quick
    if not (PEERS / "phoenix").exists():
        raise SystemExit("The peers are not installed: make .venv/installed-registry-peers")
    rows = []
    with running_application() as data, peers() as (phoenix, driver):
        application = Application(data)
        for size_name, (size, count) in SIZES.items():
            name = f"bench-{size}"
            registries: dict[str, Registry] = {
                "ours": Ours(application, name),
                "Phoenix": Phoenix(phoenix, name),
                "MLflow": MLflow(driver, name),
            }
            if size > MLFLOW_LONGEST:
                del registries["MLflow"]
            found = measure(registries, size=size, count=count // 4 if quick else count)
            fresh = [
                {"size": size_name, "call": call, "system": system, **summary(calls[call])}
                for system, calls in found.items()
                for call in CALLS
            ]
            for row in fresh:
                print(
                    f"{row['size']:16}{row['call']:10}{row['system']:10}{row['p50_ms']:9}{row['p95_ms']:9}", flush=True
                )
            rows += fresh
    behind = [row for row in rows if row["system"] == "ours" and not is_fastest(row, rows)]
    if not quick:
        result = {"machine": f"{platform.machine()}, {os.cpu_count()} cores", "load": os.getloadavg()[0], "rows": rows}
        RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    for row in behind:
        print(f"behind a peer: {row['size']}, {row['call']}", file=sys.stderr)
    return int(bool(behind))


def is_fastest(ours: dict[str, Any], rows: list[dict[str, Any]]) -> bool:
    same = [row for row in rows if (row["size"], row["call"]) == (ours["size"], ours["call"])]
    return all(ours["p50_ms"] < row["p50_ms"] for row in same if row["system"] != "ours")


if __name__ == "__main__":
    sys.exit(main())
