"""One's own words: edited for 15 minutes, deleted at any time, each with an event of a higher version."""

from __future__ import annotations

import datetime as dt
import uuid

import pytest
from django.utils import timezone

from accounts.models import User
from chat import services
from chat.models import Inbox, Message
from core.errors import InvalidInput, NotAllowed, NotFound
from tests.chat.conftest import Say

pytestmark = pytest.mark.django_db


def test_an_edit_raises_the_version_and_tells_the_other_one(say: Say, owner: User, friend: User) -> None:
    message = say("Helo").message

    changed = services.edit_message(sender=owner, message_id=message.id, body="Hello")

    assert (changed.body, changed.version, changed.seq) == ("Hello", 2, message.seq)
    kinds = Inbox.objects.filter(recipient=friend).order_by("inbox_seq").values_list("inbox_seq", "kind")
    assert list(kinds) == [(1, "message"), (2, "edited")]


def test_the_same_text_again_is_no_edit(say: Say, owner: User) -> None:
    message = say("Hello").message

    assert services.edit_message(sender=owner, message_id=message.id, body="Hello").version == 1
    assert Inbox.objects.count() == 1


def test_after_fifteen_minutes_it_stays_as_it_is(say: Say, owner: User) -> None:
    message = say("Helo").message
    Message.objects.update(created_at=timezone.now() - dt.timedelta(minutes=15, seconds=1))

    with pytest.raises(NotAllowed) as refused:
        services.edit_message(sender=owner, message_id=message.id, body="Hello")

    assert refused.value.code == "too_old"
    assert Message.objects.get().body == "Helo"


@pytest.mark.parametrize("who", ["friend", "stranger"])
def test_nobody_else_can_edit_or_delete_it(who: str, say: Say, friend: User, stranger: User) -> None:
    person = {"friend": friend, "stranger": stranger}[who]
    message = say("Hello").message

    with pytest.raises(NotFound):
        services.edit_message(sender=person, message_id=message.id, body="I never said that")
    for target in (message.id, uuid.uuid4()):
        with pytest.raises(NotFound):
            services.delete_message(sender=person, message_id=target)
    assert Message.objects.get().version == 1


def test_a_deletion_takes_the_text_and_keeps_the_place(say: Say, owner: User, friend: User) -> None:
    message = say("A secret").message

    services.delete_message(sender=owner, message_id=message.id)
    services.delete_message(sender=owner, message_id=message.id)

    row = Message.objects.get()
    assert (row.body, row.version, row.seq) == (None, 2, message.seq)
    assert list(Inbox.objects.filter(recipient=friend).values_list("kind", flat=True)) == ["message", "deleted"]


def test_what_is_deleted_cannot_be_edited_back(say: Say, owner: User) -> None:
    message = say().message
    services.delete_message(sender=owner, message_id=message.id)

    with pytest.raises(NotFound):
        services.edit_message(sender=owner, message_id=message.id, body="Back again")


def test_an_edit_does_not_pass_a_block_and_a_deletion_does(say: Say, owner: User, friend: User) -> None:
    message = say().message
    services.block_person(person=friend, peer=owner)

    with pytest.raises(NotAllowed) as refused:
        services.edit_message(sender=owner, message_id=message.id, body="Hear me")
    assert refused.value.code == "cannot_message"
    assert services.delete_message(sender=owner, message_id=message.id).deleted_at is not None


def test_an_edit_keeps_the_rules_of_text(say: Say, owner: User) -> None:
    message = say().message

    with pytest.raises(InvalidInput):
        services.edit_message(sender=owner, message_id=message.id, body="a\0b")
