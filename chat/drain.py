"""The order in which one device learns its events: pure, so that any interleaving can be tried out.

The bus may lose, double, delay and turn round what it carries. What it says is therefore a hint, and the inbox the
truth: an event goes to the device only as the one after the last, and anything else starts a catch-up from the inbox.
"""

from __future__ import annotations

from collections import deque
from typing import ClassVar

from chat.protocol import PAGE_WINDOW

MAX_HELD_EVENTS = 256
MAX_HELD_BYTES = 1024 * 1024


class Delivery:
    """Where one device is. `sent` is the inbox_seq up to which all was handed to its socket, in order.

    While catching up, events of the bus are held; a page shorter than a full one ends that. What was held before the
    page was read is in the page or gone from the inbox: it was committed before it was published. What came meanwhile
    is judged by the rule for live events, and may begin the next catch-up.
    """

    #: Without this, messages that the bus lost are lost. Only a test of the tests turns it off.
    repairs_gaps: ClassVar[bool] = True

    def __init__(self, *, sent: int) -> None:
        self.sent = sent
        self.acked = sent
        self.catching_up = True
        self._pages: deque[int] = deque()
        self._held: deque[tuple[int, str]] = deque()
        self._held_bytes = 0
        self._before_read = 0

    def offer(self, seq: int, frame: str) -> None:
        """An event from the bus. Beyond the limits all of them are forgotten: a slow device catches up later."""
        if seq <= self.sent:
            return
        self._held.append((seq, frame))
        self._held_bytes += len(frame)
        if len(self._held) > MAX_HELD_EVENTS or self._held_bytes > MAX_HELD_BYTES:
            self._forget()
            self.catching_up = True

    def notice(self, last: int) -> bool:
        """The mailbox is at `last`, as read from the database. True if that starts a catch-up: the bus lost something.

        What is held may be the very event that is missing, and is then not missing.
        """
        if not self.repairs_gaps or self.catching_up or self._held or last <= self.sent:
            return False
        self.catching_up = True
        return True

    def take(self) -> str | None:
        """The next frame that may go to the device; None if there is none, or a page has to be read first."""
        while self._held and not self.catching_up:
            seq, frame = self._held[0]
            if seq > self.sent + 1 and self.repairs_gaps:
                self.catching_up = True
                break
            self._held.popleft()
            self._held_bytes -= len(frame)
            if seq > self.sent:
                self.sent = seq
                return frame
        return None

    @property
    def wants_page(self) -> bool:
        """Whether to read the inbox after `sent` now: catching up, and not too much is unacknowledged."""
        return self.catching_up and len(self._pages) < PAGE_WINDOW

    def begin_read(self) -> None:
        """To be called before the inbox is read."""
        self._before_read = len(self._held)

    def end_read(self, seqs: list[int], *, more: bool) -> None:
        """The inbox_seqs of the page that goes to the device now; `more` if the inbox may hold further ones."""
        if seqs:
            self.sent = seqs[-1]
            self._pages.append(self.sent)
        if more:
            return
        for _ in range(min(self._before_read, len(self._held))):
            self._held_bytes -= len(self._held.popleft()[1])
        self.catching_up = False

    def acknowledge(self, upto: int) -> None:
        """The device has everything up to `upto`."""
        self.acked = max(self.acked, min(upto, self.sent))
        while self._pages and self._pages[0] <= self.acked:
            self._pages.popleft()

    def _forget(self) -> None:
        self._held.clear()
        self._held_bytes = 0
        self._before_read = 0
