"""A caller that leaves stops the work, all the way down to the slot of the real engine."""

import socket
import time
from typing import Any

import httpx2
import pytest

from tests.inference_backend.running import EMBEDDED_MODEL, SERVICE_KEY, EmbeddedEngine, wait_until
from tests.inference_backend.scripted_engine import MODEL, Hang, ScriptedEngine, text

HEADERS = {"x-api-key": SERVICE_KEY, "anthropic-version": "2023-06-01"}
# A schema that only ends after far more tokens than the test waits for.
ENDLESS = {
    "format": {"type": "json_schema", "schema": {"type": "array", "minItems": 400, "items": {"type": "boolean"}}}
}


def long_request(*, stream: bool, model: str = EMBEDDED_MODEL) -> dict[str, Any]:
    return {
        "model": model,
        "max_tokens": 400,
        "stream": stream,
        "messages": [{"role": "user", "content": "Say true again and again."}],
        "output_config": ENDLESS,
    }


@pytest.mark.model
def test_leaving_a_stream_frees_the_slot_within_a_second(model_backend: str, embedded_engine: EmbeddedEngine) -> None:
    with httpx2.stream(
        "POST", f"{model_backend}/v1/messages", json=long_request(stream=True), headers=HEADERS, trust_env=False
    ) as response:
        lines = response.iter_lines()
        while "content_block_delta" not in next(lines):
            pass
        assert embedded_engine.busy_slots() == 1
    wait_until(lambda: embedded_engine.busy_slots() == 0, within_s=1.0)


@pytest.mark.model
def test_leaving_a_whole_answer_frees_the_slot_within_a_second(
    model_backend: str, embedded_engine: EmbeddedEngine
) -> None:
    with httpx2.Client(trust_env=False) as client, pytest.raises(httpx2.ReadTimeout):
        client.post(
            f"{model_backend}/v1/messages",
            json=long_request(stream=False),
            headers=HEADERS,
            timeout=httpx2.Timeout(5, read=0.6),
        )
    wait_until(lambda: embedded_engine.busy_slots() == 0, within_s=1.0)


@pytest.mark.parametrize("stream", [True, False])
def test_leaving_before_the_first_token_closes_the_connection_to_the_engine(
    engine: ScriptedEngine, backend: str, stream: bool
) -> None:
    engine.play(Hang())
    with httpx2.Client(trust_env=False) as client, pytest.raises(httpx2.ReadTimeout):
        client.post(
            f"{backend}/v1/messages",
            json=long_request(stream=stream, model=MODEL),
            headers=HEADERS,
            timeout=httpx2.Timeout(5, read=0.3),
        )
    assert engine.caller_left.wait(1)


def test_leaving_is_counted_and_gives_the_place_back(own_engine: ScriptedEngine, own_backend: str) -> None:
    own_engine.play(text("one"), Hang())
    with httpx2.stream(
        "POST",
        f"{own_backend}/v1/messages",
        json=long_request(stream=True, model=MODEL),
        headers=HEADERS,
        trust_env=False,
    ) as response:
        next(response.iter_lines())
    wait_until(lambda: "inference_client_disconnects_total 1.0" in metrics(own_backend), within_s=2)
    wait_until(lambda: "inference_in_flight 0.0" in metrics(own_backend), within_s=2)


def test_leaving_in_the_middle_of_the_body_reaches_no_engine(own_engine: ScriptedEngine, own_backend: str) -> None:
    host, port = own_backend.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(
            f"POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: {SERVICE_KEY}\r\n"
            "anthropic-version: 2023-06-01\r\ncontent-length: 100\r\n\r\n{".encode()
        )
        time.sleep(0.1)
    wait_until(lambda: "inference_client_disconnects_total 1.0" in metrics(own_backend), within_s=2)
    assert own_engine.requests == []


def metrics(address: str) -> str:
    return httpx2.get(f"{address}/metrics", trust_env=False).text
