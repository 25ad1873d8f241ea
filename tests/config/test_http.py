"""The handler between uvicorn and Django: threads are bounded, streams hold none, connections are given back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

import pytest
from django.core.signals import request_finished
from django.db import connection
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import path
from pytest_django import Settings

from config.http import Handler

pytestmark = pytest.mark.django_db(transaction=True)

THREADS = 2
ended: list[str] = []
gate = threading.Event()
inside: list[int] = []


def quick(request: HttpRequest) -> HttpResponse:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return HttpResponse(threading.current_thread().name)


def slow(request: HttpRequest) -> HttpResponse:
    inside.append(threading.get_ident())
    gate.wait(30)
    return HttpResponse("slow")


def stream(request: HttpRequest) -> StreamingHttpResponse:
    async def pieces() -> AsyncIterator[bytes]:
        try:
            yield b"first"
            await asyncio.sleep(60)
            yield b"second"
        finally:
            ended.append("stream")

    return StreamingHttpResponse(pieces())


def broken(request: HttpRequest) -> HttpResponse:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"first"
        raise ValueError("in the middle")

    return StreamingHttpResponse(pieces())  # type: ignore[return-value]


urlpatterns = [path("quick", quick), path("slow", slow), path("stream", stream), path("broken", broken)]


@pytest.fixture
def handler(settings: Settings) -> Iterator[Handler]:
    settings.ROOT_URLCONF = __name__
    settings.HTTP_THREADS = THREADS
    settings.MIDDLEWARE = []
    gate.clear()
    inside.clear()
    ended.clear()
    made = Handler()
    yield made
    gate.set()
    made._threads.shutdown()


class Call:
    """One request over ASGI. `hang_up` is what a client does that closes its connection."""

    def __init__(self, handler: Handler, path: str) -> None:
        self.sent: list[Mapping[str, Any]] = []
        self._gone = asyncio.Event()
        self._asked = False
        scope = {"type": "http", "method": "GET", "path": f"/{path}", "query_string": b"", "headers": []}
        self.task = asyncio.create_task(handler(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Mapping[str, Any]) -> None:
        self.sent.append(message)

    def hang_up(self) -> None:
        self._gone.set()

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)


async def until(happened: Callable[[], bool]) -> None:
    for _ in range(3000):
        if happened():
            return
        await asyncio.sleep(0.01)
    raise TimeoutError("it did not happen within 30 s")


async def test_a_request_is_answered_by_one_of_the_threads(handler: Handler) -> None:
    call = Call(handler, "quick")
    await asyncio.wait_for(call.task, 30)
    assert call.sent[0]["status"] == 200
    assert call.body.startswith(b"http")


async def test_more_requests_than_threads_wait_and_are_all_answered(handler: Handler) -> None:
    calls = [Call(handler, "slow") for _ in range(5)]
    await until(lambda: len(inside) == THREADS)
    await asyncio.sleep(0.1)
    assert len(inside) == THREADS
    gate.set()
    await asyncio.wait_for(asyncio.gather(*(call.task for call in calls)), 30)
    assert [call.body for call in calls] == [b"slow"] * 5
    assert len(set(inside)) == THREADS


async def test_streams_that_wait_hold_no_thread(handler: Handler) -> None:
    streams = [Call(handler, "stream") for _ in range(3 * THREADS)]
    await until(lambda: all(call.body == b"first" for call in streams))
    other = Call(handler, "quick")
    await asyncio.wait_for(other.task, 30)
    assert other.sent[0]["status"] == 200
    for call in streams:
        call.hang_up()
    await asyncio.wait_for(asyncio.gather(*(call.task for call in streams)), 30)


async def test_a_stream_ends_when_its_reader_is_gone(handler: Handler) -> None:
    call = Call(handler, "stream")
    await until(lambda: call.body == b"first")
    call.hang_up()
    await asyncio.wait_for(call.task, 30)
    assert ended == ["stream"]
    assert call.body == b"first"


async def test_what_breaks_in_a_stream_is_not_swallowed(handler: Handler) -> None:
    call = Call(handler, "broken")
    with pytest.raises(ValueError, match="in the middle"):
        await asyncio.wait_for(call.task, 30)


async def test_each_answer_is_closed_once(handler: Handler) -> None:
    closed: list[object] = []

    def count(sender: object, **given: object) -> None:
        closed.append(sender)

    request_finished.connect(count, weak=False, dispatch_uid="counted")
    try:
        await asyncio.wait_for(Call(handler, "quick").task, 30)
        call = Call(handler, "stream")
        await until(lambda: call.body == b"first")
        call.hang_up()
        await asyncio.wait_for(call.task, 30)
    finally:
        request_finished.disconnect(dispatch_uid="counted")
    assert len(closed) == 2


async def test_a_thread_keeps_no_connection_to_the_database(handler: Handler) -> None:
    """With more processes than PostgreSQL has connections for, an idle thread must hold none."""
    await asyncio.wait_for(Call(handler, "quick").task, 30)
    held = handler._threads.submit(lambda: connection.connection)
    assert held.result(30) is None


async def test_a_path_that_does_not_exist_is_told(handler: Handler) -> None:
    call = Call(handler, "nowhere")
    await asyncio.wait_for(call.task, 30)
    assert call.sent[0]["status"] == 404
