"""One answer as it comes, and everybody who reads it."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from starlette.types import Message, Send

from inference_backend.errors import TooLargeToReplayError
from inference_backend.idempotency.journal import KeptAnswer

#: Answers up to this size are kept whole. Of a larger one only what its readers have not read yet.
KEPT_BYTES = 4 * 1024 * 1024


class Recording:
    """Takes the messages of an ASGI answer through `send`, and plays them to any number of readers through `follow`.

    Up to `limit` bytes everybody gets the whole answer, however late. Beyond it what all have read is dropped, nobody
    new can join, and the answer waits for its slowest reader.
    """

    def __init__(self, *, limit: int = KEPT_BYTES) -> None:
        self._limit = limit
        self._head: Message | None = None
        self._parts: list[bytes] = []
        self._dropped = 0
        self._size = 0
        self._held = 0
        self._readers: dict[object, int] = {}
        self._ended = False
        self._error: BaseException | None = None
        self._changed = asyncio.Event()

    @property
    def has_started(self) -> bool:
        return self._head is not None

    @property
    def has_ended(self) -> bool:
        return self._ended

    @property
    def is_too_large(self) -> bool:
        return self._size > self._limit

    async def send(self, message: Message) -> None:
        """An ASGI `send`."""
        if message["type"] == "http.response.start":
            self._head = message
        else:
            self._add(message.get("body", b""))
            self._ended = not message.get("more_body", False)
        self._tell()
        while self.is_too_large and self._held > self._limit and self._readers:
            await self._changed.wait()

    def fail(self, error: BaseException) -> None:
        """Every reader raises `error` after what there is."""
        self._error = error
        self._tell()

    def load(self, answer: KeptAnswer) -> None:
        self._head = head_of(answer)
        self._add(answer.body)
        self._ended = True
        self._tell()

    def kept_answer(self) -> KeptAnswer | None:
        """None where it is too large, or not whole."""
        if self._head is None or not self._ended or self.is_too_large:
            return None
        return self._answer(b"".join(self._parts))

    def _answer(self, body: bytes) -> KeptAnswer:
        head = self._head or {"status": 0, "headers": []}
        return KeptAnswer(
            status=head["status"],
            headers=tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in head["headers"]),
            body=body,
        )

    def said_since(self, at: int) -> tuple[KeptAnswer | None, bytes]:
        """(head without a body, what comes from that byte on); nothing of an answer that is too large to be kept."""
        if self._head is None or self.is_too_large:
            return None, b""
        return self._answer(b""), b"".join(self._parts)[at:]

    async def follow(self, send: Send, headers: Callable[[], list[tuple[bytes, bytes]]]) -> None:
        """Plays everything from the beginning to `send`. Raises what ended the answer instead.

        `headers` are added to those of the answer; they are asked for when it begins.
        """
        if self._dropped:
            raise TooLargeToReplayError(
                "This Idempotency-Key belongs to an answer that is still being sent and too large to be sent twice."
            )
        with self._reading() as reader:
            await self._wait_for_head()
            if self._head is None:
                return
            await send({**self._head, "headers": [*self._head["headers"], *headers()]})
            while not await self._play(reader, send):
                await self._changed.wait()

    async def _wait_for_head(self) -> None:
        while self._head is None:
            if self._error is not None:
                raise self._error
            await self._changed.wait()

    async def _play(self, reader: object, send: Send) -> bool:
        """What is new for this reader; whether that was the end."""
        while (position := self._readers[reader]) < self._dropped + len(self._parts):
            part = self._parts[position - self._dropped]
            is_last = self._ended and position + 1 == self._dropped + len(self._parts)
            await send({"type": "http.response.body", "body": part, "more_body": not is_last})
            self._readers[reader] = position + 1
            self._drop_read()
            if is_last:
                return True
        if self._error is not None:
            raise self._error
        return False

    @contextmanager
    def _reading(self) -> Iterator[object]:
        reader = object()
        self._readers[reader] = 0
        try:
            yield reader
        finally:
            del self._readers[reader]
            self._drop_read()

    def _add(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)
        self._held += len(part)

    def _drop_read(self) -> None:
        if not self.is_too_large or not self._readers:
            return
        count = min(self._readers.values()) - self._dropped
        if count > 0:
            self._held -= sum(map(len, self._parts[:count]))
            del self._parts[:count]
            self._dropped += count
            self._tell()

    def _tell(self) -> None:
        """A fresh event each time: whoever waits has seen everything before it."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


def head_of(answer: KeptAnswer) -> Message:
    return {
        "type": "http.response.start",
        "status": answer.status,
        "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers],
    }
