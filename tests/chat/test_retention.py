"""Events that nobody fetches leave the inbox by age and by number; the messages and the order stay."""

from __future__ import annotations

import datetime as dt

import pytest
from django.utils import timezone

from accounts.models import User
from chat.models import Inbox, Mailbox, Message
from chat.services import retention
from tests.chat.conftest import Say

pytestmark = pytest.mark.django_db


def test_events_of_46_days_go_and_younger_ones_stay(say: Say, friend: User) -> None:
    for _ in range(4):
        say()
    Inbox.objects.filter(inbox_seq__lte=3).update(created_at=timezone.now() - dt.timedelta(days=46))

    assert retention.prune_inboxes() == 3
    assert list(Inbox.objects.values_list("inbox_seq", flat=True)) == [4]
    assert Mailbox.objects.get(user=friend).acked_seq == 3
    assert Message.objects.count() == 4


def test_beyond_the_limit_the_oldest_go_in_batches(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "MOST", 3)
    monkeypatch.setattr(retention, "BATCH", 2)
    for _ in range(10):
        say()

    assert retention.prune_inboxes() == 7
    assert sorted(Inbox.objects.values_list("inbox_seq", flat=True)) == [8, 9, 10]


def test_what_is_neither_old_nor_too_much_stays(say: Say) -> None:
    say()

    assert retention.prune_inboxes() == 0
    assert Inbox.objects.count() == 1
