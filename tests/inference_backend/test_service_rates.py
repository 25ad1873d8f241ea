"""How fast a pool is, measured from what it does."""

import pytest

from inference_backend.scheduling.rates import MeasuredPace, ServiceRates
from inference_backend.scheduling.token import TokenScheduler
from inference_backend.scheduling.work import Work
from inference_backend.tiers import TIERS, Tier


def test_the_first_sample_replaces_what_was_assumed() -> None:
    pace = MeasuredPace(1.0)
    pace.note(3.0, 100)
    assert pace.is_measured
    assert pace.s_per_token == pytest.approx(0.03)


def test_one_stalled_answer_hardly_moves_the_measure() -> None:
    pace = MeasuredPace(1.0)
    for _ in range(100):
        pace.note(2.0, 100)
    pace.note(600.0, 100)
    assert pace.s_per_token == pytest.approx(0.02, rel=0.2)


def test_a_lasting_change_is_followed() -> None:
    pace = MeasuredPace(1.0)
    for _ in range(100):
        pace.note(2.0, 100)
    for _ in range(150):
        pace.note(20.0, 100)
    assert pace.s_per_token == pytest.approx(0.2, rel=0.1)


def test_answers_without_tokens_or_time_say_nothing() -> None:
    pace = MeasuredPace(1.0)
    pace.note(0.0, 10)
    pace.note(5.0, 0)
    assert not pace.is_measured


def test_what_tiers_offer_fades_when_they_stop() -> None:
    rates = ServiceRates()
    for second in range(60):
        rates.note_offered("internal", 3.0, float(second))
    assert rates.offered_above("pro", 60.0) == pytest.approx(3.0, rel=0.1)
    assert rates.offered_above("internal", 60.0) == 0.0
    assert rates.offered_above("free", 160.0) < 0.01


def run_for_a_minute(scheduler: TokenScheduler, *, tier: Tier) -> list[float]:
    """One place, answers of 2 s, one request each 1.9 s: (expected waits less those that came true), in seconds."""
    expected: dict[str, tuple[float, float]] = {}
    errors: list[float] = []
    running: tuple[str, float] | None = None
    for tick in range(6000):
        now = tick / 100
        if tick % 190 == 0:
            work = Work(
                id=str(tick),
                tier=tier,
                key="account",
                prompt_tokens=10,
                max_tokens=400,
                deadline=now + 500,
                arrived_at=now,
            )
            expected[work.id] = (now, scheduler.expected_wait(tier, now))
            scheduler.submit(work, now)
        if running and now >= running[1]:
            scheduler.finish(running[0], 101, now)
            running = None
        for work, _ in scheduler.poll(now).starts:
            arrived, wait_s = expected[work.id]
            errors.append(wait_s - (now - arrived))
            running = (work.id, now + 2.0)
            scheduler.first_token(work.id, now + 0.01)
    return errors


@pytest.mark.parametrize("tier", TIERS)
def test_the_expected_wait_comes_true(tier: Tier) -> None:
    scheduler = TokenScheduler()
    scheduler.add_replica("gpu-0", slots=1, kv_tokens=None, now=0.0)
    errors = run_for_a_minute(scheduler, tier=tier)
    # The answer under way is taken for a whole one, so half of it is too much on average.
    assert all(abs(error) <= 2.5 for error in errors[5:])
