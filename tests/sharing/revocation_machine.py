"""The state machine of revocation: whatever happens in whatever order, nothing is shown that must not be."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.sharing.world import BOUND_S, MOST_SKEW_S, Address, Socket, World

PROCESS = st.integers(0, 1)
SECONDS = st.sampled_from([0.1, 0.9, 1.0, 2.5, 4.0, 4.9, 5.0, 6.0, 10.0, 14.9, 19.0, 20.1, 29.9, 31.0])
SHORT = st.sampled_from([0.0, 0.0, 0.0, 0.5, 1.5, 3.0, 6.0])


class Revocation(RuleBasedStateMachine):
    """Invariants: no byte for a request that starts 30 s after the end of access or later; never a version that was
    made after it; what is shared again works within 5 s. `World.show` and the rules below assert them.
    """

    make_world: Callable[..., World] = World

    @initialize(skew_s=st.sampled_from([-MOST_SKEW_S + 0.1, 0.0, MOST_SKEW_S]), deletes_copies=st.booleans())
    def begin(self, skew_s: float, deletes_copies: bool) -> None:
        self.world = type(self).make_world(skew_s=skew_s, deletes_copies=deletes_copies)
        self.addresses: list[Address] = []

    def _version(self, pick: int) -> int:
        return len(self.world.database.versions) - 1 - pick % len(self.world.database.versions)

    @rule(told=st.tuples(st.booleans(), st.booleans()))
    def revoke(self, told: tuple[bool, bool]) -> None:
        self.world.revoke(told=list(told))

    @rule()
    def share_again(self) -> None:
        self.world.grant()

    @rule()
    def save(self) -> None:
        self.world.save()

    @rule(process=PROCESS, pick=st.integers(0, 3), slow_s=SHORT, pause_s=SHORT)
    def read(self, process: int, pick: int, slow_s: float, pause_s: float) -> None:
        self.world.processes[process].read(self._version(pick), slow_s=slow_s, pause_s=pause_s)

    @rule(process=PROCESS, told=st.tuples(st.booleans(), st.booleans()), slow_s=SHORT, saves=st.booleans())
    def read_while_it_is_revoked(self, process: int, told: tuple[bool, bool], slow_s: float, saves: bool) -> None:
        """The news comes before the slow answer of the database is kept."""

        def meanwhile() -> None:
            self.world.revoke(told=list(told))
            if saves:
                self.world.save()

        self.world.processes[process].read(self._version(0), slow_s=slow_s, during=meanwhile)

    @rule(process=PROCESS, every_s=st.sampled_from([1.0, 2.5, 4.5]), told=st.tuples(st.booleans(), st.booleans()))
    def a_busy_reader_goes_on_for_longer_than_the_bound(
        self, process: int, every_s: float, told: tuple[bool, bool]
    ) -> None:
        self.world.processes[process].read(0)
        self.world.revoke(told=list(told))
        for _ in range(int(BOUND_S / every_s) + 2):
            self.world.tick(every_s)
            self.world.processes[process].read(0)

    @rule(process=PROCESS, slow_s=SHORT, later_s=st.sampled_from([0.0, 2.5, 4.9]))
    def an_address_is_asked_for_at_the_last_moment(self, process: int, slow_s: float, later_s: float) -> None:
        """On an answer that was slow, and that was of the moment before access ended."""

        def meanwhile() -> None:
            self.world.revoke(told=[False, False])

        self.world.processes[process].read(0, slow_s=slow_s, during=meanwhile)
        self.world.tick(later_s)
        self.sign(process=process, pick=0)
        self.everything_that_is_out_is_tried_at_the_bound()

    @rule(process=PROCESS, after_s=st.sampled_from([0.0, 1.0, 4.9, 6.0]))
    def a_version_that_was_made_afterwards_is_asked_for(self, process: int, after_s: float) -> None:
        self.world.processes[process].read(0)
        self.world.revoke(told=[False, False])
        self.world.save()
        self.world.tick(after_s)
        self.world.processes[process].read(self._version(0))
        self.sign(process=process, pick=0)
        self.frame(pick=0, of=0)

    @rule(process=PROCESS, pick=st.integers(0, 3))
    def sign(self, process: int, pick: int) -> None:
        address = self.world.processes[process].sign(self._version(pick))
        if address is not None:
            self.addresses.append(address)

    @rule(pick=st.integers(0, 20))
    def fetch(self, pick: int) -> None:
        if self.addresses:
            self.world.fetch(self.addresses[pick % len(self.addresses)])

    @rule(process=PROCESS, spread=st.sampled_from([0.0, 0.5, 1.0]))
    def open_socket(self, process: int, spread: float) -> None:
        self.world.sockets.append(Socket(self.world.processes[process], spread))

    @rule(pick=st.integers(0, 20), of=st.integers(0, 3))
    def frame(self, pick: int, of: int) -> None:
        if self.world.sockets:
            self.world.sockets[pick % len(self.world.sockets)].frame(self._version(of))

    @rule(seconds=SECONDS)
    def tick(self, seconds: float) -> None:
        self.world.tick(seconds)

    @rule()
    def redis_stops(self) -> None:
        self.world.redis_up = False

    @rule()
    def redis_comes_back_empty(self) -> None:
        self.world.redis_up = True
        for process in self.world.processes:
            process.decisions.forget()

    @rule(process=PROCESS)
    def a_process_starts_anew(self, process: int) -> None:
        self.world.processes[process] = self.world.make_process()

    @rule(process=PROCESS)
    def what_is_shared_is_seen_within_five_seconds(self, process: int) -> None:
        if self.world.database.granted:
            self.world.tick(5.0)
            assert self.world.processes[process].read(0), "what is shared cannot be read"

    @invariant()
    def no_socket_outlives_access_by_more_than_17_s(self) -> None:
        ended = getattr(self, "world", None) and self.world.database.ended_at
        if ended is not None and ended and self.world.now - ended > 17.0:
            assert not any(socket.open for socket in self.world.sockets)

    @rule()
    def everything_that_is_out_is_tried_at_the_bound(self) -> None:
        """The moment that matters most, tried on purpose."""
        ended = self.world.database.ended_at
        if ended is None:
            return
        self.world.tick(max(0.0, ended + BOUND_S - self.world.now))
        for address in self.addresses:
            self.world.fetch(address)
        for process in self.world.processes:
            process.read(0)
        for socket in self.world.sockets:
            socket.frame(0)
