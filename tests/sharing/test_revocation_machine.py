"""The model of revocation holds, and each of six mistakes breaks it: a machine that no mistake breaks proves nothing.

The seventh mistake, 403 for what is foreign, is not about time: `test_same_answer` makes it in the real application.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from sharing import bound
from sharing.decisions import Decision, Decisions
from sharing.policy import Standing
from tests.sharing.revocation_machine import Revocation
from tests.sharing.world import BOUND_S, PROMPT, Process, World

QUICK = settings(
    max_examples=150,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
#: A broken machine need not be explained in the shortest way: it is enough that it breaks.
UNTIL_BROKEN = settings(QUICK, max_examples=600, phases=[Phase.generate], report_multiple_bugs=False, print_blob=False)


def test_nothing_is_shown_that_must_not_be() -> None:
    run_state_machine_as_test(Revocation, settings=QUICK)


class Sliding(Decisions[Standing]):
    """Each use makes a decision young again."""

    def kept(self, key: Hashable, *, at_least: int = 0) -> Decision[Standing] | None:
        found = super().kept(key, at_least=at_least)
        if found is not None:
            young = Decision(what=found.what, asked_at_s=self._clock())
            self._kept[key] = (PROMPT, young)
            return young
        return None


class SlidingLife(Process):
    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.decisions = Sliding(clock=lambda: world.now, lifetimes=self.lifetimes)


class StampedWhenKept(Process):
    """The clock is read when the answer has come, not before the question: a slow database makes it look young."""

    def ask(self, slow_s: float = 0.0, during: Callable[[], None] = lambda: None) -> Decision[Standing] | None:
        found = self.read_database(slow_s, during)
        return self.decisions.ask(PROMPT, lambda _: PROMPT, lambda: found)


class NoEpochs(Process):
    """Nobody compares the epoch of the decision with that of the version."""

    def may_show(self, decision: Decision[Standing], made_epoch: int) -> bool:
        return True

    def needed(self, made_epoch: int) -> int:
        return 0


class AnHourOfAddresses(Process):
    """Addresses live as long as most libraries make them."""

    def presigned(self, decision: Decision[Standing]) -> int:
        return 3600


class RedisOnly(Process):
    """A decision lives until the news says otherwise."""

    def lifetimes(self) -> bound.Lifetimes:
        return bound.Lifetimes(reuse=1e9, presigned=20, skew=5, recheck=10, jitter=2)


class LaggingReplica(Process):
    """The question goes to a replica that is some seconds behind."""

    def read_database(self, slow_s: float, during: Callable[[], None]) -> Standing | None:
        super().read_database(slow_s, during)
        return self.world.database.standing(at=self.world.now - 8.0)


@dataclass(frozen=True)
class Mutant:
    name: str
    process: type[Process]


TIMED = [
    Mutant("a life that slides", SlidingLife),
    Mutant("stamped when it is kept", StampedWhenKept),
    Mutant("no comparison of epochs", NoEpochs),
    Mutant("addresses for an hour", AnHourOfAddresses),
    Mutant("Redis alone ends a decision", RedisOnly),
    Mutant("read from a replica", LaggingReplica),
]


@pytest.mark.parametrize("mutant", TIMED, ids=lambda mutant: mutant.name)
def test_the_machine_breaks_with(mutant: Mutant) -> None:
    class Mistaken(World):
        def make_process(self) -> Process:
            return mutant.process(self)

    class Broken(Revocation):
        make_world = Mistaken

    with pytest.raises(AssertionError, match=r"showed|outlives|socket|cannot be read"):
        run_state_machine_as_test(Broken, settings=UNTIL_BROKEN)


def test_the_bound_that_is_proven_is_the_one_that_is_promised() -> None:
    assert BOUND_S == bound.LONGEST_S
