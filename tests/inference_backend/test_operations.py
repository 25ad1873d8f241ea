"""What an operator sees: the process, its log lines, its metrics, its limit."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from inference_backend.status.history import History
from tests.inference_backend.conftest import settings_for, start_service
from tests.inference_backend.running import SERVICE_KEY, ServiceProcess, answers, running_backend
from tests.inference_backend.scripted_engine import MODEL, Hang, ScriptedEngine, frame, text
from tests.waiting import PATIENCE_S, wait_until

HEADERS = {"x-api-key": SERVICE_KEY, "anthropic-version": "2023-06-01"}
GOOD: dict[str, Any] = {
    "model": MODEL,
    "max_tokens": 50,
    "messages": [{"role": "user", "content": "a private thought"}],
}


@pytest.fixture
def process(engine: ScriptedEngine, tmp_path: Path) -> Iterator[ServiceProcess]:
    started = start_service(engine, tmp_path / "log")
    yield started
    started.running.kill()
    started.running.wait(PATIENCE_S)


def test_a_request_is_one_json_line_without_anything_private_and_sigterm_ends_the_process(
    engine: ScriptedEngine, process: ServiceProcess
) -> None:
    caller = HEADERS | {"x-playground-account": "0199-ada", "x-playground-tier": "free"}

    def post(body: dict[str, Any]) -> httpx2.Response:
        return httpx2.post(f"{process.address}/v1/messages", json=body, headers=caller, trust_env=False)

    good = post(GOOD)
    post(GOOD | {"max_tokens": "a private thought"})
    post(GOOD | {"a private thought": 1})
    post(GOOD | {"model": "a private thought"})
    engine.play(text("private answer"), frame('{"private answer'))
    post(GOOD)
    httpx2.get(f"{process.address}/v1/models?a+private", headers={"x-api-key": "private-key"}, trust_env=False)

    line, *others = process.request_lines(6)
    assert len(others) == 5
    assert line["request_id"] == good.headers["request-id"]
    assert (line["status"], line["account"], line["tier"], line["model"]) == (200, "0199-ada", "free", MODEL)
    assert (line["input_tokens"], line["output_tokens"]) == (5, 2)
    assert line["duration_s"] >= line["first_token_s"] > 0

    process.running.send_signal(signal.SIGTERM)
    assert process.running.wait(PATIENCE_S) in {0, -signal.SIGTERM}
    log = "".join(map(json.dumps, process.lines()))
    assert "private" not in log
    assert SERVICE_KEY not in log


def test_a_process_without_configuration_says_what_is_missing() -> None:
    tried = subprocess.run(
        [sys.executable, "-m", "inference_backend", "serve"],
        env={"PATH": os.environ["PATH"], "INFERENCE_SERVICE_KEY": "k"},
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    assert tried.returncode == 1
    assert "INFERENCE_ENGINE_URL must be" in tried.stderr
    assert "Traceback" not in tried.stderr


def test_requests_tokens_and_latencies_are_measured(own_backend: str) -> None:
    assert httpx2.post(f"{own_backend}/v1/messages", json=GOOD, headers=HEADERS, trust_env=False).status_code == 200
    for line in (
        'inference_requests_total{path="/v1/messages",status="200",tier="internal"} 1.0',
        'inference_tokens_total{direction="input",tier="internal"} 5.0',
        'inference_tokens_total{direction="output",tier="internal"} 2.0',
        'inference_first_token_seconds_count{tier="internal"} 1.0',
        'inference_replicas{model="scripted",state="ready"} 1.0',
        "inference_in_flight 0.0",
    ):
        wait_until(partial(shows, own_backend, line))


def shows(address: str, line: str) -> bool:
    return line in httpx2.get(f"{address}/metrics", trust_env=False).text


def test_beyond_the_limit_of_requests_in_flight_the_answer_is_529(engine: ScriptedEngine) -> None:
    settings = settings_for(engine.url, INFERENCE_ENGINE_MODEL=MODEL, INFERENCE_MAX_IN_FLIGHT=2)
    with running_backend(settings) as address, ThreadPoolExecutor(2) as pool:

        def occupy() -> None:
            with httpx2.stream(
                "POST", f"{address}/v1/messages", json=GOOD | {"stream": True}, headers=HEADERS, trust_env=False
            ) as response:
                assert response.status_code == 200
                lines = response.iter_lines()
                while "content_block_delta" not in next(lines):
                    pass
                wait_until(lambda: refused)

        refused: list[httpx2.Response] = []
        engine.play(text("one"), Hang())
        engine.play(text("one"), Hang())
        busy = [pool.submit(occupy) for _ in range(2)]
        wait_until(lambda: len(engine.requests) == 2)
        try:
            refused.append(httpx2.post(f"{address}/v1/messages", json=GOOD, headers=HEADERS, trust_env=False))
        finally:
            refused = refused or [httpx2.Response(0)]
        for one in busy:
            one.result(60)
        assert refused[0].status_code == 529
        assert refused[0].json()["error"]["type"] == "overloaded_error"
        assert refused[0].headers["retry-after"] == "1"
        wait_until(lambda: "inference_in_flight 0.0" in httpx2.get(f"{address}/metrics", trust_env=False).text)
        for _ in range(3):
            assert httpx2.post(f"{address}/v1/messages", json=GOOD, headers=HEADERS, trust_env=False).status_code == 200


def test_an_end_of_the_upkeep_is_told(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(_: History) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(History, "watch", broken)
    with running_backend(settings_for(engine.url, INFERENCE_ENGINE_MODEL=MODEL)) as address:
        wait_until(lambda: any("upkeep has ended" in record.message for record in caplog.records))
        assert answers(f"{address}/readyz")
