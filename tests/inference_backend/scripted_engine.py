"""A model server that misbehaves on order: a real socket server with the paths of llama.cpp.

`engine.play(...)` says, step by step, what the next chat completion sends. Without a script it answers "Hello there".
"""

import contextlib
import json
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

MODEL = "scripted"
GOLDEN_QUESTION = "What is the capital of France?"


@dataclass(frozen=True)
class Send:
    data: bytes


@dataclass(frozen=True)
class Pause:
    seconds: float


@dataclass(frozen=True)
class Reset:
    """The connection dies with a TCP reset."""


@dataclass(frozen=True)
class Close:
    """The connection closes without the end of the body."""


@dataclass(frozen=True)
class End:
    """The body ends in good order."""


@dataclass(frozen=True)
class Hang:
    """Nothing more, until the caller leaves."""


@dataclass(frozen=True)
class Refuse:
    status: int
    body: str = ""


@dataclass(frozen=True)
class Vanish:
    """The request is read and the connection closed before any byte of an answer."""


Step = Send | Pause | Reset | Close | End | Hang | Refuse | Vanish


def frame(content: dict[str, Any] | str) -> Send:
    data = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return Send(f"data: {data}\n\n".encode())


def text(piece: str) -> Send:
    return frame({"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]})


def finish(reason: str = "stop") -> Send:
    return frame({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})


def usage(prompt: int, completion: int) -> Send:
    return frame({"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": completion}})


DONE = frame("[DONE]")


def whole(answer: str) -> list[Step]:
    return [text(answer), finish(), usage(5, 2), DONE, End()]


def byte_by_byte(steps: Iterable[Step]) -> Iterator[Step]:
    for step in steps:
        if isinstance(step, Send):
            yield from (Send(bytes([byte])) for byte in step.data)
        else:
            yield step


@dataclass
class ScriptedEngine:
    health_status: int = 200
    models: list[str] = field(default_factory=lambda: [MODEL])
    context: int = 4096
    golden_answer: list[Step] = field(default_factory=lambda: whole("Paris."))
    requests: list[dict[str, Any]] = field(default_factory=list)
    caller_left: threading.Event = field(default_factory=threading.Event)
    port: int = 0

    def __post_init__(self) -> None:
        self._scripts: deque[list[Step]] = deque()
        self._open: set[socket.socket] = set()
        self._listener: socket.socket | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def play(self, *steps: Step) -> None:
        self._scripts.append(list(steps))

    def forget(self) -> None:
        """Scripts that were not played and what was seen so far."""
        self._scripts.clear()
        self.requests.clear()
        self.caller_left.clear()

    def start(self) -> None:
        listener = socket.create_server(("127.0.0.1", self.port), backlog=256)
        self.port = listener.getsockname()[1]
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def stop(self) -> None:
        """Like a process that is killed: the port refuses and open connections die."""
        if self._listener:
            # Closing alone would leave the accept of the other thread waiting on the port.
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        for connection in list(self._open):
            _reset(connection)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with contextlib.suppress(OSError):
                path, body = _read_request(connection)
                self._answer(connection, path, body)
        finally:
            self._open.discard(connection)
            connection.close()

    def _answer(self, connection: socket.socket, path: str, body: dict[str, Any]) -> None:
        if path == "/health":
            _send_whole(connection, self.health_status, {"status": "ok"})
        elif path == "/v1/models":
            listing = [{"id": name, "meta": {"n_ctx": self.context}} for name in self.models]
            _send_whole(connection, 200, {"data": listing})
        elif path == "/v1/chat/completions/input_tokens":
            words = sum(len(message["content"].split()) for message in body["messages"])
            _send_whole(connection, 200, {"input_tokens": words})
        else:
            self._complete(connection, body)

    def _complete(self, connection: socket.socket, body: dict[str, Any]) -> None:
        if body["messages"][-1]["content"] == GOLDEN_QUESTION and body["max_tokens"] == 8:
            self._run(connection, self.golden_answer)
            return
        self.requests.append(body)
        self._run(connection, self._scripts.popleft() if self._scripts else whole("Hello there"))

    def _run(self, connection: socket.socket, steps: list[Step]) -> None:
        match steps[0]:
            case Refuse(status=status, body=content):
                _send_whole(connection, status, content)
                return
            case Vanish():
                return
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for step in steps:
            self._take(connection, step)

    def _take(self, connection: socket.socket, step: Step) -> None:
        match step:
            case Send(data=data):
                connection.sendall(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            case Pause(seconds=seconds):
                time.sleep(seconds)
            case End():
                connection.sendall(b"0\r\n\r\n")
            case Reset():
                _reset(connection)
            case Hang():
                connection.settimeout(10)
                if connection.recv(1) == b"":
                    self.caller_left.set()
            case _:
                connection.close()


def _reset(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # The thread that reads from it would keep the descriptor alive.
        connection.shutdown(socket.SHUT_RD)
        connection.close()


def _read_request(connection: socket.socket) -> tuple[str, dict[str, Any]]:
    data = b""
    while b"\r\n\r\n" not in data:
        data += _receive(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:])
    length = int(headers.get("content-length", 0))
    while len(body) < length:
        body += _receive(connection)
    return lines[0].split()[1], json.loads(body) if body else {}


def _receive(connection: socket.socket) -> bytes:
    data = connection.recv(65536)
    if not data:
        raise ConnectionError("the caller left")
    return data


def _send_whole(connection: socket.socket, status: int, content: dict[str, Any] | str) -> None:
    body = (content if isinstance(content, str) else json.dumps(content)).encode()
    head = f"HTTP/1.1 {status} Scripted\r\nContent-Length: {len(body)}\r\nContent-Type: application/json\r\n"
    connection.sendall(head.encode() + b"Connection: close\r\n\r\n" + body)
