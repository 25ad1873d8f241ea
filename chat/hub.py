"""All open sockets of this process, and what is done for all of them by the clock."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable

from chat import positions, presence
from chat.conversing import Conversing
from chat.database import in_thread
from chat.device import AWAY, Device
from chat.presence import Here
from chat.protocol import HELLO_WITHIN_S, PROBE_AFTER_S, SILENT_AFTER_S, Close
from chat.sessions import person_of
from chat.store import Store
from core.bus import Publisher

log = logging.getLogger("playground.chat")

MAX_DRAINS = 8
TICK_S = 1.0
PRESENCE_EVERY_S = 20.0
SESSION_EVERY_S = 60.0
MAX_CHECKS = 4


class Hub:
    """One an event loop. Its loops start with the first socket and end with the event loop."""

    def __init__(self) -> None:
        self.store = Store()
        self.publisher = Publisher()
        self.conversing = Conversing(self)
        self.drains = asyncio.Semaphore(MAX_DRAINS)
        self._checks = asyncio.Semaphore(MAX_CHECKS)
        self._opening: set[Device] = set()
        self._devices: set[Device] = set()
        self._loops: list[asyncio.Task[None]] = []
        self._errands: set[asyncio.Task[None]] = set()

    def open(self, device: Device) -> None:
        """A socket that has not said hello yet."""
        self._opening.add(device)
        if not self._loops:
            loop = asyncio.get_running_loop()
            self._loops = [
                loop.create_task(self._every(positions.EVERY_S, self._sweep)),
                loop.create_task(self._every(PRESENCE_EVERY_S, self._refresh)),
                loop.create_task(self._every(TICK_S, self._look_after)),
            ]

    def add(self, device: Device) -> None:
        self._opening.discard(device)
        self._devices.add(device)

    def remove(self, device: Device) -> None:
        """Twice is once. A device that had said hello says goodbye: offline soon, unless a newer one is here."""
        self._opening.discard(device)
        if device in self._devices:
            self._devices.discard(device)
            self._errand(in_thread(presence.leave, person=device.person, gen=device.gen))

    def check_session(self, device: Device) -> None:
        """Ask now whether the person is still signed in there; if not, the socket is closed."""
        device.checked_at = time.monotonic()
        self._errand(self._check(device))

    def _errand(self, work: Awaitable[object]) -> None:
        async def run() -> None:
            try:
                await work
            except AWAY as error:
                log.warning("chat errand failed", extra={"error": type(error).__name__})

        task = asyncio.get_running_loop().create_task(run())
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)

    async def _check(self, device: Device) -> None:
        async with self._checks:
            person = await in_thread(person_of, device.session_key)
        if person != device.person:
            device.end(Close.SIGNED_OUT)

    async def _every(self, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
        """`work` again and again; what it raises is logged, and the next turn comes all the same."""
        while True:
            await asyncio.sleep(seconds * random.uniform(0.9, 1.0))  # noqa: S311  # so that workers do not march in step
            try:
                await work()
            except AWAY as error:
                log.warning("chat sweep failed", extra={"error": type(error).__name__})
            except Exception as error:  # noqa: BLE001  # a loop that ends would end the repair of losses with it
                log.error("chat sweep failed", extra={"error": type(error).__name__})

    async def _sweep(self) -> None:
        await positions.sweep(self.store, list(self._devices))

    async def _refresh(self) -> None:
        now = time.monotonic()
        here = [Here(person=device.person, gen=device.gen, silent_s=now - device.heard_at) for device in self._devices]
        if here:
            await in_thread(presence.refresh, here)

    async def _look_after(self) -> None:
        now = time.monotonic()
        for device in list(self._opening):
            if now - device.opened_at > HELLO_WITHIN_S:
                device.end(Close.BAD_PROTOCOL)
        for device in list(self._devices):
            silent_s = now - device.heard_at
            if silent_s > SILENT_AFTER_S:
                device.end(Close.GOING_AWAY)
            elif silent_s > PROBE_AFTER_S and not device.probed:
                # A hidden page's timers may stand still for a minute; it still answers what arrives.
                device.probed = True
                device.tell({"type": "probe"})
            if now - device.checked_at > SESSION_EVERY_S:
                self.check_session(device)


_hubs: dict[asyncio.AbstractEventLoop, Hub] = {}


def current() -> Hub:
    """The hub of the running event loop."""
    loop = asyncio.get_running_loop()
    hub = _hubs.get(loop)
    if hub is None:
        for old in [each for each in _hubs if each.is_closed()]:
            del _hubs[old]
        hub = _hubs[loop] = Hub()
    return hub
