"""How the process ends: it takes nothing new, finishes what runs as far as time allows, and says so where it cannot."""

import time
from types import FrameType

import uvicorn

from inference_backend.admission import InFlightLimit

#: What is left to send after the answers that took too long were ended.
CLOSING_S = 2


class DrainingServer(uvicorn.Server):
    """At the first SIGTERM or SIGINT `/readyz` fails and new requests get 503, on connections that are open already
    and on new ones, so that a load balancer has time to notice. The sockets close when nothing runs any more, or after
    `patience_s`. A second signal ends it at once.
    """

    def __init__(self, config: uvicorn.Config, *, in_flight: InFlightLimit, patience_s: float, linger_s: float) -> None:
        super().__init__(config)
        self._in_flight = in_flight
        self._patience_s = patience_s
        self._linger_s = linger_s
        self._signal: int | None = None
        self._since = 0.0

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._signal is not None:
            super().handle_exit(sig, frame)
            return
        self._signal, self._since = sig, time.monotonic()
        self._in_flight.drain()

    async def on_tick(self, counter: int) -> bool:
        if self._signal is not None and not self.should_exit:
            waited = time.monotonic() - self._since
            if self._in_flight.is_idle and waited >= self._linger_s:
                super().handle_exit(self._signal, None)
            elif waited >= self._patience_s:
                self._in_flight.cut()
                super().handle_exit(self._signal, None)
        return await super().on_tick(counter)
