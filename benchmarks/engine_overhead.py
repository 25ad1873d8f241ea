"""What the inference tier adds to its engine: the same answers through it and from llama.cpp directly, in one run.

    python -m benchmarks.engine_overhead [--quick]

`overhead`: answers of one token, one after the other, alternating between the two ways; the difference of the medians
is what a caller waits for us. `streams`: 8 and 16 answers of 128 tokens at once, in alternating blocks; the ratio of
tokens/s is what we cost the engine, with both on the same cores. Each prompt begins with a number of its own, so no
cache knows it. Exits with 1 where the overhead is above 5 ms or a ratio below 0.97.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from benchmarks.batch_servers import KEY, ROOT, free_ports, process
from embedded.engine import MODEL_ALIAS

RESULTS = ROOT / "benchmarks" / "results" / "engine_overhead.json"
PROMPT = "Tell a long story about a harbour, its ships, and the people who work there by night."
WANTED_OVERHEAD_MS = 5.0
WANTED_RATIO = 0.97
TIMEOUT_S = 300.0
START_S = 60


@dataclass(frozen=True, kw_only=True)
class Way:
    name: str
    port: int
    path: str
    key: str
    tokens_of: Callable[[dict[str, Any]], int]

    def body(self, number: int, tokens: int, *, stream: bool) -> dict[str, Any]:
        prompt = f"{number}. {PROMPT}"
        messages = [{"role": "user", "content": prompt}]
        return {
            "model": MODEL_ALIAS,
            "max_tokens": tokens,
            "temperature": 0.0,
            "stream": stream,
            "messages": messages,
        } | ({"stream_options": {"include_usage": True}} if stream and self.name == "direct" else {})

    async def ask(self, number: int, tokens: int, *, stream: bool) -> int:
        """The number of tokens of one answer. On a bare socket, so that the client costs both ways the same little."""
        body = json.dumps(self.body(number, tokens, stream=stream)).encode()
        head = (
            f"POST {self.path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nconnection: close\r\n"
            f"authorization: Bearer {self.key}\r\nanthropic-version: 2023-06-01\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        async with asyncio.timeout(TIMEOUT_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            writer.write(head.encode() + body)
            answer = await reader.read()
            writer.close()
        if not answer.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"{self.name}: {answer[:300]!r}")
        return self._count(answer, stream=stream)

    def _count(self, answer: bytes, *, stream: bool) -> int:
        if not stream:
            start, end = answer.index(b"{"), answer.rindex(b"}")
            return self.tokens_of(json.loads(answer[start : end + 1]))
        found = 0
        for line in answer.split(b"\n"):
            if line.startswith(b"data: {") and b"usage" in line:
                found = max(found, self.tokens_of(json.loads(line[6:])))
        return found


def _direct_tokens(event: dict[str, Any]) -> int:
    return int((event.get("usage") or {}).get("completion_tokens") or 0)


def _our_tokens(event: dict[str, Any]) -> int:
    return int((event.get("usage") or {}).get("output_tokens") or 0)


@contextlib.contextmanager
def both_ways(slots: int) -> Iterator[tuple[Way, Way]]:
    engine_port, port = free_ports(2)
    engine = [sys.executable, "-m", "embedded.engine", "--port", str(engine_port), "--slots", str(slots)]
    environment = {
        "INFERENCE_ENGINE_URL": f"http://127.0.0.1:{engine_port}",
        "INFERENCE_ENGINE_MODEL": MODEL_ALIAS,
        "INFERENCE_SERVICE_KEY": KEY,
        "REDIS_URL": "",
    }
    service = [sys.executable, "-m", "inference_backend", "serve", "--port", str(port)]
    with process(engine), process(service, environment):
        _wait(f"http://127.0.0.1:{port}/readyz")
        direct = Way(name="direct", port=engine_port, path="/v1/chat/completions", key=KEY, tokens_of=_direct_tokens)
        yield direct, Way(name="ours", port=port, path="/v1/messages", key=KEY, tokens_of=_our_tokens)


def _wait(url: str) -> None:
    give_up = time.monotonic() + START_S
    while time.monotonic() < give_up:
        with contextlib.suppress(httpx2.HTTPError):
            if httpx2.get(url, timeout=2, trust_env=False).status_code == 200:
                return
        time.sleep(0.1)
    raise SystemExit(f"{url} was not ready within {START_S} s")


async def measure_overhead(ways: tuple[Way, Way], rounds: int) -> dict[str, float]:
    times: dict[str, list[float]] = {way.name: [] for way in ways}
    for number in range(rounds):
        for way in ways if number % 2 else ways[::-1]:
            started = time.perf_counter()
            await way.ask(number * 2 + (way is ways[0]), 1, stream=False)
            times[way.name].append((time.perf_counter() - started) * 1000)
    medians = {name: statistics.median(values) for name, values in times.items()}
    return {
        "direct_p50_ms": round(medians["direct"], 2),
        "ours_p50_ms": round(medians["ours"], 2),
        "overhead_p50_ms": round(medians["ours"] - medians["direct"], 2),
    }


async def measure_streams(ways: tuple[Way, Way], streams: int, tokens: int, blocks: int) -> dict[str, float]:
    rates: dict[str, list[float]] = {way.name: [] for way in ways}
    number = 10_000 * streams
    for block in range(blocks):
        for way in ways if block % 2 else ways[::-1]:
            number += streams
            started = time.perf_counter()
            counts = await asyncio.gather(*(way.ask(number + each, tokens, stream=True) for each in range(streams)))
            rates[way.name].append(sum(counts) / (time.perf_counter() - started))
    medians = {name: statistics.median(values) for name, values in rates.items()}
    return {
        "streams": streams,
        "direct_tokens_per_s": round(medians["direct"], 1),
        "ours_tokens_per_s": round(medians["ours"], 1),
        "ratio": round(medians["ours"] / medians["direct"], 3),
    }


async def measure(rounds: int, tokens: int, blocks: int) -> dict[str, Any]:
    with both_ways(slots=8) as ways:
        for way in ways:
            await way.ask(0, 8, stream=True)
        overhead = await measure_overhead(ways, rounds)
        print(overhead, flush=True)
        streams = []
        for count in (8, 16):
            streams.append(await measure_streams(ways, count, tokens, blocks))
            print(streams[-1], flush=True)
    return {"overhead": overhead, "streams": streams}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine_overhead")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    found = asyncio.run(measure(*((20, 32, 2) if given.quick else (60, 128, 6))))
    problems = [
        f"ratio {each['ratio']} at {each['streams']}" for each in found["streams"] if each["ratio"] < WANTED_RATIO
    ]
    if found["overhead"]["overhead_p50_ms"] > WANTED_OVERHEAD_MS:
        problems.append(f"overhead {found['overhead']['overhead_p50_ms']} ms")
    for problem in problems:
        print(f"short: {problem}")
    if not given.quick:
        machine = f"{os.cpu_count()} cores, Python {platform.python_version()}"
        found = {"command": "python -m benchmarks.engine_overhead", "machine": machine, **found, "short": problems}
        Path(RESULTS).write_text(json.dumps(found, indent=1) + "\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
