"""An open-loop load generator: requests leave when a Poisson process says so, whether or not earlier ones came back.

    python -m benchmarks.load --url http://127.0.0.1:8090/v1/embeddings --rate 2000 --seconds 10 --body '{"input": "x"}'

It speaks HTTP/1.1 over kept connections on bare sockets, because at 2,000 requests/s on the same two cores a client
library would be measured instead of the server. Prints one JSON object: see `Report`. `late_p99_ms` is how late
requests left, and `cpu_share` the part of one core that the generator used: where either is high, the generator is
the limit and the figures are the machine's, not the server's.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import cast
from urllib.parse import urlsplit

import uvloop

GIVE_UP_S = 35.0
MOST_CONNECTIONS = 4000


@dataclass(kw_only=True)
class Report:
    """Times in milliseconds, of answers with status 200 only; `unanswered` got nothing within GIVE_UP_S.

    In those that end with `_of_all` a request without such an answer counts as one that came infinitely late, which is
    None: a server that loses requests is not the quicker for it.
    """

    sent: int
    seconds: float
    statuses: dict[str, int]
    served_per_s: float
    p50_ms: float
    p99_ms: float
    worst_ms: float
    p99_ms_of_all: float | None
    p999_ms_of_all: float | None
    worst_ms_of_all: float | None
    unanswered: int
    late_p99_ms: float
    cpu_share: float


class Connection(asyncio.Protocol):
    """One request at a time; `answered` gets the status, or None where the connection broke."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.transport: asyncio.Transport | None = None
        self.sent_at = 0.0
        self.busy = False
        self.buffer = bytearray()
        self.needed = -1
        self.status = 0
        self.is_chunked = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transport is no subclass of it.
        self.transport = cast("asyncio.Transport", transport)

    def send(self, data: bytes) -> None:
        assert self.transport
        self.busy, self.needed = True, -1
        self.buffer.clear()
        self.sent_at = time.perf_counter()
        self.transport.write(data)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if self.needed < 0:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = bytes(self.buffer[:end]).lower()
            self.status = int(head[9:12])
            self.is_chunked = b"transfer-encoding: chunked" in head
            self.needed = end + 4 + (0 if self.is_chunked else _content_length(head))
        if self.busy and self._is_complete():
            self.busy = False
            self.load.answered(self, self.status)

    def _is_complete(self) -> bool:
        if self.is_chunked:
            return self.buffer.endswith(b"0\r\n\r\n")
        return self.needed <= len(self.buffer)

    def connection_lost(self, exc: Exception | None) -> None:
        self.load.lost(self)


def _content_length(head: bytes) -> int:
    at = head.find(b"content-length:")
    if at < 0:
        return 0
    return int(head[at + 15 :].split(b"\r\n", 1)[0])


@dataclass(kw_only=True)
class Load:
    host: str
    port: int
    request: bytes
    rate: float
    seconds: float
    seed: int = 1
    idle: deque[Connection] = field(default_factory=deque)
    statuses: Counter[str] = field(default_factory=Counter)
    times: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    open: int = 0
    sent: int = 0
    ended: int = 0
    all_sent: bool = False
    finished: asyncio.Event = field(default_factory=asyncio.Event)

    def answered(self, connection: Connection, status: int) -> None:
        self.ended += 1
        self.statuses[str(status)] += 1
        if status == 200:
            self.times.append(time.perf_counter() - connection.sent_at)
        self.idle.append(connection)
        self._check_end()

    def lost(self, connection: Connection) -> None:
        self.open -= 1
        if connection.busy:
            self.ended += 1
            self.statuses["cut"] += 1
            self._check_end()
        elif connection in self.idle:
            self.idle.remove(connection)

    async def connect(self) -> Connection | None:
        if self.open >= MOST_CONNECTIONS:
            return None
        self.open += 1
        try:
            _, protocol = await asyncio.get_running_loop().create_connection(
                lambda: Connection(self), self.host, self.port
            )
        except OSError:
            self.open -= 1
            return None
        return protocol

    async def run(self) -> None:
        start = time.perf_counter()
        opening: set[asyncio.Task[None]] = set()
        for after_s in departures(self.rate, self.seconds, self.seed):
            due = start + after_s
            pause = due - time.perf_counter()
            if pause > 0.0005:
                await asyncio.sleep(pause)
            self.sent += 1
            self.late.append(max(0.0, time.perf_counter() - due))
            if self.idle:
                # The connection used last: the others stay idle and cost nothing.
                self.idle.pop().send(self.request)
            else:
                task = asyncio.create_task(self._send_on_new())
                opening.add(task)
                task.add_done_callback(opening.discard)
        self.all_sent = True
        self._check_end()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GIVE_UP_S):
                await self.finished.wait()

    def _check_end(self) -> None:
        if self.all_sent and self.ended >= self.sent:
            self.finished.set()

    async def _send_on_new(self) -> None:
        connection = await self.connect()
        if connection is None:
            self.ended += 1
            self.statuses["no connection"] += 1
            self._check_end()
        else:
            connection.send(self.request)


def departures(rate: float, seconds: float, seed: int) -> Iterator[float]:
    """When requests leave, in seconds from the start: a Poisson process, the same for the same seed."""
    generator = random.Random(seed)
    at = 0.0
    while (at := at + generator.expovariate(rate)) < seconds:
        yield at


def quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def quantile_of_all(values: list[float], sent: int, share: float) -> float | None:
    """In milliseconds. `values` are of those that were answered."""
    if len(values) <= min(sent - 1, int(share * sent)):
        return None
    return round(sorted(values)[min(sent - 1, int(share * sent))] * 1000, 1)


async def measure(load: Load, warm_up: int) -> Report:
    for connection in await asyncio.gather(*(load.connect() for _ in range(warm_up))):
        if connection:
            load.idle.append(connection)
    started, cpu = time.perf_counter(), time.process_time()
    await load.run()
    spent = time.process_time() - cpu
    return Report(
        sent=load.sent,
        seconds=load.seconds,
        statuses=dict(load.statuses),
        served_per_s=round(len(load.times) / load.seconds, 1),
        p50_ms=round(quantile(load.times, 0.5) * 1000, 1),
        p99_ms=round(quantile(load.times, 0.99) * 1000, 1),
        worst_ms=round(max(load.times, default=0.0) * 1000, 1),
        p99_ms_of_all=quantile_of_all(load.times, load.sent, 0.99),
        p999_ms_of_all=quantile_of_all(load.times, load.sent, 0.999),
        worst_ms_of_all=quantile_of_all(load.times, load.sent, 1.0),
        unanswered=load.sent - load.ended,
        late_p99_ms=round(quantile(load.late, 0.99) * 1000, 1),
        cpu_share=round(spent / (time.perf_counter() - started), 3),
    )


def http_request(url: str, body: str, headers: list[str]) -> bytes:
    parts = urlsplit(url)
    data = body.encode()
    lines = [
        f"POST {parts.path or '/'} HTTP/1.1",
        f"host: {parts.netloc}",
        "content-type: application/json",
        f"content-length: {len(data)}",
        *headers,
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--url", required=True)
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--body", required=True)
    parser.add_argument("--header", action="append", default=[])
    parser.add_argument("--warm-up", type=int, default=32, help="connections opened before the clock starts")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    parts = urlsplit(given.url)
    if parts.hostname not in {"127.0.0.1", "localhost", "::1"}:
        sys.exit("only this machine is a target")
    load = Load(
        host=parts.hostname,
        port=parts.port or 80,
        request=http_request(given.url, given.body, given.header),
        rate=given.rate,
        seconds=given.seconds,
        seed=given.seed,
    )
    report = uvloop.run(measure(load, given.warm_up))
    print(json.dumps(asdict(report)))


if __name__ == "__main__":
    main()
