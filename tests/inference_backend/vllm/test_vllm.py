"""A real vLLM behind the service: the SDKs' table, callers that leave, order by tier, and its two ways to die."""

import contextlib
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import psutil
import pytest

from tests.inference_backend.conformance import model_cases
from tests.inference_backend.conformance.drivers import departures, outcomes_of_all
from tests.inference_backend.declared import Declared, in_state, metric
from tests.inference_backend.running import EMBEDDED_MODEL, SERVICE_KEY, answers
from tests.inference_backend.vllm.server import VllmServer
from tests.waiting import wait_until

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(900)]
TIMEOUTS = {"queue_s": 120.0, "first_token_s": 60.0, "between_tokens_s": 20.0, "total_s": 180.0}
OLD = {"anthropic-version": "2023-06-01"}
WIDE = """
[tiers.free]
delay_low_ms = 60000
delay_high_ms = 120000
concurrency = 100
"""
WAITING = 'inference_queue_waiting{model="smollm2-135m-instruct",tier="free"}'
STORY = "Tell me a long story about a ship, its crew and the sea."


@pytest.fixture(scope="module")
def server() -> Iterator[VllmServer]:
    started = VllmServer()
    started.start()
    yield started
    started.kill()


def declare(path: Path, server: VllmServer, **keys: Any) -> Declared:
    declared = Declared(path / "inference.toml", id=EMBEDDED_MODEL, timeouts=TIMEOUTS)
    declared.replicas["vllm"] = {"name": "vllm", "engine": "vllm", "url": server.url, **keys}
    return declared


def ask(address: str, *, tier: str = "internal", **more: Any) -> anthropic.types.Message:
    params: dict[str, Any] = {
        "model": EMBEDDED_MODEL,
        "max_tokens": 24,
        "messages": [{"role": "user", "content": STORY}],
        "extra_headers": OLD | {"x-playground-tier": tier, "x-playground-account": f"account-{tier}"},
        "extra_body": {"temperature": 0.0},
    }
    with anthropic.Anthropic(base_url=address, api_key=SERVICE_KEY, max_retries=0, timeout=180) as client:
        answer: anthropic.types.Message = client.messages.create(**(params | more))
        return answer


def running(server: VllmServer) -> float:
    """Answers that vLLM itself says it is writing."""
    text = httpx2.get(f"{server.url}/metrics", trust_env=False, timeout=30).text
    rows = [row for row in text.splitlines() if row.startswith("vllm:num_requests_running")]
    return sum(float(row.rsplit(" ", 1)[1]) for row in rows)


def test_every_sdk_gets_from_the_model_what_the_table_says(server: VllmServer, tmp_path: Path) -> None:
    cases = model_cases.cases()
    with declare(tmp_path, server).write().served() as address:
        seen = outcomes_of_all(cases, base_url=address, key=SERVICE_KEY, parallel=1)
    assert departures(cases, seen) == []
    for outcomes in seen.values():
        used = outcomes[model_cases.USE_CASE]["message"]["usage"]["input_tokens"]
        assert outcomes[model_cases.COUNT_CASE]["input_tokens"] == used


@pytest.mark.parametrize("stream", [True, False])
def test_leaving_ends_the_work_of_the_engine(server: VllmServer, tmp_path: Path, stream: bool) -> None:
    body = {
        "model": EMBEDDED_MODEL,
        "max_tokens": 800,
        "stream": stream,
        "messages": [{"role": "user", "content": STORY}],
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "array", "minItems": 400}}},
    }
    with declare(tmp_path, server).write().served() as address:
        leave_after(3, address, body)
        wait_until(lambda: running(server) == 0)


def leave_after(seconds: float, address: str, body: dict[str, Any]) -> None:
    started = time.monotonic()
    with contextlib.suppress(httpx2.ReadTimeout), httpx2.Client(trust_env=False, timeout=seconds) as client:
        headers = {"x-api-key": SERVICE_KEY, **OLD}
        with client.stream("POST", f"{address}/v1/messages", json=body, headers=headers) as response:
            for _ in response.iter_lines():
                if time.monotonic() - started > seconds:
                    return


def test_who_pays_is_next_however_many_wait(server: VllmServer, tmp_path: Path) -> None:
    finished: list[str] = []

    def wait_for(tier: str) -> None:
        ask(address, tier=tier, max_tokens=12)
        finished.append(tier)

    declared = declare(tmp_path, server, slots=1)
    declared.write_text(declared.write().path.read_text() + WIDE)
    with declared.served() as address, ThreadPoolExecutor(11) as pool:
        asked = [pool.submit(wait_for, "free") for _ in range(10)]
        wait_until(lambda: metric(address, WAITING) >= 5)
        before = len(finished)
        asked.append(pool.submit(wait_for, "internal"))
        for one in asked:
            one.result(180)
    # The one that was being written, and those that ended while the request was on its way.
    assert finished.index("internal") - before <= 3


@pytest.fixture(scope="module")
def twin() -> Iterator[VllmServer]:
    started = VllmServer()
    started.start()
    yield started
    started.kill()


@pytest.fixture
def both(server: VllmServer, twin: VllmServer, tmp_path: Path) -> Iterator[str]:
    yield from served(server, twin, tmp_path)


def served(server: VllmServer, twin: VllmServer, path: Path) -> Iterator[str]:
    declared = declare(path, server)
    declared.replicas["vllm-twin"] = declared.replicas["vllm"] | {"name": "vllm-twin", "url": twin.url}
    with declared.write().served() as address:
        yield address


@pytest.fixture
def both_again(server: VllmServer, twin: VllmServer, tmp_path: Path) -> Iterator[str]:
    """After a test that may have killed one of them."""
    for one in (server, twin):
        if not answers(f"{one.url}/health"):
            one.kill()
            one.start()
    yield from served(server, twin, tmp_path)


def read_until_lost(address: str, lose: Any) -> tuple[str, anthropic.types.Message]:
    """A stream whose engine dies after some of its pieces."""
    with (
        anthropic.Anthropic(base_url=address, api_key=SERVICE_KEY, max_retries=0, timeout=180) as client,
        client.messages.stream(
            model=EMBEDDED_MODEL,
            max_tokens=60,
            messages=[{"role": "user", "content": STORY}],
            extra_headers=OLD,
            extra_body={"temperature": 0.0},
        ) as stream,
    ):
        text = ""
        for number, piece in enumerate(stream.text_stream):
            text += piece
            if number == 8:
                lose()
        return text, stream.get_final_message()


def busy_one(servers: list[VllmServer]) -> VllmServer:
    return next(one for one in servers if running(one))


def core_of(server: VllmServer) -> psutil.Process:
    """The process that computes; the one that speaks HTTP is its parent."""
    children = psutil.Process(server.pid).children(recursive=True)
    return next(child for child in children if "EngineCore" in " ".join(child.cmdline()))


def test_an_engine_that_dies_inside_is_continued_by_another(server: VllmServer, twin: VllmServer, both: str) -> None:
    undisturbed, _ = read_until_lost(both, lambda: None)
    text, message = read_until_lost(both, lambda: core_of(busy_one([server, twin])).kill())
    assert (text, message.stop_reason) == (undisturbed, "max_tokens")
    wait_until(lambda: len(in_state(both, "ready")) == 1)


def test_an_engine_that_is_killed_is_continued_by_another_and_taken_back(
    server: VllmServer, twin: VllmServer, both_again: str
) -> None:
    undisturbed, _ = read_until_lost(both_again, lambda: None)
    killed: list[VllmServer] = []

    def kill() -> None:
        killed.append(busy_one([server, twin]))
        killed[0].kill()

    text, message = read_until_lost(both_again, kill)
    assert (text, message.stop_reason) == (undisturbed, "max_tokens")
    killed[0].start()
    wait_until(lambda: len(in_state(both_again, "ready")) == 2, within_s=90)
