"""The pages of chat without any script: reading, sending, finding somebody, muting, blocking, reporting."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from chat import services
from chat.models import Block, Conversation, Member, Message, Report
from chat.people import SEARCHES
from chat.services import Sent

Say = Callable[..., Sent]


@pytest.fixture(autouse=True)
def full_search_buckets() -> Iterator[None]:
    SEARCHES.forget()
    yield
    SEARCHES.forget()


def page_of(conversation: Conversation) -> str:
    return f"/chat/{conversation.pk}/"


def send_form(client: Client, conversation: Conversation, body: str, **fields: str) -> Any:
    return client.post(page_of(conversation), {"body": body, "key": str(uuid.uuid4()), "seen": "0", **fields})


def test_a_form_sends_a_message_and_shows_it(owner_browser: Client, conversation: Conversation) -> None:
    answer = send_form(owner_browser, conversation, "Hello <b>there</b>\nand a second line")
    assert answer.status_code == 302
    shown = owner_browser.get(answer["Location"]).content.decode()
    assert "Hello &lt;b&gt;there&lt;/b&gt;" in shown
    assert "<b>there</b>" not in shown


def test_the_same_form_sent_twice_is_one_message(owner_browser: Client, conversation: Conversation) -> None:
    key = str(uuid.uuid4())
    for _ in range(2):
        assert send_form(owner_browser, conversation, "once", key=key).status_code == 302
    assert Message.objects.filter(conversation=conversation).count() == 1


def test_a_form_of_the_history_with_another_text_keeps_the_text_and_can_be_sent_again(
    owner_browser: Client, conversation: Conversation
) -> None:
    key = str(uuid.uuid4())
    send_form(owner_browser, conversation, "first", key=key)
    answer = send_form(owner_browser, conversation, "second", key=key)
    assert answer.status_code == 409
    shown = answer.content.decode()
    assert "second</textarea>" in shown
    fresh = re.search(r'name="key" value="([0-9a-f-]{36})"', shown)
    assert fresh is not None
    assert fresh[1] != key
    assert send_form(owner_browser, conversation, "second", key=fresh[1]).status_code == 302


@pytest.mark.parametrize(
    ("body", "words"), [("x" * 4001, "at most 4,000 characters"), (" \n ", "at least one character")]
)
def test_a_text_that_cannot_be_sent_stays_in_the_form(
    owner_browser: Client, conversation: Conversation, body: str, words: str
) -> None:
    answer = send_form(owner_browser, conversation, body)
    assert answer.status_code == 400
    assert words in answer.content.decode()
    assert not Message.objects.exists()


def test_sending_marks_as_read_what_the_form_showed(
    friend_browser: Client, friend: User, conversation: Conversation, say: Say
) -> None:
    say("one")
    say("two")
    send_form(friend_browser, conversation, "answer", seen="1")
    assert Member.objects.get(conversation=conversation, user=friend).read_seq == 1


def test_a_form_marks_as_read(friend_browser: Client, friend: User, conversation: Conversation, say: Say) -> None:
    say("one")
    assert '1</span><span class="visually-hidden"> unread' in friend_browser.get("/chat/").content.decode()
    friend_browser.post(f"{page_of(conversation)}read/", {"seen": "1"})
    assert Member.objects.get(conversation=conversation, user=friend).read_seq == 1


def test_the_history_pages_back_without_a_hole_or_a_repeat(
    friend_browser: Client, conversation: Conversation, owner: User
) -> None:
    rows = [
        Message(conversation=conversation, seq=seq, sender=owner, client_msg_id=uuid.uuid4(), body=f"number {seq}.")
        for seq in range(1, 121)
    ]
    Message.objects.bulk_create(rows)
    Conversation.objects.filter(pk=conversation.pk).update(last_seq=120)
    seen: list[int] = []
    address = page_of(conversation)
    while address:
        shown = friend_browser.get(address).content.decode()
        body = shown[shown.index("data-thread") :]
        seen = [int(number) for number in re.findall(r"number (\d+)\.", body)] + seen
        older = re.search(r'href="\?before=(\d+)"', shown)
        address = f"{page_of(conversation)}?before={older[1]}" if older and older[1] != "0" else ""
    assert seen == list(range(1, 121))


def test_a_stranger_finds_neither_the_page_nor_any_of_its_forms(
    stranger_browser: Client, conversation: Conversation, say: Say
) -> None:
    sent = say("secret")
    absent = uuid.uuid4()
    for tail, fields in {
        "": {"body": "x", "key": str(uuid.uuid4())},
        "read/": {"seen": "1"},
        "mute/": {"muted": "yes"},
        "block/": {"blocked": "yes"},
        "report/": {"message": str(sent.message.id)},
    }.items():
        foreign = stranger_browser.post(f"{page_of(conversation)}{tail}", fields)
        missing = stranger_browser.post(f"/chat/{absent}/{tail}", fields)
        assert (foreign.status_code, missing.status_code) == (404, 404)
    assert stranger_browser.get(page_of(conversation)).status_code == 404
    assert not Report.objects.exists()
    assert not Block.objects.exists()


def test_who_is_not_signed_in_is_asked_to(client: Client, conversation: Conversation) -> None:
    for path in ("/chat/", "/chat/new/", "/chat/search/", page_of(conversation)):
        answer = client.get(path)
        assert answer.status_code == 302
        assert answer["Location"].startswith("/accounts/login/")


def test_a_whole_address_or_a_name_finds_a_person_and_shows_no_address_that_was_not_typed(
    owner_browser: Client, friend: User, stranger: User
) -> None:
    by_name = owner_browser.get("/chat/new/", {"q": "frank"}).content.decode()
    assert "Frank Friend" in by_name
    assert friend.email not in by_name
    by_address = owner_browser.get("/chat/new/", {"q": "Stranger@Example.com"}).content.decode()
    assert f'value="{stranger.pk}"' in by_address
    for asked in ("stranger", "example.com", "f", "%", "owner@example.com"):
        found = owner_browser.get("/chat/new/", {"q": asked}).content.decode()
        assert 'name="peer"' not in found, asked


def test_who_blocked_me_cannot_be_found_or_written_to(owner_browser: Client, owner: User, friend: User) -> None:
    services.block_person(person=friend, peer=owner)
    assert 'name="peer"' not in owner_browser.get("/chat/new/", {"q": friend.email}).content.decode()
    blocked = owner_browser.post("/chat/new/", {"peer": str(friend.pk)})
    absent = owner_browser.post("/chat/new/", {"peer": str(uuid.uuid4())})
    assert blocked.status_code == absent.status_code == 403
    assert not Conversation.objects.exists()


def test_addresses_cannot_be_tried_one_after_the_other(owner_browser: Client) -> None:
    statuses = [owner_browser.get("/chat/new/", {"q": f"a{number}@x.example"}).status_code for number in range(40)]
    assert statuses[0] == 200
    assert statuses[-1] == 429


def test_a_conversation_starts_from_the_person_found(owner_browser: Client, friend: User) -> None:
    answer = owner_browser.post("/chat/new/", {"peer": str(friend.pk)})
    conversation = Conversation.objects.get()
    assert answer["Location"] == page_of(conversation)


def test_words_find_messages_of_own_conversations_only(
    owner_browser: Client, friend_browser: Client, stranger_browser: Client, say: Say, friend: User
) -> None:
    say("The budget <i>meeting</i> is on Tuesday")
    gone = say("The budget of yesterday")
    services.delete_message(sender=User.objects.get(email="owner@example.com"), message_id=gone.message.id)
    for browser in (owner_browser, friend_browser):
        shown = browser.get("/chat/search/", {"q": "budget"}).content.decode()
        assert "&lt;i&gt;meeting&lt;/i&gt;" in shown
        assert "yesterday" not in shown
    assert "meeting" not in stranger_browser.get("/chat/search/", {"q": "budget"}).content.decode()


def test_muted_conversations_leave_the_badge_alone(
    friend_browser: Client, conversation: Conversation, say: Say
) -> None:
    say("one")
    friend_browser.post(f"{page_of(conversation)}mute/", {"muted": "yes"})
    shown = friend_browser.get("/chat/").content.decode()
    assert re.search(r"data-unread\s+hidden", shown)
    assert "data-muted" in shown
    friend_browser.post(f"{page_of(conversation)}mute/", {"muted": "no"})
    assert not re.search(r"data-unread\s+hidden", friend_browser.get("/chat/").content.decode())


def test_every_page_says_in_its_html_how_much_is_unread(
    friend_browser: Client, stranger_browser: Client, conversation: Conversation, say: Say
) -> None:
    say("one")
    say("two")
    for address in ("/", "/runs/", "/account/", "/chat/"):
        shown = friend_browser.get(address).content.decode()
        assert re.search(r"data-unread\s*><span data-count>2</span>", shown), address
        assert re.search(r"<title>\s*\(2\) ", shown), address
    shown = stranger_browser.get("/runs/").content.decode()
    assert re.search(r"data-unread\s+hidden", shown)
    assert "<title>Runs" in shown


def test_blocking_refuses_the_next_message_and_keeps_its_text(
    owner_browser: Client, friend_browser: Client, conversation: Conversation
) -> None:
    friend_browser.post(f"{page_of(conversation)}block/", {"blocked": "yes"})
    answer = send_form(owner_browser, conversation, "are you there")
    assert answer.status_code == 403
    assert "are you there</textarea>" in answer.content.decode()
    friend_browser.post(f"{page_of(conversation)}block/", {"blocked": "no"})
    assert send_form(owner_browser, conversation, "hello again").status_code == 302


def test_a_report_keeps_the_text_as_it_was(friend_browser: Client, conversation: Conversation, say: Say) -> None:
    sent = say("nasty")
    fields = {"message": str(sent.message.id), "reason": "It is nasty."}
    assert friend_browser.post(f"{page_of(conversation)}report/", fields).status_code == 302
    assert Report.objects.get().body == "nasty"


@pytest.mark.parametrize(
    "query", ["?cursor=x", "?cursor=2026-01-01_x", "?cursor=2026-01-01T00:00:00%2B00:00_" + "0" * 32]
)
def test_a_cursor_that_is_none_is_refused_or_finds_nothing(owner_browser: Client, query: str) -> None:
    assert owner_browser.get(f"/chat/{query}").status_code in (200, 400)


@pytest.mark.parametrize("before", ["-1", "x", "9" * 30, "0", "٣"])
def test_a_place_in_the_history_that_is_none_breaks_nothing(
    owner_browser: Client, conversation: Conversation, before: str
) -> None:
    assert owner_browser.get(page_of(conversation), {"before": before}).status_code == 200


@pytest.mark.parametrize("q", ['"', "a & b | !c", "'; --", "x" * 5000, "<->", "  "])
def test_any_words_can_be_searched_for(owner_browser: Client, q: str) -> None:
    assert owner_browser.get("/chat/search/", {"q": q}).status_code == 200
