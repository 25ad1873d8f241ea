import pytest

from inference_backend.scheduling.delay_gate import BATCH_CALL_BANDS, Band, DelayGate
from inference_backend.tiers import TIERS, Tier

CAPACITY = 2000.0


def offer(gate: DelayGate, tier: Tier, delay_s: float, *, start: float, seconds: float, rate: float = 1000) -> float:
    """The share admitted of `rate` callers a second who all meet the same delay."""
    count = int(seconds * rate)
    refusals = [
        gate.admit(tier, delay_s=delay_s, now=start + number / rate, capacity=CAPACITY) for number in range(count)
    ]
    return refusals.count(None) / count


def test_nobody_is_refused_while_the_delay_is_low() -> None:
    gate = DelayGate()
    for tier in TIERS:
        assert offer(gate, tier, BATCH_CALL_BANDS[tier].low_s, start=0, seconds=1) == 1.0


def test_free_is_refused_first_then_pro_and_internal_last() -> None:
    gate = DelayGate(floor=0)
    admitted = []
    for number, delay_s in enumerate((0.05, 0.2, 0.6)):
        admitted.append([offer(gate, tier, delay_s, start=10 * number, seconds=2) > 0.5 for tier in TIERS])
    assert admitted == [[False, True, True], [False, False, True], [False, False, False]]


def test_within_the_band_the_admitted_share_falls_in_a_straight_line() -> None:
    for delay_s, share in ((0.025, 0.75), (0.030, 0.5), (0.035, 0.25)):
        gate = DelayGate(floor=0)
        assert offer(gate, "free", delay_s, start=0, seconds=2) == pytest.approx(share, abs=0.01)


def test_a_burst_shorter_than_the_window_is_let_through() -> None:
    gate = DelayGate(floor=0)
    offer(gate, "free", 0.0, start=0, seconds=1)
    assert offer(gate, "free", 0.05, start=1, seconds=0.05) == 1.0


def test_a_burst_beyond_twice_the_band_is_cut_off_within_the_window() -> None:
    gate = DelayGate(floor=0)
    offer(gate, "free", 0.0, start=0, seconds=1)
    assert offer(gate, "free", 0.081, start=1, seconds=0.05) == 0.0


def test_once_closed_a_tier_opens_again_only_at_the_lower_end() -> None:
    gate = DelayGate(floor=0)
    assert offer(gate, "free", 0.041, start=0, seconds=1) < 0.05
    assert offer(gate, "free", 0.025, start=1, seconds=1) < 0.01
    assert gate.fraction("free") == 0
    assert offer(gate, "free", 0.019, start=2, seconds=1) > 0.99
    assert gate.fraction("free") == 1
    assert offer(gate, "free", 0.025, start=3.2, seconds=1) == pytest.approx(0.8, abs=0.1)


def test_a_closed_tier_keeps_its_floor_of_the_capacity_however_many_ask() -> None:
    for rate in (1000, 20_000):
        gate = DelayGate(floor=0.05)
        admitted = offer(gate, "free", 1.0, start=0, seconds=2, rate=rate) * rate
        assert admitted == pytest.approx(0.05 * CAPACITY, rel=0.05)


def test_without_a_known_capacity_the_floor_is_a_share_of_the_arrivals() -> None:
    gate = DelayGate(floor=0.1)
    refusals = [gate.admit("free", delay_s=9.0, now=number / 100) for number in range(1000)]
    assert refusals.count(None) == pytest.approx(100, abs=2)


def test_callers_who_take_turns_are_treated_alike() -> None:
    gate = DelayGate(floor=0)
    outcomes = [gate.admit("free", delay_s=0.030, now=number / 1000) is None for number in range(4000)]
    assert sum(outcomes[::2]) == pytest.approx(sum(outcomes[1::2]), rel=0.02)


def test_the_time_between_two_services_is_no_standing_queue() -> None:
    """One GPU: the queue grows for 200 ms and is then empty. Seen through a window of 100 ms it never would be."""
    gate = DelayGate(floor=0)
    refused = 0
    for number in range(2000):
        now = number * 0.01
        delay_s = (now % 0.2) * 0.4
        refused += gate.admit("free", delay_s=delay_s, now=now, capacity=250, interval_s=0.2) is not None
    assert refused == 0


def test_the_same_seed_decides_the_same() -> None:
    def decisions(seed: float) -> list[bool]:
        gate = DelayGate(seed=seed)
        return [gate.admit("free", delay_s=0.031, now=number / 1000) is None for number in range(500)]

    assert decisions(0.3) == decisions(0.3)
    assert decisions(0.3) != decisions(0.7)


def test_a_refusal_says_when_to_come_again_and_not_all_at_the_same_time() -> None:
    gate = DelayGate(floor=0)
    offer(gate, "free", 1.0, start=0, seconds=30, rate=100)
    refusals = [gate.admit("free", delay_s=1.0, now=30.0, capacity=CAPACITY) for _ in range(50)]
    waits = {refusal.retry_after_s for refusal in refusals if refusal}
    assert min(waits) >= 15
    assert max(waits) <= 23
    assert len(waits) > 4
    assert {refusal.code for refusal in refusals if refusal} == {"overloaded"}


def test_a_long_overload_never_asks_for_more_than_a_minute() -> None:
    gate = DelayGate(floor=0, jitter=lambda: 0.999)
    offer(gate, "free", 1.0, start=0, seconds=1000, rate=10)
    refusal = gate.admit("free", delay_s=1.0, now=1000.0)
    assert refusal is not None
    assert refusal.retry_after_s == 60


def test_while_capacity_starts_the_refusal_says_so() -> None:
    gate = DelayGate(floor=0, jitter=lambda: 0.0)
    gate.capacity_starting(25.0)
    early = gate.admit("free", delay_s=1.0, now=1.0)
    assert early is not None
    assert (early.code, early.retry_after_s) == ("capacity_starting", 24)
    late = gate.admit("free", delay_s=1.0, now=26.0)
    assert late is not None
    assert late.code == "overloaded"
    gate.capacity_starting(None)
    none = gate.admit("free", delay_s=float("inf"), now=27.0)
    assert none is not None
    assert none.code == "no_capacity"


def test_a_band_runs_upwards_and_every_tier_has_one() -> None:
    with pytest.raises(ValueError, match="low < high"):
        Band(low_s=0.2, high_s=0.1)
    with pytest.raises(ValueError, match="no band for internal"):
        DelayGate({"free": Band(low_s=1, high_s=2), "pro": Band(low_s=1, high_s=2)})
    with pytest.raises(ValueError, match="window"):
        DelayGate(window_s=0)
