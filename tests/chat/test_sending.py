"""A message is kept once, in order, with its event in the recipient's inbox, or it is refused and nothing is kept."""

from __future__ import annotations

import uuid

import pytest
from django.db import IntegrityError, transaction

from accounts.models import User
from accounts.services import deactivate_account
from chat import services
from chat.models import Conversation, Inbox, Mailbox, Message
from chat.services import Reference
from core import bus
from core.errors import Conflict, InvalidInput, NotAllowed, NotFound, RateLimited
from tests.chat.conftest import Say

pytestmark = pytest.mark.django_db


def test_a_message_takes_the_next_place_of_both_counters(say: Say, friend: User, conversation: Conversation) -> None:
    sent = [say(f"number {number}") for number in range(3)]

    assert [each.message.seq for each in sent] == [1, 2, 3]
    assert [each.duplicate for each in sent] == [False] * 3
    inbox = Inbox.objects.filter(recipient=friend).order_by("inbox_seq")
    assert [(row.inbox_seq, row.kind, row.message_id) for row in inbox] == [
        (number, "message", each.message.id) for number, each in enumerate(sent, start=1)
    ]
    conversation.refresh_from_db()
    assert conversation.last_seq == 3
    assert Mailbox.objects.get(user=friend).last_inbox_seq == 3


def test_the_sender_gets_no_event_of_its_own(say: Say, owner: User) -> None:
    say()

    assert not Inbox.objects.filter(recipient=owner).exists()


def test_a_repeated_id_finds_the_first_message_and_takes_no_place(say: Say, friend: User) -> None:
    once = uuid.uuid4()
    first = say("Hello", client_msg_id=once)
    again = say("Hello", client_msg_id=once)

    assert again.duplicate
    assert (again.message.id, again.message.seq) == (first.message.id, first.message.seq)
    assert Message.objects.count() == Inbox.objects.count() == Mailbox.objects.get(user=friend).last_inbox_seq == 1


def test_a_repeated_id_with_another_text_is_no_new_message(say: Say) -> None:
    once = uuid.uuid4()
    say("Hello", client_msg_id=once)

    with pytest.raises(Conflict) as refused:
        say("Good-bye", client_msg_id=once)

    assert refused.value.code == "id_reused"
    assert Message.objects.count() == 1


def test_a_repeated_id_after_an_edit_is_still_the_first_message(say: Say, owner: User) -> None:
    once = uuid.uuid4()
    first = say("Hello", client_msg_id=once)
    services.edit_message(sender=owner, message_id=first.message.id, body="Hello!")

    again = say("Hello", client_msg_id=once)

    assert (again.duplicate, again.message.body, again.message.version) == (True, "Hello!", 2)


def test_a_repeated_id_in_another_conversation_is_refused(say: Say, owner: User, stranger: User) -> None:
    once = uuid.uuid4()
    say("Hello", client_msg_id=once)
    other = services.start_conversation(person=owner, peer=stranger)

    with pytest.raises(Conflict) as refused:
        services.send_message(sender=owner, conversation=other, client_msg_id=once, body="Hello")

    assert refused.value.code == "id_reused"


def test_the_other_one_may_use_the_same_id(say: Say, friend: User) -> None:
    once = uuid.uuid4()
    say("Hello", client_msg_id=once)

    assert not say("Hello", sender=friend, client_msg_id=once).duplicate


def test_a_stranger_is_told_the_same_as_of_a_conversation_that_is_not_there(say: Say, stranger: User) -> None:
    with pytest.raises(NotFound) as foreign:
        say(sender=stranger)
    with pytest.raises(NotFound) as absent:
        services.send_message(
            sender=stranger, conversation=Conversation(), client_msg_id=uuid.uuid4(), body="Is anybody there?"
        )

    assert foreign.value.as_json() == absent.value.as_json()
    assert not Message.objects.exists()


@pytest.mark.parametrize("blocker", ["owner", "friend"])
def test_blocked_and_switched_off_cannot_be_told_apart(
    blocker: str, say: Say, owner: User, friend: User, stranger: User
) -> None:
    people = {"owner": owner, "friend": friend}
    other = services.start_conversation(person=owner, peer=stranger)
    services.block_person(person=people[blocker], peer=people["friend" if blocker == "owner" else "owner"])
    deactivate_account(account=stranger)

    with pytest.raises(NotAllowed) as blocked:
        say()
    with pytest.raises(NotAllowed) as inactive:
        services.send_message(sender=owner, conversation=other, client_msg_id=uuid.uuid4(), body="Hello")

    assert blocked.value.as_json() == inactive.value.as_json()
    assert blocked.value.code == "cannot_message"
    assert not Message.objects.exists()


def test_after_an_unblock_it_is_sent(say: Say, owner: User, friend: User) -> None:
    services.block_person(person=friend, peer=owner)
    services.unblock_person(person=friend, peer=owner)

    assert say().message.seq == 1


def test_a_burst_beyond_the_limit_is_refused_with_when_to_come_back(say: Say) -> None:
    for _ in range(60):
        say()

    with pytest.raises(RateLimited) as refused:
        [say() for _ in range(5)]

    assert refused.value.retry_after_s is not None
    assert refused.value.retry_after_s >= 1


def test_a_reference_travels_as_kind_and_id(owner: User, conversation: Conversation) -> None:
    thing = Reference(kind="version", id=uuid.uuid4())

    sent = services.send_message(
        sender=owner, conversation=conversation, client_msg_id=uuid.uuid4(), body="Look", reference=thing
    )

    assert sent.message.as_json()["reference"] == {"kind": "version", "id": str(thing.id)}


def test_a_reference_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InvalidInput):
        Reference(kind="javascript", id=uuid.uuid4())


@pytest.mark.django_db(transaction=True)
def test_the_row_is_there_when_the_event_is_published(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that hears of a message before its commit finds nothing."""
    seen: list[bool] = []
    monkeypatch.setattr(bus, "publish", lambda *_: seen.append(transaction.get_connection().in_atomic_block))

    with transaction.atomic():
        say()
        assert seen == []

    assert seen == [False, False]


@pytest.mark.django_db(transaction=True)
def test_what_is_rolled_back_is_published_nowhere(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    published: list[object] = []
    monkeypatch.setattr(bus, "publish", lambda *given: published.append(given))

    with transaction.atomic():
        say()
        transaction.set_rollback(True)

    assert published == []
    assert say().message.seq == 1


def test_the_database_refuses_a_second_conversation_of_the_same_two(conversation: Conversation, owner: User) -> None:
    twin = Conversation(user_lo=conversation.user_lo, user_hi=conversation.user_hi, started_by=owner)
    turned = Conversation(user_lo=conversation.user_hi, user_hi=conversation.user_lo, started_by=owner)
    for second in (twin, turned):
        with pytest.raises(IntegrityError), transaction.atomic():
            second.save(force_insert=True)
