"""Whatever the bus does, the device gets every event once and in order, as long as positions are checked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.drain import MAX_HELD_EVENTS, Delivery
from chat.protocol import PAGE_EVENTS

#: What happens next: an event is committed and published (or lost, or held back), a late or doubled one arrives, a page
#: is read (with commits in the middle of it), the device acknowledges, the position is checked.
HAPPENINGS = st.lists(
    st.tuples(
        st.sampled_from(["publish", "lose", "delay", "late", "double", "read", "read amid commit", "ack", "check"]),
        st.integers(0, 50),
    ),
    max_size=120,
)


class World:
    """A mailbox, a bus that does as the plan says, and a device behind a `Delivery`."""

    def __init__(self) -> None:
        self.committed = 0
        self.delivery = Delivery(sent=0)
        self.delayed: list[int] = []
        self.got: list[int] = []

    def happen(self, what: str, number: int) -> None:
        if what in ("publish", "lose", "delay"):
            self.commit(what)
        elif what == "late" and self.delayed:
            self.offer(self.delayed.pop(number % len(self.delayed)))
        elif what == "double" and self.committed:
            self.offer(1 + number % self.committed)
        elif what == "ack":
            self.delivery.acknowledge(self.got[-1] if self.got else 0)
        elif what == "check":
            self.delivery.notice(self.committed)
        elif what.startswith("read"):
            self.read(amid_commit=what.endswith("commit"))
        self.pump()

    def commit(self, what: str) -> None:
        self.committed += 1
        if what == "publish":
            self.offer(self.committed)
        elif what == "delay":
            self.delayed.append(self.committed)

    def offer(self, seq: int) -> None:
        self.delivery.offer(seq, str(seq))

    def read(self, *, amid_commit: bool = False) -> None:
        if not self.delivery.wants_page:
            return
        self.delivery.begin_read()
        seqs = list(range(self.delivery.sent + 1, self.committed + 1))[:PAGE_EVENTS]
        if amid_commit:
            self.committed += 1
            self.offer(self.committed)
        self.got += seqs
        self.delivery.end_read(seqs, more=len(seqs) == PAGE_EVENTS)

    def pump(self) -> None:
        while (frame := self.delivery.take()) is not None:
            self.got.append(int(frame))

    def settle(self) -> None:
        for _ in range(self.committed // PAGE_EVENTS + 4):
            self.happen("check", 0)
            self.happen("ack", 0)
            self.happen("read", 0)


@given(HAPPENINGS)
def test_every_event_once_and_in_order(plan: list[tuple[str, int]]) -> None:
    world = World()
    for what, number in plan:
        world.happen(what, number)
        assert world.got == list(range(1, len(world.got) + 1))

    world.settle()

    assert world.got == list(range(1, world.committed + 1))


def test_without_the_repair_a_lost_event_stays_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail: this is what it would see."""
    monkeypatch.setattr(Delivery, "repairs_gaps", False)
    world = World()
    world.read()
    for what in ("publish", "lose", "publish"):
        world.happen(what, 0)
    world.settle()

    assert world.got == [1, 3]


def test_a_slow_device_is_not_kept_in_memory() -> None:
    world = World()
    world.read()
    for _ in range(10 * MAX_HELD_EVENTS):
        world.committed += 1
        world.offer(world.committed)

    assert len(world.delivery._held) <= MAX_HELD_EVENTS
    assert world.delivery.catching_up
    for _ in range(30):
        world.settle()
    assert world.got == list(range(1, world.committed + 1))


def test_at_most_two_pages_are_under_way() -> None:
    world = World()
    world.committed = 5 * PAGE_EVENTS
    for _ in range(5):
        world.read()

    assert len(world.got) == 2 * PAGE_EVENTS
    world.happen("ack", 0)
    world.read()
    assert len(world.got) == 3 * PAGE_EVENTS
