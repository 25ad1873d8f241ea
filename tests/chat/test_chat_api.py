"""Chat for programs: the same rules over `/api/v1/chat/`, for the two of a conversation, a stranger and nobody."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from chat import services
from chat.models import Conversation, Member, Message
from chat.services.messages import SENDS
from tests.chat.conftest import Say

pytestmark = pytest.mark.django_db
API = "/api/v1/chat"


def send(api: APIClient, place: object, body: str = "Hello", **more: Any) -> Any:
    given = {"client_msg_id": str(uuid.uuid4()), "body": body, **more}
    return api.post(f"{API}/conversations/{place}/messages", given, format="json")


def test_two_people_talk(owner_api: APIClient, friend_api: APIClient, friend: User) -> None:
    started = owner_api.post(f"{API}/conversations", {"person": str(friend.pk)}, format="json")
    assert started.status_code == 201, started.content
    place = started.json()["id"]
    assert started.json()["peer"] == {"id": str(friend.pk), "name": "Frank Friend"}

    sent = send(owner_api, place)
    assert sent.status_code == 201, sent.content
    assert friend_api.get(f"{API}/unread").json() == {"total": 1, "conversations": {place: 1}}
    assert [row["body"] for row in friend_api.get(f"{API}/conversations/{place}/messages").json()["results"]] == [
        "Hello"
    ]

    marked = friend_api.post(f"{API}/conversations/{place}/read", {"upto_seq": 1}, format="json")
    assert marked.json() == {"delivered_upto": 1, "read_upto": 1}
    [mine] = owner_api.get(f"{API}/conversations").json()["results"]
    assert (mine["peer_read_seq"], mine["unread"]) == (1, 0)
    assert friend_api.get(f"{API}/unread").json()["total"] == 0


def test_a_repeat_answers_200_with_the_same_message(owner_api: APIClient, conversation: Conversation) -> None:
    once = str(uuid.uuid4())
    first = send(owner_api, conversation.pk, client_msg_id=once)
    again = send(owner_api, conversation.pk, client_msg_id=once)

    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == {**first.json(), "duplicate": True}
    assert send(owner_api, conversation.pk, "Other", client_msg_id=once).json()["error"]["code"] == "id_reused"


def test_foreign_and_absent_conversations_are_the_same_404(stranger_api: APIClient, conversation: Conversation) -> None:
    for place in (conversation.pk, uuid.uuid4()):
        here = f"{API}/conversations/{place}"
        for answer in (
            stranger_api.get(here),
            stranger_api.get(f"{here}/messages"),
            send(stranger_api, place),
            stranger_api.post(f"{here}/read", {"upto_seq": 1}, format="json"),
            stranger_api.post(f"{here}/clear", {"upto_seq": 1}, format="json"),
            stranger_api.put(f"{here}/mute", {"muted": True}, format="json"),
        ):
            assert answer.status_code == 404
            assert answer.json()["error"]["code"] == "not_found"


def test_foreign_and_absent_messages_are_the_same_404(stranger_api: APIClient, say: Say) -> None:
    for message in (say().message.id, uuid.uuid4()):
        here = f"{API}/messages/{message}"
        for answer in (
            stranger_api.patch(here, {"body": "Mine"}, format="json"),
            stranger_api.delete(here),
            stranger_api.post(f"{here}/report", {}, format="json"),
        ):
            assert answer.status_code == 404


@pytest.mark.parametrize("path", ["conversations", "unread", "people?q=owner", "blocks", "messages?q=x"])
def test_nobody_gets_nothing(path: str, anonymous_api: APIClient) -> None:
    assert anonymous_api.get(f"{API}/{path}").status_code == 401


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"body": "x"},
        {"client_msg_id": "1", "body": "x"},
        {"client_msg_id": str(uuid.uuid4()), "body": ""},
        {"client_msg_id": str(uuid.uuid4()), "body": "a\0b"},
        {"client_msg_id": str(uuid.uuid4()), "body": "x" * 4001},
        {"client_msg_id": str(uuid.uuid4()), "body": "x", "reference": {"kind": "script", "id": str(uuid.uuid4())}},
    ],
)
def test_bad_input_is_400_and_keeps_nothing(
    given: dict[str, Any], owner_api: APIClient, conversation: Conversation
) -> None:
    answer = owner_api.post(f"{API}/conversations/{conversation.pk}/messages", given, format="json")

    assert answer.status_code == 400, answer.content
    assert not Message.objects.exists()


def test_history_pages_by_seq_and_a_new_message_shifts_nothing(
    owner_api: APIClient, say: Say, conversation: Conversation
) -> None:
    """Sixty rows of one moment, read in pages of 25, with a message that arrives in between."""
    for _ in range(60):
        SENDS.forget()
        say()
    Message.objects.update(created_at=timezone.now())

    first = owner_api.get(f"{API}/conversations/{conversation.pk}/messages?limit=25").json()
    SENDS.forget()
    say()
    seen = [row["seq"] for row in first["results"]]
    following = first["next"]
    while following:
        page = owner_api.get(following).json()
        seen += [row["seq"] for row in page["results"]]
        following = page["next"]

    assert seen == list(range(60, 0, -1))


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "before=-1", "before=x", "before=9" + "9" * 30])
def test_a_bad_page_is_400(query: str, owner_api: APIClient, conversation: Conversation) -> None:
    assert owner_api.get(f"{API}/conversations/{conversation.pk}/messages?{query}").status_code == 400


def test_editing_and_deleting(owner_api: APIClient, say: Say) -> None:
    here = f"{API}/messages/{say('Helo').message.id}"

    assert owner_api.patch(here, {"body": "Hello"}, format="json").json()["version"] == 2
    assert owner_api.delete(here).status_code == 204
    assert owner_api.patch(here, {"body": "Back"}, format="json").status_code == 404


def test_an_edit_after_the_window_is_403(owner_api: APIClient, say: Say) -> None:
    here = f"{API}/messages/{say('Helo').message.id}"
    Message.objects.update(created_at=timezone.now() - dt.timedelta(hours=1))

    answer = owner_api.patch(here, {"body": "Hello"}, format="json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "too_old")


def test_search_finds_words_in_my_conversations_only(
    owner_api: APIClient, stranger_api: APIClient, say: Say, owner: User
) -> None:
    say("The quick brown fox")
    gone = say("The quick brown bear").message
    services.delete_message(sender=owner, message_id=gone.id)

    found = owner_api.get(f"{API}/messages", {"q": "quick fox"}).json()["results"]
    assert [row["body"] for row in found] == ["The quick brown fox"]
    assert stranger_api.get(f"{API}/messages", {"q": "quick"}).json()["results"] == []
    assert owner_api.get(f"{API}/messages", {"q": "bear"}).json()["results"] == []


def test_search_pages_without_a_repeat(owner_api: APIClient, say: Say) -> None:
    for number in range(55):
        SENDS.forget()
        say(f"fox {number}")

    first = owner_api.get(f"{API}/messages", {"q": "fox"}).json()
    second = owner_api.get(first["next"]).json()

    assert len({row["id"] for row in first["results"] + second["results"]}) == 55
    assert second["next"] is None
    assert owner_api.get(f"{API}/messages", {"q": "fox", "cursor": "x"}).status_code == 400


def test_unread_counts_after_everything_was_read(
    friend_api: APIClient, say: Say, friend: User, conversation: Conversation
) -> None:
    for _ in range(111):
        SENDS.forget()
        say()
    assert friend_api.get(f"{API}/unread").json()["total"] == 100
    services.mark_read(person=friend, conversation=conversation, upto_seq=111)
    SENDS.forget()
    say()

    assert friend_api.get(f"{API}/unread").json()["total"] == 1


def test_a_muted_conversation_counts_for_itself_and_not_for_the_badge(
    friend_api: APIClient, say: Say, conversation: Conversation
) -> None:
    say()
    answer = friend_api.put(f"{API}/conversations/{conversation.pk}/mute", {"muted": True}, format="json")

    assert answer.status_code == 204
    assert friend_api.get(f"{API}/unread").json() == {"total": 0, "conversations": {str(conversation.pk): 1}}


def test_clearing_is_for_oneself(
    friend_api: APIClient, owner_api: APIClient, say: Say, conversation: Conversation
) -> None:
    say()
    here = f"{API}/conversations/{conversation.pk}"
    assert friend_api.post(f"{here}/clear", {"upto_seq": 1}, format="json").status_code == 204

    assert friend_api.get(f"{here}/messages").json()["results"] == []
    assert len(owner_api.get(f"{here}/messages").json()["results"]) == 1


def test_an_unknown_and_a_blocking_person_cannot_be_told_apart(owner_api: APIClient, owner: User, friend: User) -> None:
    services.block_person(person=friend, peer=owner)

    answers = [
        owner_api.post(f"{API}/conversations", {"person": str(peer)}, format="json")
        for peer in (friend.pk, uuid.uuid4(), owner.pk)
    ]

    assert {answer.status_code for answer in answers} == {403}
    assert len({answer.content.replace(answer.json()["request_id"].encode(), b"") for answer in answers}) == 1


def test_blocking_is_listed_and_undone(owner_api: APIClient, friend: User) -> None:
    here = f"{API}/blocks/{friend.pk}"

    assert owner_api.put(here).status_code == 204
    assert [row["id"] for row in owner_api.get(f"{API}/blocks").json()["results"]] == [str(friend.pk)]
    assert owner_api.put(f"{API}/blocks/{uuid.uuid4()}").status_code == 204
    assert owner_api.delete(here).status_code == 204
    assert owner_api.get(f"{API}/blocks").json()["results"] == []


def test_people_are_found_by_name_or_whole_address_and_addresses_are_not_given_away(
    owner_api: APIClient, friend: User, stranger: User
) -> None:
    assert owner_api.get(f"{API}/people", {"q": "frank"}).json()["results"] == [
        {"id": str(friend.pk), "name": "Frank Friend", "email": ""}
    ]
    assert owner_api.get(f"{API}/people", {"q": "stranger@example.com"}).json()["results"][0]["id"] == str(stranger.pk)
    assert owner_api.get(f"{API}/people", {"q": "stranger@"}).json()["results"] == []


def test_a_report(friend_api: APIClient, say: Say) -> None:
    answer = friend_api.post(f"{API}/messages/{say().message.id}/report", {"reason": "Rude"}, format="json")

    assert answer.status_code == 201


def test_the_wrong_verb_is_405(owner_api: APIClient, conversation: Conversation) -> None:
    assert owner_api.delete(f"{API}/conversations/{conversation.pk}").status_code == 405


def test_the_list_takes_the_same_number_of_queries_for_one_and_for_five(
    owner_api: APIClient,
    owner: User,
    friend: User,
    stranger: User,
    make_person: Any,
    django_assert_max_num_queries: Any,
) -> None:
    for peer in (friend, stranger, make_person("a@example.com"), make_person("b@example.com")):
        services.start_conversation(person=owner, peer=peer)

    with django_assert_max_num_queries(12):
        assert len(owner_api.get(f"{API}/conversations").json()["results"]) == 4
    assert Member.objects.count() == 8
