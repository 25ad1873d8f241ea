"""Reads a run's events for one reader, from wherever it stopped, and never leaves it waiting for an end that came.

Redis tells quickly and may lose; the row tells slowly and for ever. So each quiet two seconds the row is asked, and
an end found only there is told as `reset` and `done`.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import re
import uuid
from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import redis
from django.db import InterfaceError, OperationalError, connection

from inference_client.entries import BATCH, Away, Entry, Subscription, entry_reader
from inference_client.events import Event, done_event, events_key, from_fields, hasty_client, status_event, text_key
from inference_client.models import Run

#: After so long without an entry the row is asked.
QUIET_S = 2.0
#: How often the row is asked although events arrive.
LOOK_EVERY_S = 10.0
_AWAY_PAUSE_S = 0.5
_EVENT_ID = re.compile(r"\d{1,20}-\d{1,20}")
#: Entries to look back through for a reader's place: any text or reset tells it.
_LOOK_BACK = 20
_START = "0-0"
#: What a reader of events is never told.
NOT_FOLLOWED = ("request", "wire_request", "response_json", "structured_json")

#: The readers' own threads: in the shared one of the event loop a slow query would stop every other request.
_database = concurrent.futures.ThreadPoolExecutor(max_workers=4, thread_name_prefix="run-readers")

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

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
    return runs.defer(*NOT_FOLLOWED).first()


class Follower:
    """The events of one run as (event id or None, event), ending after `done`. To be closed.

    Events made here carry no id: a reader that returns names the last real one, and is told the same again.
    """

    def __init__(self, run: Run, last_event_id: str | None) -> None:
        self._run = run
        self._key = events_key(run.pk)
        self._cursor = last_event_id or _START
        #: Code points told so far; None until it is known where a returning reader stopped.
        self._position: int | None = None if last_event_id else 0
        self._subscription: Subscription | None = None
        self._clock = asyncio.get_running_loop().time
        self._looked_at = self._heard_at = self._clock()
        self._has_begun = self._has_ended = False

    def close(self) -> None:
        if self._subscription is not None:
            entry_reader().leave(self._subscription)

    async def next(self, within_s: float) -> list[Told] | None:
        """What is new, all that is there of it; [] if nothing comes within `within_s` seconds, None after the end."""
        if self._has_ended:
            return None
        if not self._has_begun:
            self._has_begun = True
            return [(None, status_event(self._run.status))]
        told = await self._new(within_s)
        for count, (_, event) in enumerate(told, start=1):
            if event.kind == "done":
                self._has_ended = True
                return told[:count]
        return told

    async def _new(self, within_s: float) -> list[Told]:
        told = await self._next(min(within_s, max(0.0, self._heard_at + QUIET_S - self._clock())))
        now = self._clock()
        if told is None and self._run.is_terminal:
            return self._told_from_row()
        if told is not None:
            self._heard_at = now
        if now - self._heard_at >= QUIET_S or now - self._looked_at >= LOOK_EVERY_S:
            self._looked_at = self._heard_at = now
            self._has_ended = not await self._look()
        return told or []

    async def _look(self) -> bool:
        """Ask the row; False if there is nothing more to follow."""
        try:
            found = await look_at(self._run.pk)
        except (OperationalError, InterfaceError):
            return True
        if found is not None:
            self._run = found
        return found is not None

    async def _next(self, within_s: float) -> list[Told] | None:
        """What the next entries tell; None if none came, or while Redis is away."""
        try:
            if self._position is None:
                return await self._resume()
            entries = await self._read(within_s)
            told = [part for entry in entries for part in await self._told(entry)]
        except (Away, redis.RedisError, OSError):
            await asyncio.sleep(min(_AWAY_PAUSE_S, within_s))
            return None
        return told if entries else None

    async def _read(self, within_s: float) -> list[Entry]:
        if self._run.is_terminal:
            # All that there will be is there.
            return await in_readers_thread(_entries_now, self._key, self._cursor)
        if self._subscription is None:
            self._subscription = entry_reader().follow(self._key, self._cursor)
            _database.submit(entry_reader().hurry)
        return await self._subscription.take(within_s)

    async def _resume(self) -> list[Told]:
        """Find where a returning reader stopped: after the last text up to its event id, if that is still there."""
        back = await in_readers_thread(_entries_back, self._key, self._cursor)
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
        raw = await in_readers_thread(_text_now, text_key(self._run.pk))
        text = (raw or b"").decode("utf-8", errors="replace")
        self._position = len(text)
        return [(None, Event(kind="reset", data={"text": text}))]

    def _told_from_row(self) -> list[Told]:
        return [
            (None, Event(kind="reset", data={"text": self._run.output})),
            (None, done_event(self._run)),
        ]


def _entries_now(key: str, cursor: str) -> list[Entry]:
    answer = cast("list[tuple[bytes, list[Entry]]]", hasty_client().xread({key: cursor}, count=BATCH))
    return answer[0][1] if answer else []


def _entries_back(key: str, cursor: str) -> list[Entry]:
    return cast("list[Entry]", hasty_client().xrevrange(key, max=cursor, count=_LOOK_BACK))


def _text_now(key: str) -> bytes | None:
    return cast("bytes | None", hasty_client().get(key))


def _end_of(event: Event) -> int:
    """The place after a text or a reset, in code points."""
    return int(event.data.get("offset", 0)) + len(event.data["text"])
