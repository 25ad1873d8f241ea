"""Connections on which answers of an engine come: kept while they are good, closed as soon as nobody reads."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from http_stream.client import HIGH_WATER_BYTES, MAX_HEAD_BYTES, BrokenOff, StreamClient, Unanswered, Unreachable

Handler = Callable[["Peer"], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


class Peer:
    """The engine's end of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        self.reader, self.writer, self.number = reader, writer, number

    async def request(self) -> bytes:
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        return head + await self.reader.readexactly(length)

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()


@contextlib.asynccontextmanager
async def talking_to(handler: Handler, *, keepalive_s: float = 30.0) -> AsyncIterator[StreamClient]:
    numbers = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal numbers
        numbers += 1
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await handler(Peer(reader, writer, numbers))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    client = StreamClient(f"http://127.0.0.1:{port}", headers={"x-a": "b"}, connect_s=5, keepalive_s=keepalive_s)
    try:
        yield client
    finally:
        await client.aclose()
        server.close()


async def whole(client: StreamClient, content: bytes = b"{}") -> bytes:
    async with client.post("/v1/chat/completions", content) as answer:
        assert answer.status == 200
        body = b""
        while data := await answer.read():
            body += data
        return body


async def always(peer: Peer) -> None:
    while True:
        await peer.request()
        await peer.send(OK + b"Content-Length: 1\r\n\r\n%d" % peer.number)


async def test_what_is_sent_is_one_request_with_its_length() -> None:
    seen: list[bytes] = []

    async def listen(peer: Peer) -> None:
        seen.append(await peer.request())
        await peer.send(OK + b"Content-Length: 2\r\n\r\nhi")

    async with talking_to(listen) as client:
        assert await whole(client, b'{"a": 1}') == b"hi"
    head, _, body = seen[0].partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    assert lines[0] == b"post /v1/chat/completions http/1.1"
    assert {b"content-length: 8", b"x-a: b", b"accept-encoding: identity"} <= set(lines)
    assert body == b'{"a": 1}'


async def test_a_connection_serves_one_answer_after_the_other() -> None:
    async with talking_to(always) as client:
        assert [await whole(client) for _ in range(3)] == [b"1", b"1", b"1"]


async def test_without_keeping_alive_each_answer_has_its_own() -> None:
    async with talking_to(always, keepalive_s=0.0) as client:
        assert [await whole(client) for _ in range(3)] == [b"1", b"2", b"3"]


async def test_a_connection_that_idled_too_long_is_not_used_again() -> None:
    async with talking_to(always, keepalive_s=0.05) as client:
        assert await whole(client) == b"1"
        await asyncio.sleep(0.1)
        assert await whole(client) == b"2"


async def test_an_idle_connection_that_the_engine_closes_under_a_request_costs_nothing() -> None:
    async def once(peer: Peer) -> None:
        await peer.request()
        await peer.send(OK + b"Content-Length: 1\r\n\r\n%d" % peer.number)
        if peer.number == 1:
            await peer.request()

    async with talking_to(once) as client:
        assert await whole(client) == b"1"
        assert await whole(client) == b"2"


async def test_a_connection_whose_answer_nobody_read_to_its_end_is_closed_before_that_is_said() -> None:
    left = asyncio.Event()

    async def go_on(peer: Peer) -> None:
        await peer.request()
        await peer.send(CHUNKED + b"1\r\nx\r\n")
        await peer.reader.read(1)
        left.set()

    async with talking_to(go_on) as client:
        async with client.post("/", b"{}") as answer:
            assert await answer.read() == b"x"
        async with asyncio.timeout(30):
            await left.wait()


@pytest.mark.parametrize(
    "sent",
    [b"", b"HTTP/1.1 2", b"HTTP/1.1 200 OK\r\nContent-", b"nonsense\r\n\r\n", OK + b"a: " + b"x" * MAX_HEAD_BYTES],
    ids=["nothing", "half a line", "half a head", "no HTTP", "endless head"],
)
async def test_an_answer_that_never_began_is_a_failed_connection(sent: bytes) -> None:
    async def break_off(peer: Peer) -> None:
        await peer.request()
        await peer.send(sent)

    async with talking_to(break_off) as client:
        with pytest.raises(Unanswered):
            await whole(client)


@pytest.mark.parametrize(
    "sent",
    [CHUNKED + b"5\r\nab", CHUNKED + b"2\r\nab\r\n", CHUNKED + b"zz\r\n", OK + b"Content-Length: 9\r\n\r\nab"],
    ids=["half a chunk", "no last chunk", "no chunk", "too short"],
)
async def test_an_answer_that_breaks_off_is_never_taken_for_a_whole_one(sent: bytes) -> None:
    async def break_off(peer: Peer) -> None:
        await peer.request()
        await peer.send(sent)

    async with talking_to(break_off) as client:
        with pytest.raises(BrokenOff):
            await whole(client)


async def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    async def old_fashioned(peer: Peer) -> None:
        await peer.request()
        await peer.send(OK + b"\r\nall of it")

    async with talking_to(old_fashioned) as client:
        assert await whole(client) == b"all of it"


async def test_a_note_before_the_answer_is_passed_over() -> None:
    async def note(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 2\r\n\r\nhi")

    async with talking_to(note) as client:
        assert await whole(client) == b"hi"


async def test_an_engine_is_made_to_wait_for_a_slow_reader() -> None:
    sent = 0

    async def flood(peer: Peer) -> None:
        nonlocal sent
        await peer.request()
        await peer.send(OK + b"Content-Length: 1000000000\r\n\r\n")
        while True:
            await peer.send(b"x" * 65_536)
            sent += 65_536

    async with talking_to(flood) as client, client.post("/", b"{}") as answer:
        before = -1
        while before != sent:
            before = sent
            await asyncio.sleep(0.2)
        assert len(await answer.read()) <= 2 * HIGH_WATER_BYTES
        assert await answer.read()


async def test_nobody_listening_is_a_failed_connection() -> None:
    client = StreamClient("http://127.0.0.1:1", headers={}, connect_s=5, keepalive_s=0)
    with pytest.raises(Unreachable):
        await whole(client)


async def test_a_name_that_is_none_is_a_failed_connection() -> None:
    client = StreamClient(f"http://{'a' * 70}.invalid", headers={}, connect_s=5, keepalive_s=0)
    with pytest.raises(Unreachable):
        await whole(client)


async def test_a_request_takes_headers_of_its_own_and_the_answer_tells_its_own() -> None:
    seen: list[bytes] = []

    async def listen(peer: Peer) -> None:
        seen.append(await peer.request())
        await peer.send(OK + b"Request-Id: r1\r\nContent-Length: 0\r\n\r\n")

    async with talking_to(listen) as client, client.post("/", b"{}", {"x-run": "7"}) as answer:
        assert answer.headers["request-id"] == "r1"
    assert b"\r\nx-run: 7\r\n" in seen[0]
    assert b"\r\nx-a: b\r\n" in seen[0]


@pytest.mark.parametrize("value", ["a\r\nx-admin: yes", "a\nb", "a\0b", "€"])
async def test_a_header_that_would_begin_another_line_is_refused(value: str) -> None:
    async with talking_to(always) as client:
        with pytest.raises(ValueError, match=r"fit in a line|latin-1"):
            async with client.post("/", b"{}", {"x-run": value}):
                pass
