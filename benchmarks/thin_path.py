"""How long a person waits: pages, and the first token of a run, beside the model server called directly.

    python -m benchmarks.thin_path            starts the whole application in a temporary folder, measures, stops it
    python -m benchmarks.thin_path --data var measures the one that `manage.py up` is running from that folder

All in one run on one machine; compare the ratios, the milliseconds are only this machine's. The first token at the
browser is the first `text` event after the POST that created the run; the prompt has about 200 tokens and begins
with a number that is new each time, so no prefix of it is in the model server's cache.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "thin_path.json"
PROMPT = "Here are notes of a meeting. " + "The team agreed to ship on Friday and to write the tests first. " * 13
START_S = 120


@contextmanager
def running_application() -> Iterator[Path]:
    """`manage.py up` in a temporary folder, ready for runs."""
    with tempfile.TemporaryDirectory() as folder:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [sys.executable, "manage.py", "up", "--data", folder, "--port", str(port)]
        started = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
        try:
            wait_until_ready(f"http://127.0.0.1:{port}/readyz")
            yield Path(folder)
        finally:
            started.send_signal(signal.SIGTERM)
            started.wait(30)


def wait_until_ready(url: str) -> None:
    give_up = time.monotonic() + START_S
    while time.monotonic() < give_up:
        try:
            if httpx2.get(url, timeout=5).status_code == 200:
                return
        except httpx2.HTTPError:
            pass
        time.sleep(0.5)
    raise SystemExit(f"{url} is not ready after {START_S} s")


def summary(seconds: list[float]) -> dict[str, float]:
    """p50 and p95 in ms."""
    values = sorted(value * 1000 for value in seconds)
    return {"p50_ms": round(statistics.median(values), 1), "p95_ms": round(values[int(0.95 * (len(values) - 1))], 1)}


def sample(count: int, measure: Callable[[], float]) -> dict[str, float]:
    """Of `count` measurements, after one that does not count."""
    measure()
    return summary([measure() for _ in range(count)])


class Application:
    """A signed-in browser's requests, and an API key for the same person."""

    def __init__(self, data: Path) -> None:
        self.environment: dict[str, str] = json.loads((data / "run" / "environment.json").read_text())
        accounts: dict[str, str] = json.loads((data / "secrets" / "demo.json").read_text())
        email, password = next(iter(accounts.items()))
        self.http = httpx2.Client(base_url=self.environment["PUBLIC_URL"], timeout=60, follow_redirects=True)
        self._sign_in(email, password)
        self.key = self.new_key(email)
        self.api = {"Authorization": f"Bearer {self.key}"}
        self.model = self.environment.get("INFERENCE_ENGINE_MODEL", "smollm2-135m-instruct")
        self.version = self._version()

    def new_key(self, email: str) -> str:
        environment = {**os.environ, **self.environment}
        command = [sys.executable, "manage.py", "create_api_key", email]
        made = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        return made.stdout.strip()

    def _sign_in(self, email: str, password: str) -> None:
        page = self.http.get("/accounts/login/")
        token = page.text.split('name="csrfmiddlewaretoken" value="')[1].split('"')[0]
        answer = self.http.post(
            "/accounts/login/", data={"login": email, "password": password, "csrfmiddlewaretoken": token}
        )
        if "/accounts/login" in str(answer.url):
            raise SystemExit("cannot sign in as the demo account")

    def _version(self) -> str:
        prompt = self.http.post("/api/v1/prompts", json={"name": "benchmark"}, headers=self.api).json()
        spec = {
            "model": self.model,
            "max_tokens": 16,
            "temperature": 0,
            "messages": [{"role": "user", "content": "{{nonce}} " + PROMPT}],
        }
        path = f"/api/v1/prompts/{prompt['id']}/versions"
        saved = self.http.post(path, json={"spec": spec}, headers=self.api).json()
        return f"{path}/{saved['number']}"

    def page(self, path: str) -> float:
        started = time.perf_counter()
        self.http.get(path).raise_for_status()
        return time.perf_counter() - started

    def run(self) -> float:
        """Seconds from the POST to the first text at the reader of the events."""
        started = time.perf_counter()
        body = {"variables": {"nonce": str(time.time_ns())}}
        run = self.http.post(f"{self.version}/runs", json=body, headers=self.api).raise_for_status().json()
        with self.http.stream("GET", f"/api/v1/runs/{run['id']}/events", headers=self.api) as events:
            first = 0.0
            for line in events.iter_lines():
                if line == "event: text" and not first:
                    first = time.perf_counter() - started
        return first

    def backend(self) -> float:
        """The same request straight to the inference backend."""
        body = self._body() | {"stream": True}
        headers = {"x-api-key": self.key, "anthropic-version": "2023-06-01"}
        url = f"{self.environment['INFERENCE_BASE_URL']}/v1/messages"
        return first_line(url, body, headers, "event: content_block_delta")

    def engine(self) -> float:
        """The same request straight to the model server's own API."""
        url = f"{self.environment['INFERENCE_ENGINE_URL']}/v1/chat/completions"
        return first_line(url, self._body() | {"stream": True}, {}, "data: ")

    def _body(self) -> dict[str, Any]:
        content = f"{time.time_ns()} {PROMPT}"
        return {
            "model": self.model,
            "max_tokens": 16,
            "temperature": 0,
            "messages": [{"role": "user", "content": content}],
        }


def first_line(url: str, body: dict[str, Any], headers: dict[str, str], prefix: str) -> float:
    started = time.perf_counter()
    first = 0.0
    with httpx2.stream("POST", url, json=body, headers=headers, timeout=60) as answer:
        for line in answer.iter_lines():
            if line.startswith(prefix) and not first:
                first = time.perf_counter() - started
    return first


def measure(data: Path, count: int) -> dict[str, Any]:
    application = Application(data)
    prompt_path = application.version.removeprefix("/api/v1").rsplit("/versions", 1)[0]
    report: dict[str, Any] = {
        "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        "when": time.strftime("%Y-%m-%d %H:%M"),
        "count": count,
        "pages": {
            "home": sample(count, lambda: application.page("/")),
            "workbench": sample(count, lambda: application.page(f"{prompt_path}/")),
        },
    }
    # Interleaved, so that a noisy minute hits all three alike; the first round does not count.
    rounds: dict[str, list[float]] = {"browser": [], "backend": [], "engine": []}
    calls = {"browser": application.run, "backend": application.backend, "engine": application.engine}
    for _ in range(count + 1):
        for name, call in calls.items():
            rounds[name].append(call())
    report["first_token"] = {name: summary(values[1:]) for name, values in rounds.items()}
    floor = report["first_token"]["engine"]["p50_ms"]
    report["ratio_to_engine"] = {name: round(row["p50_ms"] / floor, 2) for name, row in report["first_token"].items()}
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--count", type=int, default=20)
    options = parser.parse_args()
    if options.data:
        report = measure(options.data, options.count)
    else:
        with running_application() as data:
            report = measure(data, options.count)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
