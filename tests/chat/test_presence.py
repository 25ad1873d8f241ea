"""Who is here, and when people were last seen: a key that expires by itself, and few writes."""

from __future__ import annotations

import datetime as dt
import time
import uuid
from collections.abc import Iterator

import pytest
from django.utils import timezone

from accounts.models import User
from chat import presence
from chat.models import LastSeen
from chat.presence import DIRTY, GRACE_S, TTL_S, Here
from chat.services.last_seen import flush_last_seen
from core.redis import client

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nobody_seen() -> Iterator[None]:
    client().delete(DIRTY)
    yield
    client().delete(DIRTY)


def heard(person: User, *, ago: dt.timedelta = dt.timedelta()) -> float:
    at = time.time() - ago.total_seconds()
    client().zadd(DIRTY, {str(person.pk): at})
    return at


def test_who_was_heard_is_here_for_a_minute_after_that(owner: User) -> None:
    presence.refresh([Here(person=owner.pk, gen=1, silent_s=20)])

    assert presence.read([owner.pk])[owner.pk].online
    left_s = client().pttl(presence.key_of(owner.pk)) / 1000
    assert TTL_S - 25 < left_s <= TTL_S - 20


def test_a_dead_peer_is_not_kept_alive_by_a_live_process(owner: User) -> None:
    presence.refresh([Here(person=owner.pk, gen=1, silent_s=TTL_S + 1)])

    assert not presence.read([owner.pk])[owner.pk].online


def test_a_goodbye_is_believed_after_the_grace(owner: User) -> None:
    presence.refresh([Here(person=owner.pk, gen=1, silent_s=0)])
    presence.leave(person=owner.pk, gen=1)

    assert 0 < client().pttl(presence.key_of(owner.pk)) <= GRACE_S * 1000


def test_the_late_goodbye_of_an_old_device_does_not_touch_the_new_one(owner: User) -> None:
    presence.refresh([Here(person=owner.pk, gen=1, silent_s=0)])
    presence.refresh([Here(person=owner.pk, gen=2, silent_s=0)])
    presence.leave(person=owner.pk, gen=1)

    assert client().pttl(presence.key_of(owner.pk)) > (TTL_S - 5) * 1000


def test_the_longest_lie_after_a_kill_is_seventy_seconds() -> None:
    assert TTL_S + GRACE_S <= 70


def test_nobody_asks_for_nobody() -> None:
    assert presence.read([]) == {}


def test_a_hundred_heartbeats_are_one_write(owner: User) -> None:
    writes = 0
    for _ in range(100):
        heard(owner)
        writes += flush_last_seen()

    assert writes == 1
    assert LastSeen.objects.count() == 1


def test_after_five_minutes_it_is_written_again(owner: User) -> None:
    LastSeen.objects.create(user=owner, at=timezone.now() - dt.timedelta(minutes=5, seconds=1))
    at = heard(owner)

    assert flush_last_seen() == 1
    assert LastSeen.objects.get().at.timestamp() == pytest.approx(at, abs=0.01)
    assert client().zcard(DIRTY) == 0


def test_what_is_too_new_to_be_written_waits(owner: User) -> None:
    LastSeen.objects.create(user=owner, at=timezone.now() - dt.timedelta(minutes=1))
    heard(owner)

    assert flush_last_seen() == 0
    assert client().zcard(DIRTY) == 1


def test_last_seen_never_goes_back(owner: User) -> None:
    LastSeen.objects.create(user=owner, at=timezone.now())
    heard(owner, ago=dt.timedelta(hours=1))

    assert flush_last_seen() == 0
    assert client().zcard(DIRTY) == 0


def test_an_account_that_is_gone_is_forgotten() -> None:
    client().zadd(DIRTY, {str(uuid.uuid4()): time.time()})

    assert flush_last_seen() == 0
    assert client().zcard(DIRTY) == 0
