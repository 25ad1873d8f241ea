"""More than can be done: who is turned away, how, and that nothing of it stays."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import psutil
import pytest

from tests.inference_backend.declared import metric
from tests.inference_backend.limited import BODY, ask, headers_of, limited
from tests.inference_backend.running import SERVICE_KEY, ServiceProcess, answers, running_backend
from tests.inference_backend.scripted_engine import MODEL, Hang, Pause, ScriptedEngine, Step, text
from tests.waiting import until_beside, wait_until

STREAMS = 1500
#: Beyond this many requests of all tiers together the service says no.
PLACES = 600


@pytest.fixture
def narrow() -> Iterator[ScriptedEngine]:
    """An engine with one slot."""
    engine = ScriptedEngine(slots=1)
    engine.start()
    yield engine
    engine.stop()


@pytest.mark.parametrize("stream", [True, False])
def test_a_full_queue_is_529_before_any_header_of_a_stream(
    narrow: ScriptedEngine, redis_url: str, tmp_path: Path, stream: bool
) -> None:
    settings = limited(tmp_path, narrow, redis_url, delay_low_ms=1, delay_high_ms=2)
    narrow.play(text("one"), Hang())
    with running_backend(settings) as address, ThreadPoolExecutor(4) as pool:
        with httpx2.stream(
            "POST",
            f"{address}/v1/messages",
            json=BODY | {"stream": True, "max_tokens": 4000},
            headers=headers_of("ada"),
            trust_env=False,
        ) as held:
            lines = held.iter_lines()
            next(lines)
            waiting = [pool.submit(ask, address, "bob", max_tokens=4000) for _ in range(4)]
            wait_until(lambda: any(one.done() for one in waiting))
            refused = ask(address, "eve", stream=stream)
        assert refused.status_code == 529
        assert refused.json()["error"]["type"] == "overloaded_error"
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert {one.result(60).status_code for one in waiting} <= {200, 529}


def test_an_sdk_left_to_itself_makes_three_calls_and_gives_up(
    engine: ScriptedEngine, redis_url: str, tmp_path: Path
) -> None:
    settings = limited(tmp_path, engine, redis_url, concurrency=1)
    engine.play(text("one"), Hang())
    with (
        running_backend(settings) as address,
        httpx2.stream(
            "POST",
            f"{address}/v1/messages",
            json=BODY | {"stream": True},
            headers=headers_of("ada"),
            trust_env=False,
        ) as held,
        anthropic.Anthropic(
            base_url=address, api_key=SERVICE_KEY, default_headers=headers_of("ada"), timeout=10
        ) as client,
    ):
        lines = held.iter_lines()
        next(lines)
        with pytest.raises(anthropic.RateLimitError):
            client.messages.create(**BODY)
        assert metric(address, 'inference_requests_total{path="/v1/messages",status="429",tier="free"}') == 3


class Streams:
    """Open streams over plain sockets: httpx would spend the machine on this side."""

    def __init__(self, address: str, body: dict[str, Any]) -> None:
        host, port = address.removeprefix("http://").split(":")
        self._host, self._port = host, int(port)
        content = json.dumps(body).encode()
        head = "".join(f"{name}: {value}\r\n" for name, value in headers_of("crowd", tier="internal").items())
        self._request = (
            f"POST /v1/messages HTTP/1.1\r\nhost: x\r\n{head}content-length: {len(content)}\r\n\r\n".encode() + content
        )
        self._writers: list[asyncio.StreamWriter] = []

    async def open(self, count: int) -> list[int]:
        """The status of each, as soon as it is known; the connections stay open."""
        return list(await asyncio.gather(*(self._open_one() for _ in range(count))))

    async def _open_one(self) -> int:
        reader, writer = await asyncio.open_connection(self._host, self._port)
        self._writers.append(writer)
        writer.write(self._request)
        async with asyncio.timeout(90):
            line = await reader.readline()
        return int(line.split()[1])

    def drop(self) -> None:
        for writer in self._writers:
            writer.transport.abort()


def start_process(folder: Path, engine: ScriptedEngine, redis_url: str, **changes: str) -> ServiceProcess:
    limited(folder, engine, redis_url)
    process = ServiceProcess(
        folder / "log",
        {
            "INFERENCE_CONFIG": str(folder / "inference.toml"),
            "INFERENCE_SERVICE_KEY": SERVICE_KEY,
            "REDIS_URL": redis_url,
            **changes,
        },
    )
    wait_until(lambda: answers(f"{process.address}/readyz"))
    return process


async def test_fifteen_hundred_streams_at_once_are_answered_or_refused_and_leave_nothing_behind(
    engine: ScriptedEngine, redis_url: str, tmp_path: Path
) -> None:
    for _ in range(engine.slots):
        engine.play(text("one"), Hang())
    process = start_process(tmp_path, engine, redis_url, INFERENCE_MAX_IN_FLIGHT=str(PLACES))
    try:
        streams = Streams(process.address, BODY | {"stream": True})
        statuses = Counter(await streams.open(STREAMS))
        assert set(statuses) == {200, 529}
        assert statuses[200] <= PLACES
        assert (await asyncio.to_thread(answers, f"{process.address}/healthz")) is True
        streams.drop()
        await until_beside(lambda: metric(process.address, "inference_in_flight") == 0)
        await until_beside(lambda: metric(process.address, f'inference_running{{model="{MODEL}"}}') == 0)
        assert process.running.poll() is None
        engine.forget()
        assert (await asyncio.to_thread(ask, process.address, "ada")).status_code == 200
    finally:
        process.kill()


async def test_large_streams_that_are_dropped_do_not_stop_the_others(
    engine: ScriptedEngine, redis_url: str, tmp_path: Path
) -> None:
    """Nothing is counted, joined or written again for callers who have left."""
    large = text("a word and " * 5_000)
    endless: list[Step] = [text("one"), *(step for _ in range(300) for step in (large, Pause(0.1)))]
    for _ in range(30):
        engine.play(*endless)
    process = start_process(tmp_path, engine, redis_url)
    try:
        streams = Streams(process.address, BODY | {"stream": True, "max_tokens": 4000})
        assert Counter(await streams.open(30)) == {200: 30}
        await asyncio.sleep(0.5)
        worked_s = cpu_s(process)
        streams.drop()
        await until_beside(lambda: metric(process.address, "inference_in_flight") == 0)
        # Some 100 ms. The clock on the wall would tell what else the machine does.
        assert cpu_s(process) - worked_s < 1
    finally:
        process.kill()


def cpu_s(process: ServiceProcess) -> float:
    times = psutil.Process(process.running.pid).cpu_times()
    return times.user + times.system
