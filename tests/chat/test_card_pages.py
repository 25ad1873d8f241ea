"""Sending a version or a run into a chat: to whom, with which words, once; and nothing is learnt of what is sent."""

from __future__ import annotations

import re
import uuid
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from chat import services
from chat.models import Conversation, Inbox, Message
from chat.people import SEARCHES

SUBJECT = uuid.UUID("018f0000-0000-7000-8000-000000000001")


def address(kind: str = "version") -> str:
    return f"/chat/send/{kind}/{SUBJECT}/"


def send(client: Client, to: str, *, key: uuid.UUID | None = None, body: str = "", kind: str = "version") -> Any:
    return client.post(address(kind), {"to": to, "key": str(key or uuid.uuid4()), "body": body})


@pytest.mark.parametrize("kind", ["version", "run"])
def test_it_goes_into_a_conversation_with_words_or_without(
    kind: str, owner_browser: Client, conversation: Conversation, friend: User
) -> None:
    for body in ("Look at this", "", "  \n"):
        answer = send(owner_browser, f"conversation:{conversation.pk}", body=body, kind=kind)
        assert answer.status_code == 302
        assert answer["Location"] == f"/chat/{conversation.pk}/#newest"
    rows = Message.objects.order_by("seq").values_list("body", "reference_kind", "reference_id")
    assert list(rows) == [("Look at this", kind, SUBJECT), ("", kind, SUBJECT), ("", kind, SUBJECT)]
    assert Inbox.objects.filter(recipient=friend).count() == 3


def test_it_goes_to_a_person_who_was_found_and_starts_the_conversation(owner_browser: Client, friend: User) -> None:
    found = owner_browser.post(address(), {"q": friend.email, "body": "kept words", "key": str(uuid.uuid4())})
    shown = found.content.decode()
    assert f'value="person:{friend.pk}"' in shown
    assert "kept words</textarea>" in shown
    assert not Message.objects.exists()
    assert send(owner_browser, f"person:{friend.pk}").status_code == 302
    assert Message.objects.get().reference_id == SUBJECT


def test_the_same_page_sends_once_to_each(owner_browser: Client, owner: User, friend: User, stranger: User) -> None:
    key = uuid.uuid4()
    for _ in range(2):
        for peer in (friend, stranger):
            assert send(owner_browser, f"person:{peer.pk}", key=key).status_code == 302
    assert Message.objects.count() == 2


def test_the_page_names_what_is_sent_and_to_whom_it_can_go(owner_browser: Client, conversation: Conversation) -> None:
    shown = owner_browser.get(address("run")).content.decode()
    assert "A run of a prompt" in shown
    assert f'value="conversation:{conversation.pk}"' in shown
    assert f'data-card-address="/shared/cards/run/{SUBJECT}/"' in shown


def test_who_searches_too_often_keeps_the_words(owner_browser: Client, friend: User) -> None:
    SEARCHES.forget()
    form = {"q": friend.email, "body": "kept words", "key": str(uuid.uuid4())}
    answers = [owner_browser.post(address(), form) for _ in range(32)]
    assert answers[0].status_code == 200
    assert answers[-1].status_code == 429
    assert "Too many searches" in answers[-1].content.decode()
    assert "kept words</textarea>" in answers[-1].content.decode()
    SEARCHES.forget()


def test_a_conversation_of_others_is_as_absent(owner_browser: Client, friend: User, stranger: User) -> None:
    foreign = services.start_conversation(person=friend, peer=stranger)
    answers = [send(owner_browser, f"conversation:{pk}").status_code for pk in (foreign.pk, uuid.uuid4())]
    assert answers == [404, 404]
    assert not Message.objects.exists()


def test_who_cannot_be_messaged_is_said_and_the_words_are_kept(
    owner_browser: Client, owner: User, friend: User
) -> None:
    services.block_person(person=friend, peer=owner)
    answer = send(owner_browser, f"person:{friend.pk}", body="kept words")
    assert answer.status_code == 403
    assert "cannot be messaged" in answer.content.decode()
    assert "kept words</textarea>" in answer.content.decode()


@pytest.mark.parametrize("kind", ["access_request", "prompt", "x"])
def test_only_versions_and_runs_are_sent_by_hand(kind: str, owner_browser: Client) -> None:
    assert owner_browser.get(address(kind)).status_code == 404


@pytest.mark.parametrize("to", ["", "conversation:", "person:x", "nobody"])
def test_a_form_that_lacks_a_part_says_so(to: str, owner_browser: Client) -> None:
    assert send(owner_browser, to).status_code == 400


def test_nobody_who_is_signed_out_gets_there(client: Client) -> None:
    assert client.get(address()).status_code == 302
    assert client.post(address(), {}).status_code == 302


def test_a_message_without_words_is_named_in_the_list_and_shown_without_an_empty_line(
    owner_browser: Client, friend_browser: Client, conversation: Conversation
) -> None:
    send(owner_browser, f"conversation:{conversation.pk}")
    listed = friend_browser.get("/chat/").content.decode()
    assert re.search(r"data-row-last[^>]*>A version of a prompt<", listed)
    shown = friend_browser.get(f"/chat/{conversation.pk}/").content.decode()
    assert f'href="/shared/cards/version/{SUBJECT}/"' in shown
    assert '<p dir="auto"></p>' not in shown
