"""A caller that sends its request slower than anybody would: it holds no place of the house for long."""

import asyncio
import json
import socket
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

import pytest

from inference_backend import connection
from inference_backend.connection import read_body
from inference_backend.errors import SlowBodyError
from tests.inference_backend.declared import metric
from tests.inference_backend.running import SERVICE_KEY
from tests.waiting import wait_until


async def receive_after(pause_s: float, parts: Iterable[bytes]) -> bytes:
    waiting = iter([*parts])

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(pause_s)
        part = next(waiting, None)
        return {"type": "http.request", "body": part or b"", "more_body": part is not None}

    return await read_body({}, receive)


async def test_a_body_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BODY_PATIENCE_S", 0.2)
    with pytest.raises(SlowBodyError):
        await receive_after(0.02, [b"{"] * 10_000)


async def test_a_large_body_that_keeps_coming_may_take_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BODY_PATIENCE_S", 1.0)
    part = b"x" * 64 * 1024
    assert await receive_after(0.1, [part] * 15) == part * 15


@pytest.mark.parametrize("path", ["messages", "messages/count_tokens", "embeddings"])
def test_its_place_is_given_back_and_it_is_told(backend: str, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setattr(connection, "BODY_PATIENCE_S", 3.0)
    target = urlsplit(backend)
    with socket.create_connection((target.hostname or "", target.port or 0), timeout=60) as caller:
        head = f"POST /v1/{path} HTTP/1.1\r\nhost: x\r\nx-api-key: {SERVICE_KEY}\r\nanthropic-version: 2023-06-01\r\n"
        caller.sendall(f"{head}content-length: 1000\r\n\r\n{{".encode())
        wait_until(lambda: metric(backend, "inference_in_flight") == 1)
        answer = caller.recv(65536)
        while not answer.endswith(b"}"):
            answer += caller.recv(65536)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["type"] == "timeout_error"
    wait_until(lambda: metric(backend, "inference_in_flight") == 0)
