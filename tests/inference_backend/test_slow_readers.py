"""A caller that reads slower than the engine writes: nothing piles up, nothing is torn, no place is held for ever."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.inference_backend.conftest import impatient
from tests.inference_backend.declared import metric
from tests.inference_backend.running import SERVICE_KEY, running_backend
from tests.inference_backend.scripted_engine import DONE, MODEL, End, ScriptedEngine, Step, finish, text, usage
from tests.waiting import wait_until

PIECE = "春はあけぼの。やうやう白くなりゆく山ぎは、すこしあかりて😀" * 100
PIECES = 8000
KERNEL = Path("/proc/sys/net/ipv4")


@pytest.fixture
def engine() -> Iterator[ScriptedEngine]:
    """Writes some 68 MB as fast as they are taken."""
    steps: list[Step] = [*[text(PIECE)] * PIECES, finish(), usage(5, PIECES), DONE, End()]
    running = ScriptedEngine(scripts={"flood": steps})
    running.start()
    yield running
    running.stop()


@contextmanager
def unread_stream(address: str) -> Iterator[socket.socket]:
    """A stream is asked for, and nothing of it read; the socket's own buffer is small."""
    content: dict[str, Any] = {
        "model": MODEL,
        "max_tokens": 50_000,
        "stream": True,
        "messages": [{"role": "user", "content": "script:flood"}],
    }
    body = json.dumps(content).encode()
    target = urlsplit(address)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
        connection.settimeout(20)
        connection.connect((target.hostname, target.port))
        head = (
            f"POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: {SERVICE_KEY}\r\nanthropic-version: 2023-06-01\r\n"
            f"connection: close\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        connection.sendall(head.encode() + body)
        yield connection


def in_buffers() -> int:
    """Bytes that lie in sockets at most, from the engine to the caller; more would be a buffer of ours that grows."""
    receiving, sending = (int((KERNEL / name).read_text().split()[2]) for name in ("tcp_rmem", "tcp_wmem"))
    return receiving + 2 * sending + 4 * 1024 * 1024


def wait_until_steady(engine: ScriptedEngine) -> int:
    """Until the engine gets rid of nothing more; returns the bytes that it did."""
    before = -1
    while engine.sent_bytes != before or before == 0:
        before = engine.sent_bytes
        time.sleep(0.3)
    return before


def read_to_end(connection: socket.socket) -> bytes:
    response = HTTPResponse(connection)
    response.begin()
    return response.read()


def test_what_is_not_read_is_not_taken_from_the_engine_and_arrives_whole_later(engine: ScriptedEngine) -> None:
    patience = {"INFERENCE_TOKEN_GAP_TIMEOUT_S": 2, "INFERENCE_TOTAL_TIMEOUT_S": 60}
    with running_backend(impatient(engine, **patience)) as address, unread_stream(address) as reader:
        taken = wait_until_steady(engine)
        assert taken < in_buffers()
        # Longer than an engine may be silent: it is not the engine that is slow.
        time.sleep(2.5)
        frames = read_to_end(reader).decode().split("\n\n")
    events = [json.loads(frame.partition("data: ")[2]) for frame in frames if frame]
    pieces = [event["delta"]["text"] for event in events if event["type"] == "content_block_delta"]
    assert set(pieces) == {PIECE}
    assert len(pieces) == PIECES
    assert events[-1]["type"] == "message_stop"


def test_a_caller_that_never_reads_loses_its_place(engine: ScriptedEngine) -> None:
    with running_backend(impatient(engine, INFERENCE_STALLED_CALLER_S=1)) as address, unread_stream(address):
        wait_until(lambda: engine.open_now == 1)
        wait_until(lambda: engine.open_now == 0)
        wait_until(lambda: metric(address, "inference_in_flight") == 0)
        assert metric(address, "inference_client_disconnects_total") == 1
