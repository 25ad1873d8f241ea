"""A model server that misbehaves on order: a real socket server with the paths of llama.cpp.

`engine.play(...)` says, step by step, what the next chat completion sends. `engine.scripts` says it for every prompt
that holds the words `script:NAME`. Without a script it answers "Hello there".

As a process of its own: `python -m tests.inference_backend.scripted_engine --port N --journal FILE`.
"""

import argparse
import collections
import contextlib
import json
import re
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MODEL = "scripted"
HANG_S = 60
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


@dataclass(frozen=True)
class Mute:
    """The request is read and never answered."""


@dataclass(frozen=True)
class Await:
    """Nothing more until the test says so."""

    released: threading.Event


Step = Send | Pause | Reset | Close | End | Hang | Refuse | Vanish | Mute | Await


def frame(content: dict[str, Any] | str) -> Send:
    data = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return Send(f"data: {data}\n\n".encode())


def text(piece: str) -> Send:
    return frame({"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]})


def call(index: int, *, name: str | None = None, arguments: str = "") -> Send:
    """A piece of a tool call; with a name, its first."""
    function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
    piece: dict[str, Any] = {"index": index, "function": function}
    if name is not None:
        piece |= {"id": f"call-{index}", "type": "function"}
    return frame({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}, "finish_reason": None}]})


def finish(reason: str = "stop") -> Send:
    return frame({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})


def usage(prompt: int, completion: int) -> Send:
    return frame({"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": completion}})


DONE = frame("[DONE]")


def whole(answer: str) -> list[Step]:
    return [text(answer), finish(), usage(5, 2), DONE, End()]


def words_of(answer: str, *, gap_s: float = 0.0) -> list[Step]:
    """One frame per word, and the count of them as usage."""
    pieces = re.findall(r"\s*\S+", answer)
    steps: list[Step] = []
    for piece in pieces:
        steps += [text(piece), Pause(gap_s)] if gap_s else [text(piece)]
    return [*steps, finish(), usage(5, len(pieces)), DONE, End()]


def byte_by_byte(steps: Iterable[Step]) -> Iterator[Step]:
    for step in steps:
        if isinstance(step, Send):
            yield from (Send(bytes([byte])) for byte in step.data)
        else:
            yield step


SCRIPT_NAME = re.compile(r"script:(\w+)")
Scripts = Mapping[str, Iterable[Step]]


@dataclass
class ScriptedEngine:
    """`generations` counts completions by prompt, `open_now` the connections on which one is being sent."""

    health_status: int = 200
    models: list[str] = field(default_factory=lambda: [MODEL])
    context: int = 4096
    slots: int = 64
    #: What the list of models states; "" for an engine that states none.
    digest: str = ""
    properties: dict[str, Any] = field(default_factory=dict)
    is_mute_when_counting: bool = False
    golden_answer: list[Step] = field(default_factory=lambda: whole("Paris."))
    requests: list[dict[str, Any]] = field(default_factory=list)
    caller_left: threading.Event = field(default_factory=threading.Event)
    host: str = "127.0.0.1"
    port: int = 0
    scripts: Scripts = field(default_factory=dict)
    generations: collections.Counter[str] = field(default_factory=collections.Counter)
    open_now: int = 0
    #: Bytes of answers that the caller's side has taken so far.
    sent_bytes: int = 0
    #: One line `begin PROMPT` and one `end PROMPT` per completion; it outlives the process.
    journal: Path | None = None
    #: Called with the engine when it begins to play a script.
    when_asked: Callable[["ScriptedEngine"], None] | None = None

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._scripts: deque[list[Step]] = deque()
        self._open: set[socket.socket] = set()
        self._listener: socket.socket | None = None

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def play(self, *steps: Step) -> None:
        self._scripts.append(list(steps))

    def share_scripts_with(self, other: "ScriptedEngine") -> None:
        """Whichever of them is asked first plays the next script."""
        other._scripts = self._scripts

    def forget(self) -> None:
        """Scripts that were not played and what was seen so far."""
        self._scripts.clear()
        self.requests.clear()
        self.generations.clear()
        self.sent_bytes = 0
        self.caller_left.clear()

    def start(self) -> None:
        listener = socket.create_server((self.host, self.port), backlog=256)
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
            reset(connection)

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
            listing = [{"id": name, "digest": self.digest, "meta": {"n_ctx": self.context}} for name in self.models]
            _send_whole(connection, 200, {"data": listing})
        elif path == "/props":
            _send_whole(connection, 200, {"total_slots": self.slots, **self.properties})
        elif path == "/v1/chat/completions/input_tokens" and self.is_mute_when_counting:
            self._take(connection, Hang())
        elif path == "/v1/chat/completions/input_tokens":
            words = sum(len((message["content"] or "").split()) for message in body["messages"])
            _send_whole(connection, 200, {"input_tokens": words})
        else:
            self._complete(connection, body)

    def _complete(self, connection: socket.socket, body: dict[str, Any]) -> None:
        if body["messages"][-1]["content"] == GOLDEN_QUESTION and body["max_tokens"] == 8:
            self._run(connection, self.golden_answer)
            return
        asked = [message["content"] for message in body["messages"] if message["role"] == "user"]
        prompt = asked[-1] if asked else ""
        self.requests.append(body)
        if self.when_asked:
            self.when_asked(self)
        if has_left(connection):
            # What an earlier test abandoned may be read only now: it takes no script, and counts as nothing.
            self.caller_left.set()
            return
        with self._counted(prompt):
            self._run(connection, self._script_for(prompt))

    def _script_for(self, prompt: str) -> list[Step]:
        if named := SCRIPT_NAME.search(prompt):
            return list(self.scripts[named[1]])
        return self._scripts.popleft() if self._scripts else whole("Hello there")

    @contextlib.contextmanager
    def _counted(self, prompt: str) -> Iterator[None]:
        with self._lock:
            self.generations[prompt] += 1
            self.open_now += 1
        self._write_journal("begin", prompt)
        try:
            yield
            self._write_journal("end", prompt)
        finally:
            with self._lock:
                self.open_now -= 1

    def _write_journal(self, event: str, prompt: str) -> None:
        if self.journal:
            with self.journal.open("a", encoding="utf-8") as file:
                file.write(f"{event} {json.dumps(prompt)}\n")

    def _run(self, connection: socket.socket, steps: list[Step]) -> None:
        match steps[0]:
            case Refuse(status=status, body=content):
                _send_whole(connection, status, content)
                return
            case Vanish():
                return
            case Mute():
                self._take(connection, Hang())
                return
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            for step in steps:
                self._take(connection, step)
        except ConnectionError:
            # A caller that leaves while something lies unread resets the connection instead of closing it.
            self.caller_left.set()
            raise

    def _take(self, connection: socket.socket, step: Step) -> None:
        match step:
            case Send(data=data):
                connection.sendall(f"{len(data):x}\r\n".encode() + data + b"\r\n")
                self.sent_bytes += len(data)
            case Pause(seconds=seconds):
                time.sleep(seconds)
            case Await(released=released):
                released.wait(HANG_S)
            case End():
                connection.sendall(b"0\r\n\r\n")
            case Reset():
                reset(connection)
            case Hang():
                connection.settimeout(HANG_S)
                if connection.recv(1) == b"":
                    self.caller_left.set()
            case _:
                connection.close()


def has_left(connection: socket.socket) -> bool:
    """Whether the caller closed the connection by now."""
    try:
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def reset(connection: socket.socket) -> None:
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


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--journal", type=Path)
    parser.add_argument("--gap", type=float, default=0.01, help="seconds between two words")
    given = parser.parse_args()
    engine = ScriptedEngine(port=given.port, journal=given.journal)
    engine.scripts = {
        "short": words_of("one two three", gap_s=given.gap),
        "long": words_of(" ".join(f"word{number}" for number in range(60)), gap_s=given.gap),
        "wide": words_of(" ".join("漢字かな交じり文" * 40 for _ in range(60)), gap_s=0.0),
    }
    engine.start()
    threading.Event().wait()


if __name__ == "__main__":
    main()
