"""A chat page without a screen: the client's half of docs/protocol.md, over a real socket."""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.typing import Origin

Frame = dict[str, Any]
WITHIN_S = 45.0
#: Pages without the rule that repairs losses, on servers without it: then the tests of losses have to fail.
DEAF_VARIABLE = "CHAT_WITHOUT_REPAIR"
TRUSTS_THE_BUS = DEAF_VARIABLE in os.environ
GONE = (ConnectionClosed, InvalidHandshake, OSError, TimeoutError)


@asynccontextmanager
async def opened(
    url: str, cookie: str, *, origin: str | None, receive_buffer: int = 0
) -> AsyncIterator[ClientConnection]:
    """A bare socket. `receive_buffer`: bytes that the kernel takes for who does not read; 0 leaves that to it."""
    at = urlsplit(url)
    ours = socket.socket()
    ours.setblocking(False)
    if receive_buffer:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    try:
        await asyncio.get_running_loop().sock_connect(ours, (at.hostname, at.port))
    except OSError:
        ours.close()
        raise
    async with connect(
        url,
        sock=ours,
        origin=None if origin is None else Origin(origin),
        additional_headers={"Cookie": cookie},
        open_timeout=WITHIN_S,
        ping_interval=None,
    ) as connection:
        yield connection


async def say(socket: ClientConnection, **frame: Any) -> None:
    await socket.send(json.dumps(frame))


async def hear(socket: ClientConnection, kind: str, *, within_s: float = WITHIN_S) -> Frame:
    """The next frame of this type; others are passed over."""
    async with asyncio.timeout(within_s):
        while True:
            frame: Frame = json.loads(await socket.recv())
            if frame["type"] == kind:
                return frame


async def greet(socket: ClientConnection, *, have: int | None = None, page: uuid.UUID | None = None) -> Frame:
    """Say hello, and wait until caught up. Answers the welcome."""
    await say(socket, type="hello", protocol=1, have=have, page=str(page or uuid.uuid4()))
    welcome = await hear(socket, "welcome")
    await hear(socket, "drained")
    return welcome


async def closed(socket: ClientConnection, *, within_s: float = WITHIN_S) -> int:
    """The close code; frames before it are passed over."""
    async with asyncio.timeout(within_s):
        with suppress(ConnectionClosed):
            while True:
                await socket.recv()
    assert socket.close_code is not None
    return socket.close_code


@dataclass
class Page:
    """Connects again and again, keeps an outbox, applies events in order only, and acknowledges what it has.

    `shown` is what a person would have seen: every message whose id is new. `repeated` counts events applied twice.
    """

    url: str
    cookie: str
    origin: str
    lose_acks: float = 0.0
    id: uuid.UUID = field(default_factory=uuid.uuid4)
    have: int | None = None
    gen: int = 0
    shown: list[Frame] = field(default_factory=list)
    applied: Counter[int] = field(default_factory=Counter)
    versions: dict[str, int] = field(default_factory=dict)
    outbox: list[Frame] = field(default_factory=list)
    sent: dict[str, Frame] = field(default_factory=dict)
    failed: list[Frame] = field(default_factory=list)
    final_code: int | None = None
    codes: list[int] = field(default_factory=list)
    connections: int = 0
    trusts_the_bus: bool = TRUSTS_THE_BUS
    pause_s: float = 0.3
    #: Between two pings, and without a word after which the connection is taken for dead.
    ping_s: float = 25.0
    silent_s: float = 35.0
    heard_at: float = 0.0
    receive_buffer: int = 0
    socket: ClientConnection | None = None

    def submit(self, conversation: str, body: str) -> str:
        """Into the outbox, under an id that every attempt carries."""
        client_id = str(uuid.uuid4())
        self.outbox.append({"type": "send", "conversation": conversation, "id": client_id, "body": body})
        return client_id

    async def run(self) -> None:
        """Until a final close code, or until cancelled."""
        while self.final_code is None:
            try:
                async with opened(
                    self.url, self.cookie, origin=self.origin, receive_buffer=self.receive_buffer
                ) as connection:
                    self.connections += 1
                    self.socket = connection
                    await self._talk(connection)
            except GONE:
                code = self.socket.close_code if self.socket else None
                self.codes += [code] if code is not None else []
                if code is not None and 4400 <= code < 4500 and code != 4408:
                    self.final_code = code
            await asyncio.sleep(random.uniform(0, self.pause_s))

    def cut(self) -> None:
        """The network is gone: no close frame, no FIN is sent by us."""
        if self.socket is not None:
            self.socket.transport.abort()

    async def _talk(self, socket: ClientConnection) -> None:
        await say(socket, type="hello", protocol=1, have=self.have, page=str(self.id))
        welcome = await hear(socket, "welcome")
        self.gen = welcome["gen"]
        if self.have is None:
            self.have = welcome["base"]
        self.heard_at = time.monotonic()
        works = (self._hear, self._flush, self._acknowledge, self._watch)
        tasks = [asyncio.ensure_future(work(socket)) for work in works]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _hear(self, socket: ClientConnection) -> None:
        async for text in socket:
            self.heard_at = time.monotonic()
            frame = json.loads(text)
            events = [frame] if frame["type"] == "event" else frame.get("events", [])
            if not all(self._apply(event) for event in events):
                return
            match frame["type"]:
                case "reset":
                    self.have = frame["base"]
                case "sent":
                    self.sent[frame["id"]] = frame
                    self.outbox = [each for each in self.outbox if each["id"] != frame["id"]]
                case "failed":
                    self.failed.append(frame)
                case "probe":
                    await say(socket, type="ping", have=self.have, peers=[])

    def _apply(self, event: Frame) -> bool:
        """False if there is a hole: the page then connects again and says what it has."""
        assert self.have is not None
        seq = event["inbox_seq"]
        if seq <= self.have:
            return True
        if seq != self.have + 1 and not self.trusts_the_bus:
            return False
        self.have = seq
        self.applied[seq] += 1
        message = event["message"]
        if message["id"] not in self.versions:
            self.shown.append(message)
        self.versions[message["id"]] = max(self.versions.get(message["id"], 0), message["version"])
        return True

    async def _flush(self, socket: ClientConnection) -> None:
        """One message under way at a time; an answer that does not come within 2 s is asked for again."""
        while True:
            if not self.outbox:
                await asyncio.sleep(0.01)
                continue
            waiting = self.outbox[0]
            await say(socket, **waiting)
            until = asyncio.get_running_loop().time() + 2
            failures = len(self.failed)
            while waiting in self.outbox and asyncio.get_running_loop().time() < until:
                if len(self.failed) > failures:
                    await asyncio.sleep(self.failed[-1].get("retry_after_s", 0.2))
                    break
                await asyncio.sleep(0.002)

    async def _watch(self, socket: ClientConnection) -> None:
        """Ends where nothing is heard: the closing handshake of a dead connection is not waited for."""
        pinged_at = time.monotonic()
        while time.monotonic() - self.heard_at < self.silent_s:
            await asyncio.sleep(0.2)
            if time.monotonic() - pinged_at >= self.ping_s:
                pinged_at = time.monotonic()
                await say(socket, type="ping", have=self.have, peers=[])
        self.cut()

    async def _acknowledge(self, socket: ClientConnection) -> None:
        told = -1
        while True:
            await asyncio.sleep(0.1)
            if self.have is not None and self.have > told and random.random() >= self.lose_acks:
                told = self.have
                await say(socket, type="ack", upto=told, gen=self.gen)
