"""What the playground adds to the first token, and what a long line of one person does to another.

    python -m benchmarks.run_overhead [--quick]

`at once`: 1, 8 and 32 people press Run in the same moment; from the POST to the first `text` event at the reader,
beside the same requests to the model server directly, in alternating rounds of one run. The difference of the medians
is what our path costs: web process, database, queue, worker, inference backend, event stream.

`line`: one person queues 200 runs of 48 tokens; meanwhile another presses Run six times, and pages are asked for all
along. `start_ms` is from the creation of a run of the other person to its start by the worker, `first_token_ms` to its
first token; `alone` is the same without the line.

The whole application runs in a temporary folder with the embedded model; every prompt begins with a number that no
cache knows. The people are `pro`. Exits with 1 if the overhead is above 150 ms, the other person's run starts later
than 2 s (the wait at which the inference backend refuses new work of the lowest tier), or a page in twenty takes over
100 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2

from benchmarks.thin_path import ROOT, Application, running_application

RESULTS = ROOT / "benchmarks" / "results" / "run_overhead.json"
PROMPT = "Tell a story about a harbour, its ships, and the people who work there by night."
AT_ONCE = {1: 24, 8: 8, 32: 5}
LINE = 200
WANTED_MS = 150.0
WANTED_START_MS = 2000.0
WANTED_PAGE_MS = 100.0
TIMEOUT_S = 300.0

MAKE_PEOPLE = """
from accounts.models import User
from accounts.services import ALL_SCOPES, create_api_key
for number in range({count}):
    person = User.objects.create_user(f"person-{{number}}@example.com", None, tier="pro")
    print("KEY", create_api_key(account=person, name="benchmark", scopes=ALL_SCOPES)[1])
"""


class Person:
    """Somebody with a key and a prompt of their own."""

    def __init__(self, url: str, key: str, model: str) -> None:
        self._http = httpx2.AsyncClient(
            base_url=f"{url}/api/v1/", headers={"Authorization": f"Bearer {key}"}, timeout=TIMEOUT_S
        )
        self._model = model
        self._version = ""

    async def write(self, max_tokens: int) -> None:
        prompt = (await self._http.post("prompts", json={"name": "benchmark"})).raise_for_status().json()["id"]
        spec = request(self._model, "{{nonce}}", max_tokens)
        answer = await self._http.post(f"prompts/{prompt}/versions", json={"spec": spec})
        self._version = f"prompts/{prompt}/versions/{answer.raise_for_status().json()['number']}"

    async def queue(self) -> str:
        body = {"variables": {"nonce": str(time.time_ns())}}
        answer = await self._http.post(f"{self._version}/runs", json=body)
        return str(answer.raise_for_status().json()["id"])

    async def first_token(self) -> float:
        """Seconds from the POST to the first text; returns when the answer is whole."""
        started = time.perf_counter()
        run = await self.queue()
        return await first_event(self._http, "GET", f"runs/{run}/events", "event: text", started)

    async def start_and_first_token(self) -> tuple[float, float]:
        """Seconds from the creation of a run to its start, and to its first token, as the server has them."""
        run = await self.queue()
        async with self._http.stream("GET", f"runs/{run}/events") as events:
            async for _ in events.aiter_lines():
                pass
        row = (await self._http.get(f"runs/{run}")).json()
        timings = row["timings"]
        return timings["queue_ms"] / 1000, timings["ttft_ms"] / 1000

    async def open_runs(self) -> int:
        found = 0
        for status in ("queued", "running"):
            answer = await self._http.get("runs", params={"status": status, "limit": 100})
            found += len(answer.raise_for_status().json()["results"])
        return found

    async def stop_all(self) -> None:
        while True:
            open_runs = [
                row["id"]
                for status in ("queued", "running")
                for row in (await self._http.get("runs", params={"status": status})).json()["results"]
            ]
            if not open_runs:
                return
            for run in open_runs:
                await self._http.post(f"runs/{run}/cancel")


def request(model: str, nonce: str, max_tokens: int) -> dict[str, Any]:
    content = f"{nonce} {PROMPT}"
    return {
        "model": model,
        "max_tokens": max_tokens,
        "temperature": 0,
        "messages": [{"role": "user", "content": content}],
    }


async def first_event(
    http: httpx2.AsyncClient, method: str, path: str, prefix: str, started: float, **options: Any
) -> float:
    first = 0.0
    async with http.stream(method, path, **options) as answer:
        answer.raise_for_status()
        async for line in answer.aiter_lines():
            if line.startswith(prefix) and not first:
                first = time.perf_counter() - started
    if not first:
        raise SystemExit(f"{path}: no token came")
    return first


async def together(call: Callable[[int], Awaitable[float]], count: int) -> list[float]:
    return list(await asyncio.gather(*(call(index) for index in range(count))))


async def at_once(people: list[Person], engine: str, model: str, *, quick: bool) -> list[dict[str, Any]]:
    rows = []
    async with httpx2.AsyncClient(base_url=engine, timeout=TIMEOUT_S) as direct:

        async def straight(index: int) -> float:
            body = request(model, f"{time.time_ns()}{index}", 16) | {"stream": True}
            started = time.perf_counter()
            return await first_event(direct, "POST", "/v1/chat/completions", 'data: {"choices"', started, json=body)

        async def ours(index: int) -> float:
            return await people[index].first_token()

        for count, rounds in AT_ONCE.items():
            found: dict[str, list[float]] = {"ours": [], "direct": []}
            for turn in range((rounds // 3 if quick else rounds) + 1):
                for name, call in (("ours", ours), ("direct", straight)):
                    seconds = await together(call, count)
                    if turn:
                        found[name] += seconds
            rows.append(compared(count, found))
            print(rows[-1], flush=True)
    return rows


def compared(count: int, found: dict[str, list[float]]) -> dict[str, Any]:
    ours, direct = (statistics.median(found[name]) * 1000 for name in ("ours", "direct"))
    return {
        "at_once": count,
        "ours_p50_ms": round(ours, 1),
        "direct_p50_ms": round(direct, 1),
        "overhead_p50_ms": round(ours - direct, 1),
        "ratio": round(ours / direct, 3),
        "samples": len(found["ours"]),
    }


async def in_line(application: Application, busy: Person, other: Person, *, quick: bool) -> dict[str, Any]:
    times = 3 if quick else 6
    alone = [await other.start_and_first_token() for _ in range(times)]
    for _ in range(LINE // 10):
        await asyncio.gather(*(busy.queue() for _ in range(10)))
    stop = asyncio.Event()
    pages = asyncio.ensure_future(asyncio.to_thread(ask_pages, application, stop))
    behind = [await other.start_and_first_token() for _ in range(times)]
    left = await busy.open_runs()
    stop.set()
    page_seconds = await pages
    await busy.stop_all()
    row = {
        "line": LINE,
        "left_of_the_line_at_the_end": left,
        "alone": summary(alone),
        "behind_the_line": summary(behind),
        "page_p50_ms": round(statistics.median(page_seconds) * 1000, 1),
        "page_p95_ms": round(sorted(page_seconds)[int(0.95 * (len(page_seconds) - 1))] * 1000, 1),
        "pages": len(page_seconds),
    }
    print(row, flush=True)
    return row


def ask_pages(application: Application, stop: asyncio.Event) -> list[float]:
    """A page every fifth of a second."""
    seconds = []
    while not stop.is_set():
        seconds.append(application.page("/"))
        time.sleep(0.2)
    return seconds


def summary(found: list[tuple[float, float]]) -> dict[str, float]:
    starts, firsts = zip(*found, strict=True)
    return {
        "start_p50_ms": round(statistics.median(starts) * 1000, 1),
        "start_worst_ms": round(max(starts) * 1000, 1),
        "first_token_p50_ms": round(statistics.median(firsts) * 1000, 1),
    }


def make_people(application: Application, count: int) -> list[Person]:
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", MAKE_PEOPLE.format(count=count)]
    environment = {**os.environ, **application.environment}
    made = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    keys = [line.removeprefix("KEY ") for line in made.splitlines() if line.startswith("KEY ")]
    return [Person(application.environment["PUBLIC_URL"], key, application.model) for key in keys]


async def measure(data: Path, *, quick: bool) -> dict[str, Any]:
    application = Application(data)
    people = make_people(application, max(AT_ONCE) + 1)
    for person in people[:-1]:
        await person.write(16)
    engine, model = application.environment["INFERENCE_ENGINE_URL"], application.model
    rows = await at_once(people, engine, model, quick=quick)
    await people[-1].write(48)
    return {"at_once": rows, "line": await in_line(application, people[-1], people[0], quick=quick)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a third of the rounds; no result file")
    quick = parser.parse_args().quick
    with running_application() as data:
        report = asyncio.run(measure(data, quick=quick))
    if not quick:
        machine = f"{os.cpu_count()} cores, Python {platform.python_version()}"
        report = {"machine": machine, "when": time.strftime("%Y-%m-%d %H:%M"), "load": os.getloadavg()[0], **report}
        RESULTS.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return int(not is_good(report))


def is_good(report: dict[str, Any]) -> bool:
    line = report["line"]
    return (
        all(row["overhead_p50_ms"] <= WANTED_MS for row in report["at_once"])
        and line["behind_the_line"]["start_worst_ms"] <= WANTED_START_MS
        and line["page_p95_ms"] <= WANTED_PAGE_MS
    )


if __name__ == "__main__":
    sys.exit(main())
