"""Starting a conversation, and one's own place in it: cursors that only grow, muting, clearing, reports."""

from __future__ import annotations

import uuid

import pytest

from accounts.models import User
from accounts.services import deactivate_account
from chat import services
from chat.models import Conversation, Member, Message, Report
from core.errors import InvalidInput, NotAllowed, NotFound, RateLimited
from tests.chat.conftest import Say

pytestmark = pytest.mark.django_db


def test_both_start_the_same_conversation(owner: User, friend: User) -> None:
    mine = services.start_conversation(person=owner, peer=friend)
    theirs = services.start_conversation(person=friend, peer=owner)

    assert mine == theirs
    assert Member.objects.filter(conversation=mine).count() == 2


def test_nobody_starts_one_with_oneself_or_past_a_block_or_with_a_dead_account(
    owner: User, friend: User, stranger: User
) -> None:
    services.block_person(person=friend, peer=owner)
    deactivate_account(account=stranger)

    refusals = []
    for peer in (owner, friend, stranger):
        with pytest.raises(NotAllowed) as refused:
            services.start_conversation(person=owner, peer=peer)
        refusals.append(refused.value.as_json())

    assert refusals[0] == refusals[1] == refusals[2]
    assert not Conversation.objects.exists()


def test_a_sixth_new_conversation_within_a_minute_is_refused(owner: User, make_person: object) -> None:
    assert callable(make_person)
    people = [make_person(f"peer{number}@example.com") for number in range(6)]
    for peer in people[:5]:
        services.start_conversation(person=owner, peer=peer)

    with pytest.raises(RateLimited):
        services.start_conversation(person=owner, peer=people[5])
    assert services.start_conversation(person=owner, peer=people[0]).last_seq == 0


def test_the_read_mark_only_grows_and_never_passes_the_last_message(
    say: Say, friend: User, conversation: Conversation
) -> None:
    for _ in range(3):
        say()

    marks = [
        services.mark_read(person=friend, conversation=conversation, upto_seq=upto).read_upto for upto in (2, 1, 99, 0)
    ]

    assert marks == [2, 2, 3, 3]


def test_a_stranger_has_no_place_in_it(conversation: Conversation, stranger: User) -> None:
    with pytest.raises(NotFound):
        services.mark_read(person=stranger, conversation=conversation, upto_seq=1)
    with pytest.raises(NotFound):
        services.mute_conversation(person=stranger, conversation=conversation, muted=True)
    with pytest.raises(NotFound):
        services.clear_conversation(person=stranger, conversation=conversation, upto_seq=1)


def test_clearing_hides_it_from_oneself_only(say: Say, owner: User, friend: User, conversation: Conversation) -> None:
    say("Old")
    services.clear_conversation(person=friend, conversation=conversation, upto_seq=1)
    say("New")

    assert list(Message.objects.visible_to(friend).values_list("body", flat=True)) == ["New"]
    assert set(Message.objects.visible_to(owner).values_list("body", flat=True)) == {"Old", "New"}


def test_muting_and_unmuting(friend: User, conversation: Conversation) -> None:
    assert services.mute_conversation(person=friend, conversation=conversation, muted=True).muted_at is not None
    assert services.mute_conversation(person=friend, conversation=conversation, muted=False).muted_at is None


def test_a_report_keeps_the_text_that_its_sender_then_deletes(say: Say, owner: User, friend: User) -> None:
    message = say("An insult").message

    services.report_message(person=friend, message_id=message.id, reason="Rude")
    services.delete_message(sender=owner, message_id=message.id)

    assert Report.objects.get().body == "An insult"


def test_one_reports_only_what_one_received(say: Say, owner: User, stranger: User) -> None:
    message = say().message

    for person in (owner, stranger):
        with pytest.raises(NotFound):
            services.report_message(person=person, message_id=message.id)
    with pytest.raises(NotFound):
        services.report_message(person=owner, message_id=uuid.uuid4())


def test_a_second_report_is_the_first_and_a_reason_has_a_limit(say: Say, friend: User) -> None:
    message = say().message

    first = services.report_message(person=friend, message_id=message.id, reason="Rude")
    assert services.report_message(person=friend, message_id=message.id, reason="Again").pk == first.pk
    with pytest.raises(InvalidInput):
        services.report_message(person=friend, message_id=message.id, reason="x" * 1001)


def test_nobody_blocks_oneself(owner: User) -> None:
    with pytest.raises(InvalidInput):
        services.block_person(person=owner, peer=owner)
