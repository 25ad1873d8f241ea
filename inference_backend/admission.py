"""Who may start now. At present one limit for everybody: the number of requests in the house."""

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import Gauge

from inference_backend.errors import OverloadedError


class InFlightLimit:
    def __init__(self, limit: int, gauge: Gauge) -> None:
        self._limit = limit
        self._gauge = gauge
        self._count = 0

    @contextmanager
    def enter(self) -> Iterator[None]:
        """Raises OverloadedError at the limit; gives the place back however the request ends."""
        if self._count >= self._limit:
            raise OverloadedError("Too many requests are being answered; try again shortly.")
        self._count += 1
        self._gauge.set(self._count)
        try:
            yield
        finally:
            self._count -= 1
            self._gauge.set(self._count)
