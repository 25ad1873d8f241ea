"""When more runs wait than can be sent, whose is next: the account with the fewest on their way, within its places."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings
from redis import Redis

import inference_client.services
from accounts.models import User
from core.errors import RateLimited
from inference_client import dispatch
from inference_client.models import Run, RunKind, RunStatus
from inference_client.outcomes import Ending
from inference_client.places import Waiting, in_turn
from inference_client.services import finish_run
from inference_client.tasks import send_run
from tests.inference_client.conftest import LINE
from tests.inference_client.upstream import Call, Upstream, Wire

ADA, BEN, CLEO = (uuid.UUID(int=n) for n in (1, 2, 3))
PLACES = {"free": 4, "pro": 8, "internal": 16}


def waits(account: uuid.UUID, number: int, *, tier: str = "free", is_batch: bool = False) -> Waiting:
    return Waiting(run_id=uuid.UUID(int=number), account_id=account, tier=tier, is_batch=is_batch)


def numbers(ids: list[uuid.UUID]) -> list[int]:
    return [each.int for each in ids]


def test_who_has_fewer_runs_on_their_way_goes_first_however_late_they_came() -> None:
    line = [waits(ADA, 1), waits(BEN, 200)]
    assert numbers(in_turn(line, {ADA: 3}, PLACES)) == [200, 1]


def test_nobody_gets_more_places_than_their_tier_has() -> None:
    line = [waits(ADA, 1), waits(BEN, 2, tier="pro")]
    assert numbers(in_turn(line, {ADA: 4, BEN: 7}, PLACES)) == [2]
    assert in_turn(line, {ADA: 4, BEN: 8}, PLACES) == []


def test_a_batch_leaves_its_owner_a_place_and_goes_behind_their_own_runs() -> None:
    batch, own = waits(ADA, 1, is_batch=True), waits(ADA, 2)
    assert numbers(in_turn([batch, own], {ADA: 2}, PLACES)) == [2, 1]
    assert numbers(in_turn([batch, own], {ADA: 3}, PLACES)) == [2]


def test_a_tier_that_is_not_named_has_one_place_and_its_batches_too() -> None:
    assert numbers(in_turn([waits(ADA, 1, tier="new", is_batch=True)], {}, PLACES)) == [1]
    assert in_turn([waits(ADA, 1, tier="new")], {ADA: 1}, PLACES) == []


@given(
    counts=st.lists(st.integers(0, 60), min_size=1, max_size=6),
    tiers=st.lists(st.sampled_from(sorted(PLACES)), min_size=6, max_size=6),
    threads=st.integers(1, 40),
)
def test_everybody_who_waits_is_served_and_places_go_round(counts: list[int], tiers: list[str], threads: int) -> None:
    """Threads take turns; the run that has been on its way for longest ends first."""
    left = {uuid.UUID(int=n + 1): count for n, count in enumerate(counts)}
    tier_of = dict(zip(left, tiers, strict=False))
    on_their_way: list[uuid.UUID] = []
    served: Counter[uuid.UUID] = Counter()
    while any(left.values()) or on_their_way:
        running = Counter(on_their_way)
        line = [waits(account, account.int, tier=tier_of[account]) for account, count in left.items() if count]
        turns = in_turn(line, running, PLACES) if len(on_their_way) < threads else []
        if not turns:
            assert on_their_way, "somebody waits, nobody runs, and nobody may start"
            served[on_their_way.pop(0)] += 1
            continue
        [account] = [each for each in left if each.int == turns[0].int]
        assert running[account] == min(
            running[each.account_id] for each in line if running[each.account_id] < PLACES[each.tier]
        )
        left[account] -= 1
        on_their_way.append(account)
    assert [served[account] for account in left] == counts


def statuses(account: User) -> Counter[str]:
    return Counter(Run.objects.filter(account=account).values_list("status", flat=True))


@pytest.mark.django_db(transaction=True)
def test_a_line_of_200_does_not_hold_up_the_run_of_somebody_else(make_run: Callable[..., Run], friend: User) -> None:
    line = [make_run() for _ in range(200)]
    late = make_run(account=friend)
    taken = [run for _ in range(10) if (run := dispatch.claim_next_run()) is not None]
    owners = [run.account_id for run in taken]
    assert owners[:2] == [line[0].account_id, friend.pk]
    assert taken[1].pk == late.pk
    assert statuses(line[0].account)[RunStatus.RUNNING] == 4, "as many as the tier has places"
    assert dispatch.claim_next_run() is None
    finish_run(run=taken[0], ending=Ending(status=RunStatus.SUCCEEDED))
    following = dispatch.claim_next_run()
    assert following is not None
    assert following.pk == line[4].pk, "the oldest that waits"


@pytest.mark.django_db(transaction=True)
def test_a_run_of_a_batch_waits_for_the_runs_of_its_owner(make_run: Callable[..., Run]) -> None:
    first, own = make_run(), make_run()
    Run.objects.filter(pk=first.pk).update(kind=RunKind.BATCH)
    taken = [dispatch.claim_next_run(), dispatch.claim_next_run()]
    assert [run and run.pk for run in taken] == [own.pk, first.pk]


@pytest.mark.django_db(transaction=True)
def test_a_message_that_had_to_wait_is_made_up_for_when_a_place_is_free(
    make_run: Callable[..., Run], upstream: Upstream, settings: Settings, redis: Redis
) -> None:
    async def answer(call: Call, wire: Wire) -> None:
        await wire.whole("Hello")

    upstream.does(answer)
    settings.RUN_PLACES = {"free": 1, "pro": 1, "internal": 1}
    held, waiting = make_run(), make_run()
    assert dispatch.claim_next_run() is not None
    send_run(str(waiting.pk))
    waiting.refresh_from_db()
    assert waiting.status == RunStatus.QUEUED, "its owner's only place is taken"
    held.refresh_from_db()
    redis.delete(LINE)
    finish_run(run=held, ending=Ending(status=RunStatus.SUCCEEDED))
    dispatch.call_next_run()
    assert redis.llen(LINE) == 1
    redis.delete(LINE)
    send_run(str(waiting.pk))
    waiting.refresh_from_db()
    assert waiting.status == RunStatus.SUCCEEDED
    dispatch.call_next_run()
    assert redis.llen(LINE) == 0, "nobody waits: no message"


@pytest.mark.django_db(transaction=True)
def test_a_person_cannot_queue_without_end_and_a_batch_is_not_counted(
    make_run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, friend: User
) -> None:
    monkeypatch.setattr(inference_client.services, "MOST_QUEUED", 3)
    runs = [make_run() for _ in range(3)]
    with pytest.raises(RateLimited):
        make_run()
    make_run(account=friend)
    Run.objects.filter(pk=runs[0].pk).update(kind=RunKind.BATCH)
    make_run()
