"""Who is next: the important before the others, and inside a tier nobody pays for somebody else's backlog."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference_backend.scheduling.token import TokenScheduler, token_gate
from inference_backend.scheduling.work import Work
from inference_backend.tiers import Tier


def submit(
    scheduler: TokenScheduler, name: str, *, tier: Tier = "pro", key: str = "a", tokens: int = 100, now: float = 0.0
) -> bool:
    work = Work(
        id=name,
        tier=tier,
        key=key,
        prompt_tokens=tokens,
        max_tokens=tokens,
        deadline=now + 1000.0,
        arrived_at=now,
    )
    return scheduler.submit(work, now) is None


def one_place() -> TokenScheduler:
    scheduler = TokenScheduler()
    scheduler.add_replica("gpu-0", slots=1, kv_tokens=None, now=0.0)
    submit(scheduler, "running")
    assert next_of(scheduler) == "running"
    return scheduler


def next_of(scheduler: TokenScheduler) -> str:
    ((work, _),) = scheduler.poll(0.0).starts
    return work.id


def serve(scheduler: TokenScheduler, running: str) -> str:
    scheduler.finish(running, 200, 0.0)
    return next_of(scheduler)


@pytest.mark.parametrize(("low", "high"), [("free", "pro"), ("free", "internal"), ("pro", "internal")])
def test_of_thirty_low_and_one_high_that_came_last_the_high_is_next(low: Tier, high: Tier) -> None:
    scheduler = one_place()
    for number in range(30):
        submit(scheduler, f"low {number}", tier=low)
    submit(scheduler, "high", tier=high)
    assert serve(scheduler, "running") == "high"


def test_behind_two_hundred_requests_of_another_account_the_first_of_mine_is_next_but_one() -> None:
    scheduler = one_place()
    for number in range(200):
        submit(scheduler, f"flood {number}", key="flood")
    submit(scheduler, "mine", key="me")
    served = [serve(scheduler, "running")]
    served.append(serve(scheduler, served[-1]))
    assert "mine" in served


def test_who_asks_for_more_tokens_is_served_less_often() -> None:
    scheduler = one_place()
    for number in range(40):
        submit(scheduler, f"large {number}", key="large", tokens=200)
        submit(scheduler, f"small {number}", key="small", tokens=50)
    running, served = "running", []
    for _ in range(40):
        running = serve(scheduler, running)
        served.append(running.split()[0])
    assert 6 <= served.count("large") <= 10
    assert served[:5].count("large") >= 1


def test_leaving_the_queue_and_coming_back_gains_nothing() -> None:
    scheduler = one_place()
    for number in range(50):
        submit(scheduler, f"patient {number}", key="patient")
    running, served = "running", []
    for number in range(20):
        submit(scheduler, f"again {number}", key="again")
        running = serve(scheduler, running)
        served.append(running.split()[0])
    assert served.count("patient") >= 9


def test_an_account_that_comes_late_has_nothing_to_make_up_for() -> None:
    scheduler = one_place()
    for number in range(60):
        submit(scheduler, f"early {number}", key="early")
        submit(scheduler, f"also {number}", key="also")
    running = "running"
    for _ in range(40):
        running = serve(scheduler, running)
    for number in range(30):
        submit(scheduler, f"late {number}", key="late")
    served = []
    for _ in range(12):
        running = serve(scheduler, running)
        served.append(running.split()[0])
    assert 4 <= served.count("late") <= 5


@given(backlogs=st.lists(st.integers(1, 12), min_size=2, max_size=6))
def test_accounts_that_wait_are_served_in_turn_whatever_their_backlog(backlogs: list[int]) -> None:
    scheduler = one_place()
    for account, backlog in enumerate(backlogs):
        for number in range(backlog):
            submit(scheduler, f"{account} {number}", key=str(account))
    running, served = "running", [0] * len(backlogs)
    for _ in range(sum(backlogs)):
        running = serve(scheduler, running)
        account, number = map(int, running.split())
        assert number == served[account], "first come, first served for each account"
        served[account] += 1
        behind = [count for count, backlog in zip(served, backlogs, strict=True) if count < backlog]
        assert not behind or served[account] - min(behind) <= 1
    assert served == backlogs


def test_a_flood_does_not_get_the_others_of_its_tier_refused() -> None:
    scheduler = TokenScheduler(gate=token_gate())
    scheduler.add_replica("gpu-0", slots=8, kv_tokens=None, now=0.0)
    now, admitted = 0.0, 0
    for number in range(400):
        now += 0.01
        admitted += submit(scheduler, f"flood {number}", tier="free", key="flood", now=now)
        scheduler.poll(now)
    assert admitted < 400
    assert submit(scheduler, "mine", tier="free", key="me", now=now)
    assert not submit(scheduler, "more of it", tier="free", key="flood", now=now)
