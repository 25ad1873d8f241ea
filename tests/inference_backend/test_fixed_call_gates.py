"""50 inputs in 200 ms: what must hold, on the injected clock, for the scheduler that also runs in the service."""

import dataclasses
from functools import cache

import pytest

from inference_backend.simulation.arrivals import Phase
from inference_backend.simulation.fixed_call import Fault
from inference_backend.simulation.report import Figures
from inference_backend.simulation.scenarios import SCENARIOS, FixedCallScenario
from inference_backend.tiers import Tier

SEEDS = (1, 2, 3)
NAMED = {scenario.name: scenario for scenario in SCENARIOS}


@cache
def run(name: str, *, seed: int = 1, controlled: bool = True) -> Figures:
    return NAMED[name].run(seed=seed, controlled=controlled)


def shortened(name: str, duration_s: float, rate: float, *faults: Fault) -> FixedCallScenario:
    return dataclasses.replace(NAMED[name], phases=(Phase(duration_s=duration_s, rate=rate),), faults=faults)


@pytest.mark.parametrize("seed", SEEDS)
def test_ten_gpus_answer_2000_a_second_within_222_ms_and_fill_their_calls(seed: int) -> None:
    figures = run("ten-gpus", seed=seed)
    assert figures.everybody.p99_s <= 0.222
    assert figures.others["fill"] >= 38
    assert figures.everybody.answered == figures.everybody.offered


@pytest.mark.parametrize("seed", SEEDS)
def test_nine_gpus_answer_2000_a_second_within_230_ms(seed: int) -> None:
    figures = run("nine-gpus", seed=seed)
    assert figures.everybody.p99_s <= 0.230
    assert figures.everybody.answered == figures.everybody.offered


def test_with_little_traffic_nobody_waits_for_a_batch_to_fill() -> None:
    assert run("low-traffic", seed=1).everybody.p99_s <= 0.210
    # A minute at 20/s has 1,200 requests, and one crowd of a dozen decides its p99: so five minutes as well.
    longer = shortened("low-traffic", 300, 20)
    for seed in SEEDS:
        assert longer.run(seed=seed, controlled=True).everybody.p99_s <= 0.210


@pytest.mark.parametrize("into_call", [0.1, 0.5, 0.99])
def test_a_gpu_killed_in_the_middle_of_a_batch_costs_no_answer_and_at_most_475_ms(into_call: float) -> None:
    for seed in SEEDS:
        fault = Fault(kind="kill", at_s=2.0, into_call=into_call)
        figures = shortened("killed-mid-batch", 4, 2000, fault).run(seed=seed, controlled=True)
        assert figures.everybody.answered == figures.everybody.offered
        assert figures.everybody.worst_s <= 0.475


@pytest.mark.parametrize("seed", SEEDS)
def test_a_gpu_that_hangs_and_only_the_watchdog_notices_costs_no_more(seed: int) -> None:
    figures = shortened("hung-mid-batch", 6, 2000, Fault(kind="hang", at_s=4.0)).run(seed=seed, controlled=True)
    assert figures.everybody.answered == figures.everybody.offered
    assert figures.everybody.worst_s <= 0.475


def test_a_late_answer_or_a_failed_call_costs_no_answer_and_none_comes_twice() -> None:
    faults = (Fault(kind="late", at_s=1.0), Fault(kind="fail", at_s=1.5, worker="gpu-1"))
    figures = shortened("killed-mid-batch", 3, 2000, *faults).run(seed=1, controlled=True)
    assert figures.everybody.answered == figures.everybody.offered


def test_overloaded_gpus_do_all_they_can_for_those_who_pay_and_refuse_only_the_free() -> None:
    figures = run("overload")
    ceiling = 2000 * 60
    assert figures.everybody.answered >= 0.99 * ceiling
    for tier in ("internal", "pro"):
        assert figures.tiers[tier].in_time == figures.tiers[tier].offered
    assert figures.tiers["free"].refused == figures.everybody.refused > 0
    assert figures.tiers["free"].p99_s <= 0.5


def test_without_control_the_same_overload_answers_almost_nobody_in_time() -> None:
    figures = shortened("overload", 20, 2400).run(seed=1, controlled=False)
    assert figures.everybody.in_time < 0.15 * figures.everybody.offered


def test_a_cold_start_loses_no_internal_request() -> None:
    figures = run("cold-start")
    assert figures.tiers["internal"].in_time == figures.tiers["internal"].offered
    assert figures.tiers["free"].refused > figures.tiers["pro"].refused
    assert figures.others["told_capacity_starting"] > 0


def test_while_new_gpus_warm_up_those_who_pay_stay_within_their_bound_and_free_is_shed() -> None:
    protected, unprotected = run("warm-up"), run("warm-up", controlled=False)
    for tier in ("internal", "pro"):
        assert protected.tiers[tier].in_time == protected.tiers[tier].offered
        assert protected.tiers[tier].p99_s <= 0.5
        assert unprotected.tiers[tier].p99_s > 10
    assert protected.tiers["free"].refused == protected.everybody.refused > 0
    assert protected.tiers["free"].answered > 0.5 * protected.tiers["free"].offered


def test_free_is_never_starved_for_ever() -> None:
    """Those who pay could take everything, and still some of the free are served."""
    mix: dict[Tier, float] = {"internal": 0.3, "pro": 0.6, "free": 0.1}
    figures = dataclasses.replace(shortened("overload", 10, 4000), mix=mix).run(seed=1, controlled=True)
    assert figures.tiers["free"].answered > 0.02 * figures.everybody.answered
    assert figures.tiers["internal"].in_time == figures.tiers["internal"].offered


@pytest.mark.parametrize("gpus", [1, 2, 4, 40])
def test_pools_of_other_sizes_keep_the_bound_at_four_fifths_of_their_capacity(gpus: int) -> None:
    scenario = dataclasses.replace(shortened("ten-gpus", max(10, 30 / gpus), 200 * gpus), gpus=gpus)
    figures = scenario.run(seed=1, controlled=True)
    assert figures.everybody.p99_s <= 0.2 + 0.2 / gpus + 0.004
    assert figures.everybody.answered >= 0.999 * figures.everybody.offered


@pytest.mark.parametrize(("gpus", "rate"), [(8, 3000), (2, 750)])
def test_with_the_shortest_time_that_the_configuration_allows_nobody_who_pays_runs_out_of_it(
    gpus: int, rate: float
) -> None:
    """The end of the band of pro and one call: see EmbeddingConfiguration."""
    scenario = dataclasses.replace(shortened("overload", 20, rate), gpus=gpus, deadline_s=0.350)
    figures = scenario.run(seed=1, controlled=True)
    for tier in ("internal", "pro"):
        assert figures.tiers[tier].answered == figures.tiers[tier].offered
    assert figures.tiers["free"].refused > 0
