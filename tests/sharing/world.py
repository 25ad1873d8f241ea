"""A small world with fake clocks around the real decisions: a database, two processes, a bus, a store, open sockets.

The parts that decide are the product's own (`Decisions`, `policy`, `Watch`); what is made up is what they talk to. A
mutant replaces one of its seams by a mistake that somebody could make.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from sharing import bound, policy
from sharing.decisions import Decision, Decisions
from sharing.models.grant import Role
from sharing.policy import Standing
from sharing.watching import Watch

PROMPT = uuid.UUID(int=1)
EPOCH = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
BOUND_S = 30.0
#: How far the clock of the store may be from ours.
MOST_SKEW_S = 5.0


@dataclass(kw_only=True)
class Database:
    """The truth. `ended_at` is when access was taken back last, None while there is some."""

    acl_epoch: int = 0
    granted: bool = True
    ended_at: float | None = None
    versions: list[int] = field(default_factory=lambda: [0])
    made_at: list[float] = field(default_factory=lambda: [0.0])
    history: list[tuple[float, bool, int]] = field(default_factory=lambda: [(0.0, True, 0)])

    def standing(self, at: float | None = None) -> Standing | None:
        """Now, or as a replica that lags sees it."""
        granted, epoch = self.granted, self.acl_epoch
        if at is not None:
            past = [row for row in self.history if row[0] <= at]
            _, granted, epoch = past[-1] if past else self.history[0]
        return Standing(role=Role.VIEWER, may_share=False, expires_at=None, acl_epoch=epoch) if granted else None


@dataclass(kw_only=True)
class Address:
    """A signed address, and when the store stops taking it (by the store's clock)."""

    version: int
    key_epoch: int
    expires_at: float


@dataclass(kw_only=True)
class Shown:
    """Something that was shown: the request began at `at`."""

    at: float
    version: int
    how: str


class World:
    """Two processes on one database. Time passes only by `tick` and by what is slow."""

    def __init__(self, *, skew_s: float = 0.0, deletes_copies: bool = True) -> None:
        self.now = 0.0
        self.database = Database()
        self.redis_up = True
        self.skew_s = skew_s
        self.deletes_copies = deletes_copies
        self.copies: set[int] = set()
        self.shown: list[Shown] = []
        self.sockets: list[Socket] = []
        self.processes = [self.make_process(), self.make_process()]

    def make_process(self) -> Process:
        return Process(self)

    def revoke(self, *, told: list[bool]) -> None:
        """`told`: by process, whether the news arrives."""
        if not self.database.granted:
            return
        self.database.granted = False
        self.database.acl_epoch += 1
        self.database.ended_at = self.now
        self._remember()
        if self.redis_up:
            for process, arrives in zip(self.processes, told, strict=True):
                if arrives:
                    process.decisions.learn(PROMPT, self.database.acl_epoch)
        if self.deletes_copies:
            self.copies = {epoch for epoch in self.copies if epoch >= self.database.acl_epoch}

    def grant(self) -> None:
        self.database.granted = True
        self.database.ended_at = None
        self._remember()

    def save(self) -> None:
        """A version, with the epoch that the prompt has in the transaction that makes it."""
        self.database.versions.append(self.database.acl_epoch)
        self.database.made_at.append(self.now)

    def _remember(self) -> None:
        self.database.history.append((self.now, self.database.granted, self.database.acl_epoch))

    def tick(self, seconds: float) -> None:
        """Time passes; open sockets do by themselves what they do by the clock."""
        end = self.now + seconds
        while seconds > 0:
            due = [socket for socket in self.sockets if socket.open and socket.watch.due_s <= end]
            if not due:
                break
            socket = min(due, key=lambda each: each.watch.due_s)
            self.now = max(self.now, socket.watch.due_s)
            socket.ask()
        self.now = end

    def fetch(self, address: Address) -> bool:
        """The store, which knows signatures and its own clock, and no rights."""
        if self.now + self.skew_s >= address.expires_at or address.key_epoch not in self.copies:
            return False
        self.show(address.version, "address")
        return True

    def show(self, version: int, how: str) -> None:
        self.shown.append(Shown(at=self.now, version=version, how=how))
        ended = self.database.ended_at
        if ended is None:
            return
        late = self.now - ended
        assert late < BOUND_S, f"{how} showed something {late:.2f} s after access had ended"
        assert self.database.made_at[version] <= ended, f"{how} showed version {version}, made after access had ended"


class Process:
    """A web process: what it keeps, and how it answers. The seams of the mutants are its methods."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.decisions: Decisions[Standing] = Decisions(clock=lambda: world.now, lifetimes=self.lifetimes)

    def lifetimes(self) -> bound.Lifetimes:
        return bound.derive(BOUND_S)

    def read_database(self, slow_s: float, during: Callable[[], None]) -> Standing | None:
        """The answer is of the moment when the database is asked; it arrives later, and much may happen until then."""
        found = self.world.database.standing()
        during()
        self.world.tick(slow_s)
        return found

    def decide(
        self, *, at_least: int = 0, slow_s: float = 0.0, during: Callable[[], None] = lambda: None
    ) -> Decision[Standing] | None:
        kept = self.decisions.kept(PROMPT, at_least=at_least)
        return kept or self.ask(slow_s, during)

    def ask(self, slow_s: float = 0.0, during: Callable[[], None] = lambda: None) -> Decision[Standing] | None:
        return self.decisions.ask(PROMPT, lambda _: PROMPT, lambda: self.read_database(slow_s, during))

    def may_show(self, decision: Decision[Standing], made_epoch: int) -> bool:
        return decision.shows(made_epoch)

    def presigned(self, decision: Decision[Standing]) -> int:
        return policy.presigned_seconds(
            asked_at_s=decision.asked_at_s, now_s=self.world.now, lifetimes=self.lifetimes()
        )

    def read(
        self, version: int, *, slow_s: float = 0.0, during: Callable[[], None] = lambda: None, pause_s: float = 0.0
    ) -> bool:
        """A page. `pause_s`: the process stands still between its decision and the use of it (then it looks again)."""
        made_epoch = self.world.database.versions[version]
        decision = self.decide(at_least=self.needed(made_epoch), slow_s=slow_s, during=during)
        self.world.tick(pause_s)
        if decision is None or not self.may_show(decision, made_epoch):
            return False
        if not self.usable(decision):
            decision = self.ask()
            if decision is None or not self.may_show(decision, made_epoch):
                return False
        self.world.show(version, "page")
        return True

    def needed(self, made_epoch: int) -> int:
        return made_epoch

    def usable(self, decision: Decision[Standing]) -> bool:
        return policy.reusable(asked_at_s=decision.asked_at_s, now_s=self.world.now, lifetimes=self.lifetimes())

    def sign(self, version: int) -> Address | None:
        made_epoch = self.world.database.versions[version]
        decision = self.decide(at_least=self.needed(made_epoch))
        if decision is None or not self.may_show(decision, made_epoch):
            return None
        seconds = self.presigned(decision)
        if not seconds:
            decision = self.ask()
            seconds = self.presigned(decision) if decision else 0
        if decision is None or not seconds:
            return None
        self.world.copies.add(decision.what.acl_epoch)
        return Address(version=version, key_epoch=decision.what.acl_epoch, expires_at=self.world.now + seconds)


class Socket:
    """An open page, asked about by the clock and before frames whose last answer is too old."""

    def __init__(self, process: Process, spread: float) -> None:
        self.process = process
        self.open = True
        self.watch = Watch(lifetimes=process.lifetimes, spread=lambda: spread, asked_at_s=process.world.now)
        self.decision = process.ask()
        self.open = self.decision is not None

    def ask(self) -> None:
        asked_at_s = self.process.world.now
        self.decision = self.process.ask()
        self.open = self.decision is not None
        if self.open:
            self.watch.allowed(asked_at_s)

    def frame(self, version: int) -> bool:
        """Something happened that the page is told. False: nothing was sent."""
        if not self.open:
            return False
        made_epoch = self.process.world.database.versions[version]
        decision = self.decision
        if (
            decision is None
            or not self.watch.may_send(self.process.world.now)
            or not self.process.may_show(decision, made_epoch)
        ):
            self.ask()
            decision = self.decision
        if decision is None or not self.process.may_show(decision, made_epoch):
            return False
        self.process.world.show(version, "socket")
        return True
