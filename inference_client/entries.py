"""New entries of the runs' streams, read for all readers of this process together.

A blocking read for each reader costs a connection and a command for each entry; with thirty readers beside a model on
two cores that is what the first token waits for. One thread asks for the streams of all runs that somebody follows.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
import time
from collections.abc import Mapping
from typing import cast

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from inference_client.events import hasty_client

Entry = tuple[bytes, Mapping[bytes, bytes]]
Place = tuple[int, int]

BATCH = 500
#: Of a reader who does not take them, so many entries are held before its stream is left alone.
MOST_HELD = 1000
_BLOCK_MS = 1000
_AWAY_PAUSE_S = 0.5
#: With many streams a little is let gather, or each entry of each of them would be an answer of its own.
_GATHER_S_A_STREAM, _GATHER_S = 0.001, 0.02
_WAKE_EVERY_S = 0.002
_WAKE_WITHIN_S = 1.0


class Away(Exception):
    """Redis does not answer."""


class Subscription:
    """The entries of one stream from a place on, for one reader. All but `cursor` belongs to the reader's loop."""

    def __init__(self, key: str, cursor: str) -> None:
        self.key = key
        self.cursor = place_of(cursor)
        self.given = 0
        self.taken = 0
        self.loop = asyncio.get_running_loop()
        self._entries: list[Entry] = []
        self._is_away = False
        self._waiter: asyncio.Future[None] | None = None

    async def take(self, within_s: float) -> list[Entry]:
        """All entries that came; [] if none does within `within_s` seconds. Raises Away."""
        if not self._entries and not self._is_away:
            await self._change(within_s)
        if self._is_away:
            self._is_away = False
            raise Away
        entries, self._entries = self._entries, []
        self.taken += len(entries)
        return entries

    async def _change(self, within_s: float) -> None:
        waiter = self._waiter = self.loop.create_future()
        timer = self.loop.call_later(within_s, _resolve, waiter)
        try:
            await waiter
        finally:
            timer.cancel()
            self._waiter = None

    def deliver(self, entries: list[Entry] | None) -> None:
        """On the reader's loop. None: Redis is away."""
        if entries is None:
            self._is_away = True
        else:
            self._entries += entries
        if self._waiter is not None:
            _resolve(self._waiter)


def _resolve(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def place_of(entry_id: str | bytes) -> Place:
    """An id of a stream's entry, as what it is ordered by."""
    ms, _, number = (entry_id.decode() if isinstance(entry_id, bytes) else entry_id).partition("-")
    return int(ms), int(number)


class EntryReader:
    """The thread and who waits for it. Safe for threads; a subscription is made on the loop of its reader."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._subscriptions: set[Subscription] = set()
        self._version = 0
        self._read_version = 0
        self._client: redis.Redis | None = None
        self._client_id: int | None = None
        self._thread: threading.Thread | None = None

    def follow(self, key: str, cursor: str) -> Subscription:
        """From behind the entry `cursor` on. The read that is under way does not know of it: see `hurry`."""
        subscription = Subscription(key, cursor)
        with self._changed:
            self._subscriptions.add(subscription)
            self._version += 1
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="run-entries", daemon=True)
                self._thread.start()
            self._changed.notify()
        return subscription

    def leave(self, subscription: Subscription) -> None:
        with self._changed:
            self._subscriptions.discard(subscription)

    def hurry(self) -> None:
        """Let a read begin that knows of all subscriptions made so far. Blocks, mostly for 2 ms."""
        wanted, give_up_at = self._version, time.monotonic() + _WAKE_WITHIN_S
        while self._read_version < wanted and time.monotonic() < give_up_at:
            time.sleep(_WAKE_EVERY_S)
            client_id = self._client_id
            if self._read_version < wanted and client_id is not None:
                with contextlib.suppress(redis.RedisError):
                    hasty_client().client_unblock(client_id)

    def _run(self) -> None:
        while True:
            wanted = self._wanted()
            if not wanted:
                continue
            try:
                found = self._read({key: min(each.cursor for each in group) for key, group in wanted.items()})
            except (redis.RedisError, OSError):
                self._client = self._client_id = None
                _deliver([(each, None) for group in wanted.values() for each in group])
                time.sleep(_AWAY_PAUSE_S)
            else:
                _deliver(_shared_out(found, wanted))
                time.sleep(min(_GATHER_S, _GATHER_S_A_STREAM * len(wanted)))

    def _wanted(self) -> dict[str, list[Subscription]]:
        """By stream, the subscriptions that have room; waits if there are none."""
        wanted: dict[str, list[Subscription]] = {}
        with self._changed:
            if not self._subscriptions:
                self._changed.wait()
            for each in self._subscriptions:
                if each.given - each.taken < MOST_HELD:
                    wanted.setdefault(each.key, []).append(each)
            self._read_version = self._version
            if not wanted and self._subscriptions:
                # All are slow readers; nobody says when one of them has taken something.
                self._changed.wait(_GATHER_S)
        return wanted

    def _read(self, places: Mapping[str, Place]) -> list[tuple[bytes, list[Entry]]]:
        client = self._client
        if client is None:
            client = self._client = redis.Redis.from_url(
                settings.REDIS_URL,
                single_connection_client=True,
                socket_timeout=5,
                socket_connect_timeout=1,
                retry=Retry(NoBackoff(), 0),
            )
            self._client_id = client.client_id()
        cursors = {key: f"{ms}-{number}" for key, (ms, number) in places.items()}
        answer = client.xread(
            cast("dict[str | bytes | memoryview, int | str | bytes | memoryview]", cursors),
            count=BATCH,
            block=_BLOCK_MS,
        )
        return cast("list[tuple[bytes, list[Entry]]]", answer)


Delivery = tuple[Subscription, list[Entry] | None]


def _shared_out(found: list[tuple[bytes, list[Entry]]], wanted: Mapping[str, list[Subscription]]) -> list[Delivery]:
    """What each reader gets: readers of one stream may stand at different places."""
    shares: list[Delivery] = []
    for key, entries in found or ():
        placed = [(place_of(entry[0]), entry) for entry in entries]
        for each in wanted.get(key.decode(), ()):
            fresh = [entry for place, entry in placed if place > each.cursor]
            if fresh:
                each.cursor = placed[-1][0]
                each.given += len(fresh)
                shares.append((each, fresh))
    return shares


def _deliver(shares: list[Delivery]) -> None:
    by_loop: dict[asyncio.AbstractEventLoop, list[Delivery]] = {}
    for share in shares:
        by_loop.setdefault(share[0].loop, []).append(share)
    for loop, own in by_loop.items():
        # A loop that ended has no readers any more.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_deliver_here, own)


def _deliver_here(shares: list[Delivery]) -> None:
    for subscription, entries in shares:
        subscription.deliver(entries)


_making = threading.Lock()


def entry_reader() -> EntryReader:
    """The one of this process."""
    with _making:
        return _made()


@functools.cache
def _made() -> EntryReader:
    return EntryReader()
