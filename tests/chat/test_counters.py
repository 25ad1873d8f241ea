"""The two counters under concurrent transactions: no hole, nothing late, one message an id, one order for all."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import User
from chat import services
from chat.models import Conversation, Inbox, Mailbox, Message
from chat.services.messages import SENDS
from tests.chat.conftest import Say

pytestmark = pytest.mark.django_db(transaction=True)

#: What one writer does, one after the other: send, send and roll back, or repeat an id that others use, too.
Step = tuple[str, int]
STEPS = st.tuples(st.sampled_from(["send", "roll back", "twin"]), st.integers(0, 3))


def in_threads(works: list[Callable[[], None]]) -> None:
    def run(work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(works)) as pool:
        for done in [pool.submit(run, work) for work in works]:
            done.result(timeout=60)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plans=st.lists(st.lists(STEPS, min_size=1, max_size=6), min_size=2, max_size=4))
def test_however_sends_interleave_there_is_no_hole_and_no_twin(
    plans: list[list[Step]], owner: User, friend: User, stranger: User, conversation: Conversation
) -> None:
    SENDS.forget()
    Message.objects.all().delete()
    before = Mailbox.objects.get(user=friend).last_inbox_seq
    other = services.start_conversation(person=stranger, peer=friend)
    first = {each.pk: Conversation.objects.get(pk=each.pk).last_seq for each in (conversation, other)}
    twins = [uuid.uuid4() for _ in range(4)]

    def writer(number: int) -> Callable[[], None]:
        sender, place = ((owner, conversation), (stranger, other))[number % 2]

        def write() -> None:
            for action, index in plans[number]:
                client_id = twins[index] if action == "twin" else uuid.uuid4()
                with transaction.atomic():
                    services.send_message(sender=sender, conversation=place, client_msg_id=client_id, body="Hello")
                    transaction.set_rollback(action == "roll back")

        return write

    in_threads([writer(number) for number in range(len(plans))])

    for place in (conversation, other):
        seqs = Message.objects.filter(conversation=place).order_by("seq").values_list("seq", flat=True)
        start = first[place.pk]
        assert list(seqs) == list(range(start + 1, start + 1 + len(seqs)))
        assert Conversation.objects.get(pk=place.pk).last_seq == start + len(seqs)
    places = list(Inbox.objects.filter(recipient=friend).order_by("inbox_seq").values_list("inbox_seq", flat=True))
    assert places == list(range(before + 1, before + 1 + Message.objects.count()))
    for sender in (owner, stranger):
        for twin in twins:
            assert Message.objects.filter(sender=sender, client_msg_id=twin).count() <= 1


def test_a_reader_by_position_never_passes_over_a_row_that_commits_late(
    owner: User, stranger: User, friend: User, conversation: Conversation
) -> None:
    """Who reads 'all after n' again and again sees every event: what an auto-increment cursor does not give."""
    other = services.start_conversation(person=stranger, peer=friend)
    writing = threading.Event()
    writing.set()
    seen: list[int] = []

    def write(sender: User, place: Conversation) -> None:
        for _ in range(40):
            SENDS.forget()
            services.send_message(sender=sender, conversation=place, client_msg_id=uuid.uuid4(), body="Hello")

    def read() -> None:
        at = 0
        while True:
            last_round = not writing.is_set()
            rows = Inbox.objects.filter(recipient=friend, inbox_seq__gt=at).order_by("inbox_seq")
            for row in rows.values_list("inbox_seq", flat=True):
                seen.append(row)
                at = row
            if last_round:
                return

    reader = threading.Thread(target=in_threads, args=([read],))
    reader.start()
    in_threads([lambda: write(owner, conversation), lambda: write(stranger, other), lambda: write(owner, conversation)])
    writing.clear()
    reader.join(timeout=60)

    assert seen == list(range(1, 121))


def test_two_who_write_to_each_other_at_once_do_not_deadlock(say: Say, owner: User, friend: User) -> None:
    def write(sender: User) -> None:
        for _ in range(50):
            say(sender=sender)

    in_threads([lambda: write(owner), lambda: write(friend)])

    assert sorted(Message.objects.values_list("seq", flat=True)) == list(range(1, 101))
