"""The socket of an open page: told of newer versions, and closed with 4403 when access has ended.

    /ws/prompts/<prompt id>/       somebody signed in
    /s/open/<link id>/watch/       who came by a link: there the browser sends the cookie of the visit

It is asked about every 10 s and before each frame whose last answer is older than 5 s; news only makes that sooner.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import time
import uuid
from collections.abc import Callable
from typing import Any

from chat.consumer import client_address
from chat.device import AWAY
from chat.limits import Buckets
from chat.sessions import session_key_of
from core.sockets import Socket
from sharing import bound, news, visits, watched
from sharing.watched import Seen
from sharing.watching import Watch

log = logging.getLogger("playground.sharing")

CLOSE_ENDED = 4403
CLOSE_TRY_LATER = 4500
#: Of a bound of 0: an idle socket is asked about once a second, and each frame anyway.
SHORTEST_S = 1.0
#: For Redis to take a subscription: news is only quicker, and must not keep a socket from being asked about.
JOIN_WITHIN_S = 3.0
#: New sockets a minute, of one session or one visit; each asks the database. Somebody opens forty tabs at once.
OPENINGS = Buckets(capacity=60, refill_per_s=1.0, clock=time.monotonic)


class AccessConsumer(Socket):
    """Frames from the server only: `{"type": "open", "version": 7, "can": ["change", ...]}`, first and at changes."""

    _task: asyncio.Task[None] | None = None
    _wake: asyncio.Event
    _read: Callable[[], Seen | None]
    _group: str | None = None

    async def connect(self) -> None:
        # Accepted first: a refused handshake has no close code, and the page could not tell why.
        await self.accept()
        if OPENINGS.take(self._opener()):
            await self.close(CLOSE_TRY_LATER)
            return
        self._wake = asyncio.Event()
        self._read = self._reader()
        self._task = asyncio.get_running_loop().create_task(self._run())

    def _opener(self) -> str:
        """A session, a visit, or the address of who has neither."""
        where, cookies = self.scope["url_route"]["kwargs"], self.scope["cookies"]
        if "link_id" not in where:
            return session_key_of(cookies) or client_address(self.scope)
        link_id = uuid.UUID(where["link_id"])
        visit = visits.read(cookies.get(visits.cookie_name(link_id)), link_id)
        return visit.visitor if visit else client_address(self.scope)

    def _reader(self) -> Callable[[], Seen | None]:
        where, cookies = self.scope["url_route"]["kwargs"], self.scope["cookies"]
        session_key = session_key_of(cookies)
        if "prompt_id" in where:
            prompt_id = uuid.UUID(where["prompt_id"])
            return lambda: watched.by_person(session_key, prompt_id)
        link_id = uuid.UUID(where["link_id"])
        cookie = cookies.get(visits.cookie_name(link_id))
        return lambda: watched.by_link(session_key, link_id, cookie)

    async def disconnect(self, code: int) -> None:
        del code
        if self._task is not None:
            self._task.cancel()
        if self._group is not None:
            try:
                await self.channel_layer.group_discard(self._group, self.channel_name)
            except AWAY as error:
                log.info("access socket left without a word", extra={"error": type(error).__name__})

    async def access_changed(self, message: dict[str, Any]) -> None:
        """News: ask now."""
        del message
        self._wake.set()

    async def _run(self) -> None:
        try:
            await self._watch()
        except Exception as error:
            # No answer is not a yes: the page comes back, and is let in if it may. Whatever the error was, a socket
            # that nobody asks about any more must not stay open.
            log.warning(
                "access socket closed", extra={"error": type(error).__name__}, exc_info=not isinstance(error, AWAY)
            )
            await self.close(CLOSE_TRY_LATER)

    async def _watch(self) -> None:
        told: Seen | None = None
        while True:
            self._wake.clear()
            asked_at_s = time.monotonic()
            seen = await watched.in_thread(self._read)
            if seen is None:
                await self.close(CLOSE_ENDED)
                return
            watch = Watch(lifetimes=bound.current, spread=random.random, asked_at_s=asked_at_s)
            await self._join(seen)
            if seen != told:
                if not watch.may_send(time.monotonic()) and bound.current().reuse:
                    continue
                await self._tell(seen)
                told = seen
            await self._pause(watch.wait_s(time.monotonic()))

    async def _join(self, seen: Seen) -> None:
        """Without Redis it is tried again with the next question."""
        if self._group is not None:
            return
        group = news.prompt_group(seen.prompt_id)
        try:
            async with asyncio.timeout(JOIN_WITHIN_S):
                await self.channel_layer.group_add(group, self.channel_name)
        except AWAY as error:
            log.warning("access socket hears no news", extra={"error": type(error).__name__})
        else:
            self._group = group

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(max(SHORTEST_S, seconds)):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _tell(self, seen: Seen) -> None:
        frame = {"type": "open", "version": seen.version, "can": list(seen.can)}
        await self.send(text_data=json.dumps(frame))
