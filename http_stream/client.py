"""The streaming half of HTTP: one POST, and the bytes of its answer as they come.

A general client passes each piece through a dozen layers, which for answers of one token a piece costs more than all
that we do with it. Here the transport of the loop feeds the parser that also reads our own callers.
"""

import asyncio
import base64
import collections
import re
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import cast

import httptools
import httpx2

MAX_HEAD_BYTES = 64 * 1024
# Of an answer that nobody takes, so much is held before the server is made to wait.
HIGH_WATER_BYTES = 256 * 1024
_LINE_ENDS = re.compile(r"[\r\n\0]")


class Unanswered(Exception):
    """The connection was lost before an answer began: whether the server did anything is not known."""


class Unreachable(Unanswered):
    """There was no connection: nothing was sent."""


class BrokenOff(Exception):
    """The answer ended before its end."""


class StreamClient:
    """Connections to one address. Follows no redirects, knows no proxies, and asks for no compression."""

    def __init__(self, url: str, *, headers: Mapping[str, str], connect_s: float, keepalive_s: float) -> None:
        address = httpx2.URL(url)
        self._is_tls = address.scheme == "https"
        self._host = address.raw_host.decode("ascii")
        self._port = address.port or (443 if self._is_tls else 80)
        self._prefix = address.raw_path.decode("ascii").rstrip("/")
        self._connect_s = connect_s
        self._keepalive_s = keepalive_s
        fields = {
            "host": address.netloc.decode("ascii"),
            "accept-encoding": "identity",
            "content-type": "application/json",
        }
        if address.userinfo:
            fields["authorization"] = f"Basic {base64.b64encode(address.userinfo).decode('ascii')}"
        if not keepalive_s:
            fields["connection"] = "close"
        self._head = _lines({**fields, **headers})
        self._idle: collections.deque[_Connection] = collections.deque()
        self._open: set[_Connection] = set()
        self._tls: ssl.SSLContext | None = None

    @asynccontextmanager
    async def post(
        self, path: str, content: bytes, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator["StreamedAnswer"]:
        """The answer, once its head is there. Leaving the context early closes the connection, and waits until it is.

        A request that met the end of a kept connection is sent once more: the server must take the two for one, or
        `keepalive_s` be 0. Raises Unanswered where no answer began, ValueError for a header that ends its line. Whoever
        calls bounds the time.
        """
        line = f"POST {self._prefix}{path} HTTP/1.1\r\ncontent-length: {len(content)}\r\n"
        request = line.encode("latin-1") + self._head + _lines(headers or {}) + b"\r\n" + content
        connection, answer = await self._begin(request)
        try:
            yield answer
        finally:
            await self._put_back(connection, answer)

    async def aclose(self) -> None:
        self._idle.clear()
        for connection in list(self._open):
            await self._drop(connection)

    async def _begin(self, request: bytes) -> "tuple[_Connection, StreamedAnswer]":
        while (connection := await self._take_idle()) is not None:
            try:
                return connection, await self._send(connection, request)
            except _GoneBeforeAnyByteError:
                continue  # the server closed it, having been idle for long, at the moment that it was used
        try:
            connection = await self._connect()
            return connection, await self._send(connection, request)
        except _GoneBeforeAnyByteError as error:
            raise Unanswered("The connection was closed before an answer.") from error

    async def _send(self, connection: "_Connection", request: bytes) -> "StreamedAnswer":
        try:
            answer = connection.send(request)
            await answer.head_is_there()
        except BaseException:
            await self._drop(connection)
            raise
        return answer

    async def _connect(self) -> "_Connection":
        loop = asyncio.get_running_loop()
        if self._is_tls and self._tls is None:
            # Reads a file of many certificates.
            self._tls = await asyncio.to_thread(ssl.create_default_context)
        try:
            async with asyncio.timeout(self._connect_s):
                _, connection = await loop.create_connection(_Connection, self._host, self._port, ssl=self._tls)
        except (OSError, TimeoutError, UnicodeError) as error:
            raise Unreachable("There is no connection.") from error
        self._open.add(connection)
        return connection

    async def _take_idle(self) -> "_Connection | None":
        oldest = time.monotonic() - self._keepalive_s
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable and connection.idle_since > oldest:
                return connection
            await self._drop(connection)
        return None

    async def _put_back(self, connection: "_Connection", answer: "StreamedAnswer") -> None:
        while self._idle and self._idle[0].idle_since <= time.monotonic() - self._keepalive_s:
            await self._drop(self._idle.popleft())
        if self._keepalive_s and answer.is_whole and answer.may_keep_alive and connection.is_usable:
            connection.idle_since = time.monotonic()
            self._idle.append(connection)
        else:
            await self._drop(connection)

    async def _drop(self, connection: "_Connection") -> None:
        self._open.discard(connection)
        connection.close()
        await connection.lost.wait()


class _GoneBeforeAnyByteError(Exception):
    pass


class StreamedAnswer:
    """Filled by its connection."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self.status = 0
        #: By name in lower case; of a field that came twice, the last.
        self.headers: dict[str, str] = {}
        self.is_whole = False
        self.may_keep_alive = False
        #: Whether the head says where the body ends; else the end of the connection is its end.
        self.is_framed = False
        self._transport = transport
        self._parts: list[bytes] = []
        self._held = 0
        self._is_paused = False
        self._failure: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None

    async def head_is_there(self) -> None:
        while not self.status:
            if self._failure is not None:
                raise self._failure
            await self._change()

    async def read(self) -> bytes:
        """All that has come since the last call; b"" at the end. Raises BrokenOff."""
        while not self._parts:
            if self._failure is not None:
                raise self._failure
            if self.is_whole:
                return b""
            await self._change()
        data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self._held = 0
        if self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()
        return data

    # --- the connection's side ---

    def take(self, data: bytes) -> None:
        self._parts.append(data)
        self._held += len(data)
        if self._held > HIGH_WATER_BYTES and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()

    def fail(self, error: Exception) -> None:
        if not self.is_whole and self._failure is None:
            self._failure = error
        self.wake()

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _change(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None


class _Connection(asyncio.Protocol):
    """Callbacks of the transport, and under them those of the parser."""

    def __init__(self) -> None:
        self.idle_since = 0.0
        self._transport: asyncio.Transport | None = None
        self._answer: StreamedAnswer | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._head_bytes = 0
        self._has_bytes = False
        self._is_framed = False
        self.lost = asyncio.Event()

    @property
    def is_usable(self) -> bool:
        return self._transport is not None and not self.lost.is_set() and not self._transport.is_closing()

    def send(self, request: bytes) -> StreamedAnswer:
        transport = self._transport
        if transport is None or self.lost.is_set():
            raise _GoneBeforeAnyByteError
        self._answer = StreamedAnswer(transport)
        self._parser = httptools.HttpResponseParser(self)
        self._head_bytes, self._has_bytes, self._is_framed = 0, False, False
        transport.write(request)
        return self._answer

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        answer = self._answer
        if answer is None or self._parser is None or answer.is_whole:
            self.close()  # nobody asked for anything
            return
        self._has_bytes = True
        if not answer.status:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            answer.fail(_broken(answer, error))
            self.close()
            return
        if not answer.status and self._head_bytes > MAX_HEAD_BYTES:
            answer.fail(_broken(answer, None))
            self.close()
        answer.wake()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, error: Exception | None) -> None:
        self.lost.set()
        answer = self._answer
        if answer is None or answer.is_whole:
            return
        if not self._has_bytes:
            answer.fail(_GoneBeforeAnyByteError())
        elif answer.status and not answer.is_framed and error is None:
            answer.is_whole = True
            answer.wake()
        else:
            answer.fail(_broken(answer, error))

    # httptools

    def on_header(self, name: bytes, value: bytes) -> None:
        field = name.lower().decode("latin-1")
        if field in {"content-length", "transfer-encoding"}:
            self._is_framed = True
        if self._answer is not None:
            self._answer.headers[field] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        if self._parser is None or self._answer is None:
            return
        status = self._parser.get_status_code()
        if status >= 200:  # before it come notes such as 100 Continue
            self._answer.status = status
            self._answer.is_framed = self._is_framed

    def on_body(self, body: bytes) -> None:
        if self._answer is not None:
            self._answer.take(body)

    def on_message_complete(self) -> None:
        if self._parser is not None and self._answer is not None and self._answer.status:
            self._answer.may_keep_alive = self._parser.should_keep_alive()
            self._answer.is_whole = True


def _broken(answer: StreamedAnswer, cause: Exception | None) -> Exception:
    error: Unanswered | BrokenOff
    if answer.status:
        error = BrokenOff("The connection broke during the answer.")
    else:
        error = Unanswered("The connection was closed before an answer.")
    error.__cause__ = cause
    return error


def _lines(headers: Mapping[str, str]) -> bytes:
    """The lines of a head. Raises ValueError for a text that would begin a line of its own."""
    lines = []
    for name, value in headers.items():
        if _LINE_ENDS.search(name) or _LINE_ENDS.search(value):
            raise ValueError(f"The header {name!r} does not fit in a line.")
        lines.append(f"{name}: {value}\r\n")
    return "".join(lines).encode("latin-1")


async def read_limited(answer: StreamedAnswer, limit: int) -> bytes:
    """The body of a small answer, or its beginning where it is larger."""
    body = bytearray()
    while len(body) <= limit and (data := await answer.read()):
        body += data
    return bytes(body)
