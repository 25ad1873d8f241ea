"""A scripted model server: real HTTP on a real port, byte by byte, for what a good server never does.

A script is an async function of (Call, Wire): it reads what came and writes whatever it likes, when it likes.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many", 500: "Error"}


@dataclasses.dataclass(kw_only=True)
class Call:
    """One request as it arrived. `left_at`: when the client closed its end, on the monotonic clock."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    arrived_at: float = dataclasses.field(default_factory=time.monotonic)
    left_at: float | None = None

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Wire:
    """The answering end of a connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, call: Call) -> None:
        self._reader = reader
        self._writer = writer
        self._call = call

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def begin(self, *, headers: dict[str, str] | None = None) -> None:
        """A 200 whose event stream ends when the socket does, in chunks: the client can tell a cut."""
        lines = {"content-type": "text/event-stream", "transfer-encoding": "chunked", "request-id": "req_upstream_1"}
        await self.send(_head(200, lines | (headers or {})))

    async def chunk(self, data: bytes) -> None:
        await self.send(b"%x\r\n%s\r\n" % (len(data), data))

    async def event(self, kind: str, **fields: Any) -> None:
        await self.chunk(sse(kind, **fields))

    async def end(self) -> None:
        """The clean end of the HTTP answer."""
        await self.send(b"0\r\n\r\n")

    async def answer(self, status: int, body: Any, **headers: str) -> None:
        """A whole JSON answer."""
        raw = json.dumps(body).encode()
        lines = {"content-type": "application/json", "content-length": str(len(raw)), "request-id": "req_upstream_1"}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        await self.send(_head(status, lines | named) + raw)

    async def error(self, status: int, kind: str, message: str, **headers: str) -> None:
        await self.answer(status, {"type": "error", "error": {"type": kind, "message": message}}, **headers)

    def cut(self) -> None:
        """Break the connection without a goodbye."""
        self._writer.transport.abort()

    async def start_message(self, *, input_tokens: int = 7) -> None:
        message: dict[str, Any] = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "tiny",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": input_tokens, "output_tokens": 1},
        }
        await self.event("message_start", message=message)
        await self.event("content_block_start", index=0, content_block={"type": "text", "text": ""})

    async def text(self, *pieces: str) -> None:
        for piece in pieces:
            await self.event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})

    async def stop_message(self, reason: str | None = "end_turn", *, output_tokens: int = 5) -> None:
        await self.event("content_block_stop", index=0)
        await self.event(
            "message_delta",
            delta={"stop_reason": reason, "stop_sequence": None},
            usage={"output_tokens": output_tokens},
        )
        await self.event("message_stop")
        await self.end()

    async def whole(self, *pieces: str, reason: str = "end_turn") -> None:
        """A good answer."""
        await self.begin()
        await self.start_message()
        await self.text(*pieces)
        await self.stop_message(reason)

    async def until_left(self) -> None:
        """Wait until the client closes."""
        await self._reader.read()
        self._call.left_at = time.monotonic()


Script = Callable[[Call, Wire], Awaitable[None]]


class Pausing:
    """A script that says its first part at once and each further one when `go_on` is called."""

    def __init__(self, *parts: str) -> None:
        self.said = 0
        self._parts = parts
        self._permits = asyncio.Semaphore(1)
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __call__(self, call: Call, wire: Wire) -> None:
        self._loop = asyncio.get_running_loop()
        await wire.begin()
        await wire.start_message()
        for part in self._parts:
            await self._permits.acquire()
            await wire.text(part)
            self.said += 1
        await wire.stop_message()

    def go_on(self) -> None:
        assert self._loop is not None, "it was not called yet"
        self._loop.call_soon_threadsafe(self._permits.release)


class Upstream:
    """The server. `scripts` answer the calls in turn, the last one all that follow."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.scripts: list[Script] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self._serve, "127.0.0.1", 0), self._loop
        ).result()
        self.port: int = self._server.sockets[0].getsockname()[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def does(self, *scripts: Script) -> None:
        self.scripts = list(scripts)

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _stop(self) -> None:
        self._server.close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            call = await _read_call(reader)
            self.calls.append(call)
            script = self.scripts[min(len(self.calls), len(self.scripts)) - 1]
            await script(call, Wire(reader, writer, call))
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            with contextlib.suppress(ConnectionError):
                writer.close()


async def _read_call(reader: asyncio.StreamReader) -> Call:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = lines[0].split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Call(method=method, path=path, headers=headers, body=body)


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Status')}", "connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def sse(kind: str, **fields: Any) -> bytes:
    """One server-sent event as the Messages API writes it, in UTF-8 and not in escapes."""
    data = json.dumps({"type": kind, **fields}, ensure_ascii=False)
    return f"event: {kind}\ndata: {data}\n\n".encode()
