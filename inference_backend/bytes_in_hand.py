"""How much memory the bodies of all requests may take together."""

from prometheus_client import Gauge
from starlette.types import Message, Receive

from inference_backend.admission import SHARES
from inference_backend.errors import TooManyBytesError
from inference_backend.record import RequestRecord


class BytesInHand:
    """Counted as they arrive, until their request ends: it is kept, as text, for as long.

    What a caller announces counts for nothing, or a few that announce the largest body and send none would keep
    everybody else out.
    """

    def __init__(self, limit: int, gauge: Gauge) -> None:
        self._limit = limit
        self._gauge = gauge
        self._held = 0

    def counted(self, receive: Receive, record: RequestRecord) -> Receive:
        """`receive` that raises what `take` raises."""

        async def receive_counted() -> Message:
            message = await receive()
            if body := message.get("body"):
                self.take(len(body), record)
            return message

        return receive_counted

    def take(self, count: int, record: RequestRecord) -> None:
        """Raises TooManyBytesError beyond the share of the tier. A body that is alone in the house always fits."""
        share = SHARES[record.tier or "free"]
        if self._held + count > share * self._limit and self._held > record.body_bytes:
            raise TooManyBytesError("The requests in hand are too large together; try again shortly.")
        record.body_bytes += count
        self._held += count
        self._gauge.set(self._held)

    def give_back(self, record: RequestRecord) -> None:
        self._held -= record.body_bytes
        record.body_bytes = 0
        self._gauge.set(self._held)
