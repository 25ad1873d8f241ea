"""A thread: replies, edits, deletions, settling it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from accounts.models import User
from playground.models import Version
from review import services
from review.models import Comment, Thread
from tests.review.conftest import Shown, Start

pytestmark = pytest.mark.django_db
QUOTE = "Quote the invoice number in each answer."
Share = Callable[[User, str], None]


@pytest.fixture
def thread(start: Start, version: Version) -> dict[str, Any]:
    return start(version, QUOTE)


def reply(api: APIClient, thread: dict[str, Any], body: str = "Because.") -> Any:
    return api.post(f"/api/v1/threads/{thread['id']}/comments", {"body": body}, format="json")


def read(api: APIClient, thread: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = api.get(f"/api/v1/threads/{thread['id']}").json()
    return found


@pytest.mark.usefixtures("friend_comments")
def test_people_reply_in_turn(owner_api: APIClient, friend_api: APIClient, thread: dict[str, Any]) -> None:
    answer = reply(friend_api, thread)
    assert (answer.status_code, answer.json()["body"], answer.json()["mine"]) == (201, "Because.", True)
    assert answer.json()["created_at"].startswith("20")
    reply(owner_api, thread, "I see.")
    comments = read(owner_api, thread)["comments"]
    assert [(each["author"]["name"], each["body"], each["mine"]) for each in comments] == [
        ("Olive Owner", "Why?", True),
        ("Frank Friend", "Because.", False),
        ("Olive Owner", "I see.", True),
    ]


def test_a_list_shows_the_first_and_the_latest_and_says_how_many(
    owner_api: APIClient, thread: dict[str, Any], shown: Shown, version: Version
) -> None:
    for number in range(8):
        reply(owner_api, thread, str(number))
    row = shown(version)["results"][0]
    assert [each["body"] for each in row["comments"]] == ["Why?", "5", "6", "7"]
    assert row["comment_count"] == 9
    assert len(read(owner_api, thread)["comments"]) == 9


def test_the_same_key_makes_one_reply(owner_api: APIClient, thread: dict[str, Any]) -> None:
    url = f"/api/v1/threads/{thread['id']}/comments"
    ids = {owner_api.post(url, {"body": "Hm"}, format="json", HTTP_IDEMPOTENCY_KEY="r").json()["id"] for _ in range(3)}
    assert len(ids) == 1


def test_one_edits_ones_own_and_it_shows(owner_api: APIClient, thread: dict[str, Any]) -> None:
    first = thread["comments"][0]["id"]
    edited = owner_api.patch(f"/api/v1/comments/{first}", {"body": "Why so?"}, format="json").json()
    assert edited["body"] == "Why so?"
    assert edited["edited_at"] is not None
    assert read(owner_api, thread)["comments"][0]["edited_at"] is not None


def test_an_edit_that_changes_nothing_leaves_no_mark(owner_api: APIClient, thread: dict[str, Any]) -> None:
    first = thread["comments"][0]["id"]
    assert owner_api.patch(f"/api/v1/comments/{first}", {"body": "Why?"}, format="json").json()["edited_at"] is None


@pytest.mark.usefixtures("friend_comments")
def test_nobody_edits_what_another_said_not_even_the_owner(
    owner_api: APIClient, friend_api: APIClient, thread: dict[str, Any]
) -> None:
    theirs = reply(friend_api, thread).json()["id"]
    assert owner_api.patch(f"/api/v1/comments/{theirs}", {"body": "x"}, format="json").status_code == 403
    assert Comment.objects.get(pk=theirs).body == "Because."


@pytest.mark.usefixtures("friend_comments")
def test_the_owner_deletes_any_and_others_only_their_own(
    owner_api: APIClient, friend_api: APIClient, thread: dict[str, Any]
) -> None:
    first = thread["comments"][0]["id"]
    theirs = reply(friend_api, thread).json()["id"]
    assert friend_api.delete(f"/api/v1/comments/{first}").status_code == 403
    assert owner_api.delete(f"/api/v1/comments/{theirs}").status_code == 204
    assert owner_api.delete(f"/api/v1/comments/{theirs}").status_code == 404


def test_a_deleted_comment_keeps_its_place_and_nothing_else(owner_api: APIClient, thread: dict[str, Any]) -> None:
    reply(owner_api, thread)
    assert owner_api.delete(f"/api/v1/comments/{thread['comments'][0]['id']}").status_code == 204
    comments = read(owner_api, thread)["comments"]
    assert [(each["deleted"], each["body"]) for each in comments] == [(True, None), (False, "Because.")]


def test_a_thread_goes_with_its_last_comment(owner_api: APIClient, thread: dict[str, Any]) -> None:
    assert owner_api.delete(f"/api/v1/comments/{thread['comments'][0]['id']}").status_code == 204
    assert Thread.objects.count() == Comment.objects.count() == 0
    assert reply(owner_api, thread).status_code == 404


def test_a_viewer_changes_nothing(
    friend: User, friend_api: APIClient, thread: dict[str, Any], share: Share, owner_api: APIClient
) -> None:
    share(friend, "commenter")
    mine = reply(friend_api, thread).json()["id"]
    share(friend, "viewer")
    assert reply(friend_api, thread).status_code == 403
    for verb in ("patch", "delete"):
        assert getattr(friend_api, verb)(f"/api/v1/comments/{mine}", {"body": "x"}, format="json").status_code == 403
    for action in ("resolve", "reopen"):
        assert friend_api.post(f"/api/v1/threads/{thread['id']}/{action}").status_code == 403
    assert len(read(friend_api, thread)["comments"]) == 2


@pytest.mark.usefixtures("friend_comments")
def test_a_thread_is_settled_and_opened_again(
    owner_api: APIClient, friend_api: APIClient, thread: dict[str, Any], shown: Shown, version: Version
) -> None:
    done = friend_api.post(f"/api/v1/threads/{thread['id']}/resolve").json()
    assert (done["state"], done["resolved_by"]["name"]) == ("resolved", "Frank Friend")
    again = owner_api.post(f"/api/v1/threads/{thread['id']}/resolve").json()
    assert again["resolved_by"]["name"] == "Frank Friend"
    assert [len(shown(version, state=state)["results"]) for state in ("open", "resolved", "all")] == [0, 1, 1]
    assert owner_api.post(f"/api/v1/threads/{thread['id']}/reopen").json()["state"] == "open"
    assert owner_api.get(f"/api/v1/prompts/{thread['prompt']}/threads", {"state": "nonsense"}).status_code == 400


@pytest.mark.django_db(transaction=True)
def test_of_two_who_settle_at_once_one_is_named(owner: User, friend: User, start: Start, version: Version) -> None:
    thread = Thread.objects.get(pk=start(version, QUOTE)["id"])
    seen: list[Any] = []
    ready = threading.Barrier(2, timeout=20)

    def settle(person: User) -> None:
        ready.wait()
        seen.append(services.resolve_thread(person=person, thread=thread).resolved_by_id)
        connection.close()

    both = [threading.Thread(target=settle, args=(person,)) for person in (owner, friend)]
    for each in both:
        each.start()
    for each in both:
        each.join(30)
    assert len(seen) == 2
    assert len(set(seen)) == 1


def test_all_threads_of_a_prompt_are_listed_on_their_own_versions(
    owner_api: APIClient, start: Start, version: Version, save: Callable[..., Version]
) -> None:
    thread = start(version, QUOTE)
    later = save("Something else entirely.", parent=version)
    start(later, "else", text="Something else entirely.")
    rows = owner_api.get(f"/api/v1/prompts/{thread['prompt']}/threads").json()["results"]
    assert [(row["version"], row["placement"]["state"]) for row in rows] == [(2, "written"), (1, "written")]
