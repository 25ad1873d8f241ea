"""A process that is told to end: nothing new, what runs is finished, and what cannot be finished says so."""

import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from tests.inference_backend.conftest import start_service
from tests.inference_backend.limited import BODY, headers_of
from tests.inference_backend.running import ServiceProcess
from tests.inference_backend.scripted_engine import (
    DONE,
    End,
    Hang,
    Pause,
    ScriptedEngine,
    finish,
    text,
    usage,
)
from tests.waiting import PATIENCE_S, wait_until

LONG_S = 60


@pytest.fixture
def process(engine: ScriptedEngine, redis_url: str, tmp_path: Path) -> Iterator[ServiceProcess]:
    started = start_service(engine, tmp_path / "log", REDIS_URL=redis_url)
    yield started
    started.kill()


@pytest.fixture
def hasty(engine: ScriptedEngine, redis_url: str, tmp_path: Path) -> Iterator[ServiceProcess]:
    """Waits only for a second."""
    started = start_service(engine, tmp_path / "log", REDIS_URL=redis_url, INFERENCE_SHUTDOWN_S="1")
    yield started
    started.kill()


@pytest.fixture
def lasting(engine: ScriptedEngine, redis_url: str, tmp_path: Path) -> Iterator[ServiceProcess]:
    """Waits for longer than a busy machine takes for anything."""
    started = start_service(engine, tmp_path / "log", REDIS_URL=redis_url, INFERENCE_SHUTDOWN_S=str(LONG_S))
    yield started
    started.kill()


def ask(address: str, *, key: str | None = None, **changes: object) -> httpx2.Response:
    return httpx2.post(
        f"{address}/v1/messages", json=BODY | changes, headers=headers_of("ada", key=key), trust_env=False, timeout=30
    )


def is_draining(address: str) -> bool:
    response = httpx2.get(f"{address}/readyz", trust_env=False, timeout=30)
    return response.status_code == 503 and response.json()["status"] == "draining"


@pytest.mark.parametrize("stream", [True, False])
def test_what_runs_is_finished_while_new_requests_are_refused(
    engine: ScriptedEngine, process: ServiceProcess, stream: bool
) -> None:
    engine.play(text("one"), Pause(1.5), text(" two"), finish(), usage(5, 2), DONE, End())
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(ask, process.address, stream=stream)
        wait_until(lambda: engine.requests)
        process.running.send_signal(signal.SIGTERM)
        wait_until(lambda: is_draining(process.address))
        refused = ask(process.address)
        assert refused.status_code == 503
        assert refused.json()["error"]["details"]["error_code"] == "draining"
        assert refused.headers["retry-after"] == "1"
        assert httpx2.get(f"{process.address}/healthz", trust_env=False).status_code == 200
        finished = running.result(60)
    assert finished.status_code == 200
    assert "two" in finished.text
    assert ("message_stop" in finished.text) is stream
    assert process.running.wait(PATIENCE_S) in {0, -signal.SIGTERM}


def test_a_stream_that_takes_too_long_ends_with_an_error_event(engine: ScriptedEngine, hasty: ServiceProcess) -> None:
    engine.play(text("one"), Hang())
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(ask, hasty.address, stream=True)
        wait_until(lambda: engine.requests)
        hasty.running.send_signal(signal.SIGTERM)
        cut = running.result(60)
    assert cut.text.rstrip().splitlines()[-2] == "event: error"
    assert "draining" in cut.text
    assert "message_stop" not in cut.text
    assert hasty.running.wait(PATIENCE_S) in {0, -signal.SIGTERM}


def test_an_answer_that_takes_too_long_is_503_and_its_key_is_free_for_another_process(
    engine: ScriptedEngine, hasty: ServiceProcess, redis_url: str, tmp_path: Path
) -> None:
    key = f"draining-{time.time_ns()}"
    engine.play(text("one"), Hang())
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(ask, hasty.address, key=key)
        wait_until(lambda: engine.requests)
        hasty.running.send_signal(signal.SIGTERM)
        cut = running.result(60)
    assert cut.status_code == 503
    assert hasty.running.wait(PATIENCE_S) in {0, -signal.SIGTERM}
    successor = start_service(engine, tmp_path / "log2", REDIS_URL=redis_url)
    again = ask(successor.address, key=key)
    successor.kill()
    assert again.status_code == 200
    assert "idempotent-replayed" not in again.headers


def test_an_idle_process_ends_at_once(process: ServiceProcess) -> None:
    process.running.send_signal(signal.SIGTERM)
    assert process.running.wait(PATIENCE_S) in {0, -signal.SIGTERM}


def test_a_second_signal_does_not_wait(engine: ScriptedEngine, lasting: ServiceProcess) -> None:
    engine.play(text("one"), Hang())
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(ask, lasting.address, stream=True)
        wait_until(lambda: engine.requests)
        lasting.running.send_signal(signal.SIGTERM)
        wait_until(lambda: is_draining(lasting.address))
        lasting.running.send_signal(signal.SIGTERM)
        assert lasting.running.wait(LONG_S / 2) in {0, -signal.SIGTERM}
        assert running.exception(PATIENCE_S) is not None or "message_stop" not in running.result().text
