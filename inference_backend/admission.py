"""Who may start now, whoever it is: the number of requests in the house, and none while it closes."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager

from prometheus_client import Gauge

from inference_backend.errors import DrainingError, OverloadedError
from inference_backend.tiers import Tier

#: Of all places. A crowd of one tier leaves room for those who are turned away after it.
SHARES: Mapping[Tier, float] = {"free": 0.75, "pro": 0.9, "internal": 1.0}


class InFlightLimit:
    def __init__(self, limit: int, gauge: Gauge) -> None:
        self._limit = limit
        self._gauge = gauge
        self._count = 0
        self._running: set[asyncio.Timeout] = set()
        self.is_draining = False

    @property
    def is_idle(self) -> bool:
        return self._count == 0

    @contextmanager
    def enter(self, tier: Tier, *, is_bounded: bool = True) -> Iterator[None]:
        """Raises OverloadedError at the limit of the tier, DrainingError while this process ends.

        Gives the place back however the request ends. What has a bounded queue of its own needs no bound here.
        """
        if self.is_draining:
            raise DrainingError
        if is_bounded and self._count >= max(1, int(self._limit * SHARES[tier])):
            raise OverloadedError("Too many requests are being answered; try again shortly.")
        self._count += 1
        self._gauge.set(self._count)
        try:
            yield
        finally:
            self._count -= 1
            self._gauge.set(self._count)

    @asynccontextmanager
    async def until_cut(self) -> AsyncIterator[None]:
        """Work that may be ended from outside. Raises DrainingError in its place when `cut` is called."""
        scope = asyncio.timeout(None)
        try:
            async with scope:
                self._running.add(scope)
                yield
        except TimeoutError as error:
            if scope.expired():
                raise DrainingError from error
            raise
        finally:
            self._running.discard(scope)

    def drain(self) -> None:
        """Nothing new from now; what runs goes on."""
        self.is_draining = True

    def cut(self) -> None:
        """What still runs has had its time: each answer ends with an error that says so."""
        now = asyncio.get_running_loop().time()
        for scope in list(self._running):
            scope.reschedule(now)
