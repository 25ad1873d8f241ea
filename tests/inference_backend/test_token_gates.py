"""What the queue in front of four simulated token engines must hold, on a clock of its own."""

from functools import cache

import pytest

from inference_backend.simulation.report import Figures
from inference_backend.simulation.token_engine import TokenCost
from inference_backend.simulation.token_scenarios import SCENARIOS, capacity_tokens_per_s
from inference_backend.simulation.token_traffic import PATIENCE_S
from inference_backend.tiers import TIERS, Tier

PAYING: tuple[Tier, ...] = ("internal", "pro")


@cache
def figures(name: str, *, controlled: bool = True) -> Figures:
    (scenario,) = (scenario for scenario in SCENARIOS if scenario.name == name)
    return scenario.run(seed=1, controlled=controlled)


def test_at_85_percent_load_the_first_token_takes_at_most_three_times_as_long_as_in_quiet() -> None:
    quiet, busy = figures("tokens-quiet"), figures("tokens-busy")
    assert busy.everybody.p99_s <= 3 * quiet.everybody.p99_s
    for tier in TIERS:
        assert busy.tiers[tier].p99_s <= 3 * quiet.everybody.p99_s
    assert busy.everybody.answered == busy.everybody.offered


@pytest.mark.parametrize("tier", PAYING)
def test_at_150_percent_load_those_who_pay_wait_no_longer_than_before(tier: Tier) -> None:
    busy, overload = figures("tokens-busy"), figures("tokens-overload")
    assert overload.tiers[tier].p99_s <= 1.25 * busy.tiers[tier].p99_s
    assert overload.tiers[tier].answered == overload.tiers[tier].offered


def test_at_150_percent_load_free_requests_get_all_that_is_left() -> None:
    overload = figures("tokens-overload")
    assert overload.others["settled_tokens_per_s"] >= 0.95 * capacity_tokens_per_s(TokenCost())
    assert overload.tiers["free"].answered > 0.4 * overload.tiers["free"].offered


def test_at_150_percent_load_every_free_request_has_its_answer_or_refusal_by_its_deadline() -> None:
    free = figures("tokens-overload").tiers["free"]
    assert free.answered + free.refused + free.expired == free.offered
    assert free.worst_s <= PATIENCE_S["free"]
    assert figures("tokens-overload").others["late"] == 0
    assert free.expired < 0.05 * free.offered, "nearly all that cannot be served learn it at once"


def test_without_control_an_overload_takes_everybody_with_it() -> None:
    overload = figures("tokens-overload", controlled=False)
    assert all(overload.tiers[tier].in_time < 0.1 * overload.tiers[tier].offered for tier in TIERS)


def test_prompts_that_come_together_do_not_stall_the_answers_being_written() -> None:
    bounded, unbounded = figures("long-prompts"), figures("long-prompts", controlled=False)
    assert bounded.others["worst_token_gap_ms"] < 400
    assert unbounded.others["worst_token_gap_ms"] > 1000
    assert bounded.tiers["internal"].p99_s < 0.3 < 1.0 < unbounded.tiers["internal"].p99_s


def test_a_replica_that_dies_costs_no_answer() -> None:
    controlled, uncontrolled = figures("replica-dies"), figures("replica-dies", controlled=False)
    assert controlled.everybody.answered == controlled.everybody.offered
    assert controlled.others["failed"] == controlled.others["late"] == controlled.others["expired"] == 0
    assert controlled.others["continued"] > 0
    assert uncontrolled.others["failed"] > 0


def test_an_account_that_floods_its_tier_is_the_only_one_to_wait() -> None:
    controlled, uncontrolled = figures("one-account-floods"), figures("one-account-floods", controlled=False)
    assert controlled.others["others_p99_ms"] < 1000
    assert controlled.others["bursts_p99_ms"] > 5000
    assert uncontrolled.others["others_p99_ms"] > 10_000
    paying = [controlled.tiers[tier] for tier in PAYING]
    assert all(row.answered == row.offered and row.p99_s < 0.5 for row in paying)


def test_while_engines_warm_up_those_who_pay_keep_their_first_token_and_only_free_work_is_shed() -> None:
    controlled, uncontrolled = figures("tokens-warm-up"), figures("tokens-warm-up", controlled=False)
    for tier in PAYING:
        row = controlled.tiers[tier]
        assert row.answered == row.offered
        assert row.p99_s <= 3 * figures("tokens-quiet").everybody.p99_s
        assert uncontrolled.tiers[tier].p99_s > 20
    assert controlled.tiers["free"].refused == controlled.everybody.refused > 0
    assert controlled.others["told_capacity_starting"] > 0.5 * controlled.everybody.refused
    assert controlled.others["late"] == 0
