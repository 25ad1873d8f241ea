"""The caller's end: reading a bounded body, noticing that the caller left, sending JSON."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing, contextmanager
from typing import Any, TypeVar

from starlette.types import Message, Receive, Scope, Send

from inference_backend.errors import BodyTooLargeError, InvalidRequestError, SlowBodyError
from inference_backend.recurring_timeout import RecurringTimeout

MAX_BODY_BYTES = 32 * 1024 * 1024
# For the first byte, and beyond it as long as the least rate needs for what has come: who sends a byte now and then
# would else hold a place in the house for ever.
BODY_PATIENCE_S = 20.0
LEAST_BYTES_PER_S = 16 * 1024
# Reading more than this takes milliseconds, in which nobody else would be served.
LARGE_BODY_BYTES = 256 * 1024

Read = TypeVar("Read")


class ClientGoneError(Exception):
    """Nobody is left to answer."""


def read_headers(scope: Scope) -> dict[str, str]:
    """Names are lower case already. Of a header sent twice the last counts."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


async def read_body(headers: dict[str, str], receive: Receive) -> bytes:
    """Raises BodyTooLargeError beyond MAX_BODY_BYTES, InvalidRequestError for a compressed body, SlowBodyError,
    ClientGoneError.
    """
    if headers.get("content-encoding", "identity") != "identity":
        raise InvalidRequestError("must be absent: send the body as it is", field="content-encoding")
    length = headers.get("content-length", "0")
    if length.isdigit() and int(length) > MAX_BODY_BYTES:
        raise _too_large()
    try:
        async with asyncio.timeout(BODY_PATIENCE_S) as patience:
            return await _receive_all(receive, patience)
    except TimeoutError as error:
        raise SlowBodyError("The request did not arrive in time: send its body faster.") from error


async def _receive_all(receive: Receive, patience: asyncio.Timeout) -> bytes:
    body, until = bytearray(), patience.when() or 0.0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            raise _too_large()
        if not message.get("more_body", False):
            return bytes(body)
        patience.reschedule(until + len(body) / LEAST_BYTES_PER_S)


async def apart_if_large(read: Callable[[bytes], Read], body: bytes) -> Read:
    """What `read` makes of the body, and raises; in a thread where that takes long."""
    if len(body) > LARGE_BODY_BYTES:
        return await asyncio.to_thread(read, body)
    return read(body)


def _too_large() -> BodyTooLargeError:
    return BodyTooLargeError(f"The request body is larger than {MAX_BODY_BYTES // (1024 * 1024)} MiB.")


@contextmanager
def give_up_on_stalled(send: Send, seconds: float) -> Iterator[Send]:
    """`send` that raises ClientGoneError where the caller takes nothing for so long.

    Otherwise somebody who opens streams and reads none would hold places of an engine for ever.
    """
    limit, clock = RecurringTimeout(), asyncio.get_running_loop().time

    async def send_in_time(message: Message) -> None:
        try:
            with limit.until(clock() + seconds):
                await send(message)
        except TimeoutError as error:
            raise ClientGoneError from error

    with closing(limit):
        yield send_in_time


async def run_while_connected(receive: Receive, work: Coroutine[Any, Any, None]) -> None:
    """Runs `work`, and cancels it as soon as the caller leaves. Raises ClientGoneError then."""
    task = asyncio.create_task(work)
    watcher = asyncio.create_task(wait_for_disconnect(receive))
    try:
        await asyncio.wait({task, watcher}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return await task
        raise ClientGoneError
    finally:
        for either in (task, watcher):
            either.cancel()
        # Waits until the connection to the engine is closed, so that the place given back is really free.
        await asyncio.gather(task, watcher, return_exceptions=True)


async def wait_for_disconnect(receive: Receive) -> None:
    """Until the caller leaves; whatever it still sends is dropped."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def send_json(send: Send, status: int, content: Any, headers: dict[str, str] | None = None) -> None:
    body = json.dumps(content, ensure_ascii=False).encode()
    await send(
        response_head(status, {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})})
    )
    await send({"type": "http.response.body", "body": body})


def response_head(status: int, headers: dict[str, str]) -> Message:
    return {
        "type": "http.response.start",
        "status": status,
        "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()],
    }
