"""Reads a run's events for one reader, from wherever it stopped, and never leaves it waiting for an end that came.

Redis tells quickly and may lose; the row tells slowly and for ever. So each quiet two seconds the row is asked, and
an end found only there is told as `reset` and `done`.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import re
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from typing import ParamSpec, TypeVar, cast

import redis
import redis.asyncio
from django.db import InterfaceError, OperationalError, connection

from inference_client.events import Event, done_event, events_key, from_fields, status_event, text_key
from inference_client.models import Run

BLOCK_MS = 2000
#: How often the row is asked although events arrive.
LOOK_EVERY_S = 10.0
_AWAY_PAUSE_S = 0.5
_BATCH = 500
_EVENT_ID = re.compile(r"\d{1,20}-\d{1,20}")
#: Entries to look back through for a reader's place: any text or reset tells it.
_LOOK_BACK = 20
_START = "0-0"

#: The readers' own threads: in the shared one of the event loop a slow query would stop every other request.
_database = concurrent.futures.ThreadPoolExecutor(max_workers=4, thread_name_prefix="run-readers")

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

Entry = tuple[bytes, Mapping[bytes, bytes]]
Told = tuple[str | None, Event]


def as_event_id(given: str | None) -> str | None:
    """A reader's `Last-Event-ID`; None for one that cannot be ours, which then starts from the beginning."""
    return given if given and _EVENT_ID.fullmatch(given) else None


async def look_at(run_id: uuid.UUID) -> Run | None:
    """The run's row; None if it is gone or its account was switched off. Holds no connection afterwards.

    Raises OperationalError or InterfaceError while the database is away.
    """
    return await in_readers_thread(_read_row, run_id)


async def in_readers_thread(
    read: Callable[Arguments, Answer], *args: Arguments.args, **kwargs: Arguments.kwargs
) -> Answer:
    """Read something in a thread of the readers. Holds no connection afterwards."""

    def work() -> Answer:
        try:
            return read(*args, **kwargs)
        finally:
            connection.close()

    return await asyncio.get_running_loop().run_in_executor(_database, work)


def _read_row(run_id: uuid.UUID) -> Run | None:
    runs = Run.objects.filter(pk=run_id, account__is_active=True)
    return runs.defer("request", "wire_request", "response_json").first()


class Follower:
    """The events of one run as (event id or None, event), ending after `done`.

    Events made here carry no id: a reader that returns names the last real one, and is told the same again.
    """

    def __init__(self, client: redis.asyncio.Redis, run: Run, last_event_id: str | None) -> None:
        self._redis = client
        self._run = run
        self._key = events_key(run.pk)
        self._cursor = last_event_id or _START
        #: Code points told so far; None until it is known where a returning reader stopped.
        self._position: int | None = None if last_event_id else 0

    async def events(self) -> AsyncIterator[Told]:
        yield None, status_event(self._run.status)
        clock = asyncio.get_running_loop().time
        looked_at = clock()
        while True:
            batch = await self._next()
            if batch is None and self._run.is_terminal:
                batch = self._told_from_row()
            for told in batch or ():
                yield told
                if told[1].kind == "done":
                    return
            if batch is None or clock() - looked_at >= LOOK_EVERY_S:
                looked_at = clock()
                if not await self._look():
                    return

    async def _look(self) -> bool:
        """Ask the row; False if there is nothing more to follow."""
        try:
            found = await look_at(self._run.pk)
        except (OperationalError, InterfaceError):
            return True
        if found is not None:
            self._run = found
        return found is not None

    async def _next(self) -> list[Told] | None:
        """What the next entries tell; None after two quiet seconds, or while Redis is away."""
        try:
            if self._position is None:
                return await self._resume()
            entries = await self._read()
            told = [part for entry in entries for part in await self._told(entry)]
        except (redis.RedisError, OSError):
            await asyncio.sleep(_AWAY_PAUSE_S)
            return None
        return told if entries else None

    async def _read(self) -> list[Entry]:
        block = None if self._run.is_terminal else BLOCK_MS
        answer = cast(
            "list[tuple[bytes, list[Entry]]]",
            await self._redis.xread({self._key: self._cursor}, count=_BATCH, block=block),
        )
        return answer[0][1] if answer else []

    async def _resume(self) -> list[Told]:
        """Find where a returning reader stopped: after the last text up to its event id, if that is still there."""
        found = await self._redis.xrevrange(self._key, max=self._cursor, count=_LOOK_BACK)
        back = cast("list[Entry]", found)
        if back and back[0][0].decode() == self._cursor:
            for _, fields in back:
                event = from_fields(fields)
                if event.kind in ("text", "reset"):
                    self._position = _end_of(event)
                    return []
            if len(back) < _LOOK_BACK:
                self._position = 0
                return []
        self._cursor = _START
        return await self._start_over()

    async def _told(self, entry: Entry) -> list[Told]:
        """What the reader is told of one entry: nothing that it has, and the whole text if it missed some."""
        event_id, event = entry[0].decode(), from_fields(entry[1])
        self._cursor = event_id
        place = self._position or 0
        if event.kind == "reset":
            self._position = _end_of(event)
        if event.kind != "text":
            return [(event_id, event)]
        if event.data["offset"] > place:
            return await self._start_over()
        fresh = event.data["text"][place - event.data["offset"] :]
        self._position = place + len(fresh)
        return [(event_id, Event(kind="text", data={"offset": place, "text": fresh}))] if fresh else []

    async def _start_over(self) -> list[Told]:
        """The whole text as it is now, for a reader whose place is lost. What it covers is not told again."""
        raw = cast("bytes | None", await self._redis.get(text_key(self._run.pk)))
        text = (raw or b"").decode("utf-8", errors="replace")
        self._position = len(text)
        return [(None, Event(kind="reset", data={"text": text}))]

    def _told_from_row(self) -> list[Told]:
        return [
            (None, Event(kind="reset", data={"text": self._run.output})),
            (None, done_event(self._run)),
        ]


def _end_of(event: Event) -> int:
    """The place after a text or a reset, in code points."""
    return int(event.data.get("offset", 0)) + len(event.data["text"])
