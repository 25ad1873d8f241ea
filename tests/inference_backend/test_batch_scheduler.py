import math

import pytest

from inference_backend.scheduling.batch import BatchScheduler
from inference_backend.scheduling.batch_decisions import Batch
from inference_backend.scheduling.delay_gate import DelayGate
from inference_backend.tiers import Tier

CALL_S = 0.2
WATCHDOG_S = 0.25


def pool(
    workers: int = 1,
    *,
    max_size: int = 4,
    reserved_free: float = 0,
    energy_window_s: float | None = None,
    tick_s: float = 0.0,
) -> BatchScheduler[str]:
    scheduler: BatchScheduler[str] = BatchScheduler(
        max_size=max_size, reserved_free=reserved_free, energy_window_s=energy_window_s, tick_s=tick_s
    )
    for number in range(workers):
        scheduler.add_worker(f"gpu-{number}", 0.0)
    return scheduler


def submit(scheduler: BatchScheduler[str], items: str, *, tier: Tier = "pro", now: float = 0.0) -> None:
    """One item a letter."""
    for item in items:
        assert scheduler.submit(item, tier=tier, now=now) is None


def sent(scheduler: BatchScheduler[str], now: float) -> Batch[str]:
    (batch,) = scheduler.poll(now).sends
    return batch


# When a batch is sent


def test_one_request_in_an_idle_pool_is_sent_at_once() -> None:
    scheduler = pool(10)
    submit(scheduler, "a", now=5.0)
    assert sent(scheduler, 5.0).items == ("a",)


def test_a_batch_is_put_together_when_a_worker_is_free_and_not_before() -> None:
    scheduler = pool(1)
    submit(scheduler, "a")
    first = sent(scheduler, 0.0)
    submit(scheduler, "bc", now=0.1)
    assert not scheduler.poll(0.1).sends
    submit(scheduler, "d", now=0.19)
    scheduler.complete(first.id, 0.2)
    assert sent(scheduler, 0.2).items == ("b", "c", "d")


def test_a_full_batch_is_sent_without_waiting_for_the_pace() -> None:
    scheduler = pool(10)
    submit(scheduler, "abcdefgh")
    assert [batch.items for batch in scheduler.poll(0.0).sends] == [tuple("abcd"), tuple("efgh")]


def test_beyond_that_sends_keep_the_distance_of_call_time_over_workers() -> None:
    scheduler = pool(10, max_size=50)
    submit(scheduler, "abcdefghijklmn")
    assert len(scheduler.poll(0.0).sends) == 1
    submit(scheduler, "op", now=0.001)
    assert not scheduler.poll(0.001).sends
    wakeup = scheduler.next_wakeup(0.001)
    assert wakeup is not None
    assert wakeup == pytest.approx(0.02, abs=0.003)
    assert sent(scheduler, wakeup).items == ("o", "p")


def test_a_sudden_crowd_does_not_take_every_idle_worker_one_by_one() -> None:
    scheduler = pool(10, max_size=50)
    sends = 0
    for number in range(10):
        submit(scheduler, chr(97 + number), now=number * 0.0001)
        sends += len(scheduler.poll(number * 0.0001).sends)
    assert sends <= 4


def test_what_is_due_within_a_tick_of_the_timers_is_sent_when_somebody_asks_and_moves_nothing() -> None:
    exact, coarse = pool(10, max_size=50), pool(10, max_size=50, tick_s=0.001)
    for scheduler in (exact, coarse):
        submit(scheduler, "abcdefghijklmn")
        assert len(scheduler.poll(0.0).sends) == 1
        submit(scheduler, "op", now=0.001)
    due = exact.next_wakeup(0.001)
    assert due is not None
    for scheduler in (exact, coarse):
        assert not scheduler.poll(due - 0.002).sends
    assert not exact.poll(due - 0.0005).sends
    assert sent(coarse, due - 0.0005).items == sent(exact, due).items
    for scheduler in (exact, coarse):
        submit(scheduler, "qr", now=due)
    assert coarse.next_wakeup(due) == exact.next_wakeup(due)


def test_the_last_idle_worker_is_kept_for_a_loss_to_the_moment() -> None:
    scheduler = pool(2, tick_s=0.001)
    submit(scheduler, "abcd")
    lost = sent(scheduler, 0.0)
    submit(scheduler, "ef", now=0.21)
    assert not scheduler.poll(WATCHDOG_S - 0.0005).sends
    decisions = scheduler.poll(WATCHDOG_S)
    assert list(decisions.lost) == [lost]
    assert set(decisions.sends[0].items) == set("abcd")


def test_in_energy_mode_a_batch_waits_for_its_window() -> None:
    scheduler = pool(10, energy_window_s=0.025)
    submit(scheduler, "a", now=1.0)
    assert not scheduler.poll(1.0).sends
    submit(scheduler, "b", now=1.01)
    assert not scheduler.poll(1.01).sends
    assert scheduler.next_wakeup(1.01) == pytest.approx(1.025)
    assert sent(scheduler, 1.025).items == ("a", "b")


def test_nothing_to_do_means_no_wakeup() -> None:
    assert pool(3).next_wakeup(0.0) is None


# Who goes first


def test_the_better_tier_goes_first_and_order_within_a_tier_is_kept() -> None:
    scheduler = pool(0, max_size=3)
    submit(scheduler, "fg", tier="free")
    submit(scheduler, "pq", tier="pro")
    submit(scheduler, "ij", tier="internal")
    scheduler.add_worker("gpu-0", 0.0)
    assert sent(scheduler, 0.0).items == ("i", "j", "p")


def test_one_important_request_behind_thirty_is_in_the_next_batch() -> None:
    scheduler = pool(0, max_size=4, reserved_free=1)
    submit(scheduler, "abcdefghijklmnopqrstuvwxyz1234", tier="free")
    submit(scheduler, "!", tier="internal")
    scheduler.add_worker("gpu-0", 0.0)
    assert "!" in sent(scheduler, 0.0).items


def test_reserved_places_keep_the_lower_tiers_moving() -> None:
    scheduler = pool(0, max_size=8, reserved_free=1)
    submit(scheduler, "abcdefghijklmnop", tier="internal")
    submit(scheduler, "12", tier="pro")
    submit(scheduler, "xyz", tier="free")
    scheduler.add_worker("gpu-0", 0.0)
    assert sent(scheduler, 0.0).items == tuple("abcdef1x")


def test_batches_of_one_also_reach_the_lowest_tier() -> None:
    scheduler = pool(1, max_size=1, reserved_free=3)
    submit(scheduler, "x", tier="free")
    submit(scheduler, "abcdefgh", tier="internal")
    order = ""
    for number in range(9):
        batch = sent(scheduler, number * CALL_S)
        order += batch.items[0]
        scheduler.complete(batch.id, (number + 1) * CALL_S)
    assert order == "abcxdefgh"


# Deadlines and cancelling


def test_who_cannot_be_answered_in_time_is_turned_away_at_the_door() -> None:
    refusal = pool(1).submit("a", tier="internal", now=1.0, deadline=1.1)
    assert refusal is not None
    assert refusal.code == "deadline"


def test_an_item_past_its_time_is_reported_once_and_never_sent() -> None:
    scheduler = pool(0)
    scheduler.submit("late", tier="internal", now=0.0, deadline=0.5)
    submit(scheduler, "b")
    assert scheduler.next_wakeup(0.0) == pytest.approx(0.3, abs=0.011)
    assert scheduler.poll(0.31).expired == ["late"]
    scheduler.add_worker("gpu-0", 0.32)
    decisions = scheduler.poll(0.32)
    assert [batch.items for batch in decisions.sends] == [("b",)]
    assert not decisions.expired


def test_between_two_ticks_an_item_past_its_time_is_left_out_of_the_batch() -> None:
    scheduler = pool(0)
    scheduler.submit("late", tier="internal", now=0.0, deadline=0.5031)
    submit(scheduler, "b")
    scheduler.add_worker("gpu-0", 0.3035)
    decisions = scheduler.poll(0.3035)
    assert decisions.expired == ["late"]
    assert [batch.items for batch in decisions.sends] == [("b",)]


def test_cancelling_in_the_middle_of_the_queue_leaves_nothing_behind() -> None:
    scheduler = pool(0)
    submit(scheduler, "abc")
    assert scheduler.cancel("b", 0.0)
    assert not scheduler.cancel("b", 0.0)
    scheduler.add_worker("gpu-0", 0.0)
    assert sent(scheduler, 0.0).items == ("a", "c")


def test_the_result_of_one_cancelled_in_flight_is_dropped() -> None:
    scheduler = pool(1)
    submit(scheduler, "ab")
    batch = sent(scheduler, 0.0)
    assert scheduler.cancel("a", 0.1)
    assert scheduler.complete(batch.id, 0.2) == ["b"]
    assert scheduler.snapshot().cancelled == 1


def test_an_item_is_taken_once() -> None:
    scheduler = pool(1)
    submit(scheduler, "a")
    with pytest.raises(ValueError, match="here already"):
        scheduler.submit("a", tier="free", now=0.0)


# Failure


def test_a_silent_worker_is_quarantined_and_its_batch_goes_to_another_first() -> None:
    scheduler = pool(1)
    submit(scheduler, "ab", tier="free")
    lost = sent(scheduler, 0.0)
    submit(scheduler, "xyz", tier="internal", now=0.1)
    assert scheduler.next_wakeup(0.1) == WATCHDOG_S
    decisions = scheduler.poll(WATCHDOG_S)
    assert decisions.lost == [lost]
    assert decisions.quarantined == ["gpu-0"]
    assert scheduler.healthy == 0
    scheduler.add_worker("gpu-1", WATCHDOG_S)
    again = sent(scheduler, WATCHDOG_S)
    assert again.items == ("a", "b", "x", "y")
    assert again.attempt == 2


def test_an_answer_that_comes_after_all_counts_for_nothing() -> None:
    scheduler = pool(1)
    submit(scheduler, "a")
    lost = sent(scheduler, 0.0)
    scheduler.poll(WATCHDOG_S)
    assert scheduler.complete(lost.id, 0.26) == []
    scheduler.add_worker("gpu-0", 0.3)
    assert scheduler.complete(sent(scheduler, 0.3).id, 0.5) == ["a"]
    assert scheduler.complete(lost.id, 0.6) == []
    assert scheduler.snapshot().completed == 1


def test_a_batch_lost_twice_is_given_up() -> None:
    scheduler = pool(2)
    submit(scheduler, "a")
    sent(scheduler, 0.0)
    sent(scheduler, WATCHDOG_S)
    assert scheduler.poll(2 * WATCHDOG_S).given_up == ["a"]
    assert scheduler.snapshot().given_up == 1


def test_the_batch_of_a_worker_that_died_is_queued_at_once() -> None:
    scheduler = pool(2)
    submit(scheduler, "ab")
    batch = sent(scheduler, 0.0)
    assert scheduler.remove_worker(batch.worker, 0.15) == [batch]
    again = sent(scheduler, 0.15)
    assert (again.worker, again.items) == ("gpu-1", ("a", "b"))


def test_a_failed_call_is_repeated_once_and_elsewhere() -> None:
    scheduler = pool(2)
    submit(scheduler, "ab")
    first = sent(scheduler, 0.0)
    assert scheduler.fail(first.id, 0.01) == []
    second = sent(scheduler, 0.1)
    assert second.worker != first.worker
    assert scheduler.fail(second.id, 0.2) == ["a", "b"]
    assert scheduler.fail(second.id, 0.2) == []
    assert not scheduler.poll(0.5).sends


def test_a_worker_that_fails_at_once_does_not_draw_in_all_the_work() -> None:
    scheduler = pool(2, max_size=1)
    submit(scheduler, "abcdefgh")
    ends: list[tuple[float, int]] = []
    done: list[str] = []
    given_up: list[str] = []
    for step in range(250):
        now = step * 0.01
        for _, batch_id in [end for end in ends if end[0] <= now]:
            done += scheduler.complete(batch_id, now)
        ends = [end for end in ends if end[0] > now]
        for batch in scheduler.poll(now).sends:
            if batch.worker == "gpu-0":
                given_up += scheduler.fail(batch.id, now)
            else:
                ends.append((now + CALL_S, batch.id))
    assert sorted(done + given_up) == list("abcdefgh")
    assert len(given_up) <= 1
    assert scheduler.healthy == 1


def test_three_failures_in_a_row_quarantine_a_worker() -> None:
    scheduler = pool(1)
    submit(scheduler, "ab")
    for number in range(2):
        scheduler.fail(sent(scheduler, number * CALL_S).id, number * CALL_S)
    submit(scheduler, "c", now=0.4)
    scheduler.fail(sent(scheduler, 0.4).id, 0.4)
    assert scheduler.poll(0.4).quarantined == ["gpu-0"]
    assert scheduler.healthy == 0


def test_a_renewed_call_gets_the_whole_time_again() -> None:
    scheduler = pool(1)
    submit(scheduler, "ab")
    batch = sent(scheduler, 0.0)
    assert scheduler.renew(batch.id, 0.2)
    assert not scheduler.poll(0.4).lost
    assert scheduler.complete(batch.id, 0.41) == ["a", "b"]
    assert not scheduler.renew(batch.id, 0.42)


def test_the_last_idle_worker_is_kept_for_a_call_about_to_be_given_up() -> None:
    scheduler = pool(2)
    submit(scheduler, "ab")
    sent(scheduler, 0.0)
    submit(scheduler, "wxyz", now=0.21)
    assert not scheduler.poll(0.21).sends
    assert scheduler.next_wakeup(0.21) == WATCHDOG_S
    assert sent(scheduler, WATCHDOG_S).items == ("a", "b", "w", "x")


# Workers come and go


def test_a_draining_worker_ends_its_call_and_gets_no_other() -> None:
    scheduler = pool(1)
    submit(scheduler, "a")
    batch = sent(scheduler, 0.0)
    scheduler.drain_worker("gpu-0", 0.1)
    submit(scheduler, "b", now=0.1)
    assert scheduler.complete(batch.id, 0.2) == ["a"]
    assert not scheduler.poll(1.0).sends
    scheduler.add_worker("gpu-0", 1.0)
    assert sent(scheduler, 1.0).items == ("b",)


def test_pace_and_expected_wait_follow_the_workers_at_once() -> None:
    scheduler = pool(0, max_size=50)
    submit(scheduler, "abcdefghijklmnopqrstuvwxy")
    assert scheduler.expected_wait("pro") == math.inf
    for number in range(4):
        scheduler.add_worker(f"gpu-{number}", 0.0)
    assert scheduler.expected_wait("pro") == pytest.approx(25 / 1000)
    assert scheduler.expected_wait("internal") == 0
    scheduler.remove_worker("gpu-3", 0.0)
    scheduler.remove_worker("gpu-2", 0.0)
    assert scheduler.expected_wait("pro") == pytest.approx(25 / 500)


def test_a_pool_without_workers_refuses_where_it_has_a_gate() -> None:
    scheduler: BatchScheduler[str] = BatchScheduler(gate=DelayGate())
    refusal = scheduler.submit("a", tier="internal", now=0.0)
    assert refusal is not None
    assert refusal.code == "no_capacity"


def test_a_worker_is_added_once() -> None:
    scheduler = pool(1)
    with pytest.raises(ValueError, match="there already"):
        scheduler.add_worker("gpu-0", 0.0)


def test_sizes_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="needed"):
        BatchScheduler(max_size=0)
    with pytest.raises(ValueError, match="needed"):
        BatchScheduler(call_s=0)
    with pytest.raises(ValueError, match="needed"):
        BatchScheduler(watchdog_factor=1)
    with pytest.raises(ValueError, match="needed"):
        BatchScheduler(reserved_free=-1)
