"""A caller that leaves stops the work, all the way down to the slot of the real engine."""

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.inference_backend.declared import metric
from tests.inference_backend.running import EMBEDDED_MODEL, SERVICE_KEY, EmbeddedEngine
from tests.inference_backend.scripted_engine import MODEL, Hang, ScriptedEngine, text
from tests.waiting import quickest, wait_until

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


@contextlib.contextmanager
def asking(address: str, body: dict[str, Any]) -> Iterator[socket.socket]:
    """A connection on which the request was sent; its caller leaves at the end of the block."""
    host, port = address.removeprefix("http://").split(":")
    content = json.dumps(body).encode()
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(
            f"POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: {SERVICE_KEY}\r\n"
            f"anthropic-version: 2023-06-01\r\ncontent-length: {len(content)}\r\n\r\n".encode()
            + content
        )
        yield connection


@pytest.mark.model
@pytest.mark.parametrize("stream", [True, False])
def test_leaving_an_answer_frees_the_slot_within_a_second(
    model_backend: str, embedded_engine: EmbeddedEngine, stream: bool
) -> None:
    def leave() -> float:
        with asking(model_backend, long_request(stream=stream)):
            wait_until(lambda: embedded_engine.busy_slots() == 1)
        return wait_until(lambda: embedded_engine.busy_slots() == 0)

    assert quickest(leave, under_s=1) < 1


@pytest.mark.parametrize("stream", [True, False])
def test_leaving_before_the_first_token_closes_the_connection_to_the_engine(
    engine: ScriptedEngine, backend: str, stream: bool
) -> None:
    engine.play(Hang())
    with asking(backend, long_request(stream=stream, model=MODEL)):
        wait_until(lambda: engine.requests)
    assert engine.caller_left.wait(30)


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
    wait_until(lambda: metric(own_backend, "inference_client_disconnects_total") == 1)
    wait_until(lambda: metric(own_backend, "inference_in_flight") == 0)


def test_leaving_in_the_middle_of_the_body_reaches_no_engine(own_engine: ScriptedEngine, own_backend: str) -> None:
    host, port = own_backend.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(
            f"POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: {SERVICE_KEY}\r\n"
            "anthropic-version: 2023-06-01\r\ncontent-length: 100\r\n\r\n{".encode()
        )
        time.sleep(0.1)
    wait_until(lambda: metric(own_backend, "inference_client_disconnects_total") == 1)
    assert own_engine.requests == []
