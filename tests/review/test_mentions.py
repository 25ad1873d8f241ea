"""Mentions: only of people who may see the prompt, who are told of it; and what others are told."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from playground.models import Prompt, Version
from review.models import Mention
from sharing.models import Grant, Notification
from sharing.services import revoke_grant

pytestmark = pytest.mark.django_db
Share = Callable[[User, str], None]


@pytest.fixture
def url(prompt: Prompt, version: Version) -> str:
    return f"/api/v1/prompts/{prompt.pk}/versions/{version.number}/threads"


def comment(api: APIClient, url: str, *people: Any, body: str = "Look, @Frank Friend.") -> Any:
    return api.post(url, {"body": body, "mentions": [str(getattr(each, "pk", each)) for each in people]}, format="json")


def told(person: User) -> list[str]:
    about = Notification.objects.filter(account=person, kind__in=["mention", "reply", "comment"])
    return list(about.order_by("pk").values_list("kind", flat=True))


def test_who_may_see_the_prompt_can_be_mentioned_and_is_told(
    owner_api: APIClient, friend: User, share: Share, url: str
) -> None:
    share(friend, "viewer")
    made = comment(owner_api, url, friend).json()
    assert made["comments"][0]["mentions"] == [{"id": str(friend.pk), "name": "Frank Friend"}]
    assert told(friend) == ["mention"]
    assert str(Notification.objects.get(kind="mention").subject) == made["id"]


def test_who_may_not_see_it_is_refused_like_one_who_does_not_exist(
    owner_api: APIClient, stranger: User, url: str
) -> None:
    foreign, absent = comment(owner_api, url, stranger), comment(owner_api, url, uuid.uuid4())
    assert foreign.status_code == absent.status_code == 400
    assert foreign.json()["error"] == absent.json()["error"]
    assert foreign.json()["error"]["field"] == "mentions"
    assert told(stranger) == []


def test_who_lost_access_can_no_longer_be_mentioned_or_told(
    owner: User, owner_api: APIClient, friend: User, friend_api: APIClient, share: Share, url: str
) -> None:
    share(friend, "commenter")
    thread = comment(friend_api, url, body="Mine").json()["id"]
    revoke_grant(person=owner, grant=Grant.objects.get(account=friend))
    assert comment(owner_api, url, friend).status_code == 400
    owner_api.post(f"/api/v1/threads/{thread}/comments", {"body": "Reply"}, format="json")
    assert told(friend) == []


def test_the_owner_is_told_of_comments_and_those_in_a_thread_of_replies(
    owner: User, owner_api: APIClient, friend: User, friend_api: APIClient, share: Share, url: str
) -> None:
    share(friend, "commenter")
    thread = comment(friend_api, url, body="Mine").json()["id"]
    assert told(owner) == ["comment"]
    owner_api.post(f"/api/v1/threads/{thread}/comments", {"body": "Reply"}, format="json")
    friend_api.post(f"/api/v1/threads/{thread}/comments", {"body": "Again"}, format="json")
    assert told(friend) == ["reply"]
    assert told(owner) == ["comment", "reply"]


def test_nobody_is_told_of_their_own_words(owner: User, owner_api: APIClient, url: str) -> None:
    comment(owner_api, url, owner)
    assert told(owner) == []


def test_an_edit_tells_only_whom_it_names_for_the_first_time(
    owner_api: APIClient, friend: User, stranger: User, share: Share, url: str
) -> None:
    share(friend, "viewer")
    share(stranger, "viewer")
    first = comment(owner_api, url, friend).json()["comments"][0]["id"]
    body = {"body": "Look, both.", "mentions": [str(friend.pk), str(stranger.pk)]}
    assert owner_api.patch(f"/api/v1/comments/{first}", body, format="json").status_code == 200
    assert (told(friend), told(stranger)) == (["mention"], ["mention"])
    owner_api.patch(f"/api/v1/comments/{first}", {"body": "Nobody.", "mentions": []}, format="json")
    assert Mention.objects.count() == 0


def test_a_comment_mentions_only_so_many(owner_api: APIClient, url: str) -> None:
    assert comment(owner_api, url, *(uuid.uuid4() for _ in range(21))).status_code == 400


def test_people_are_found_by_name_among_those_who_see_the_prompt_without_their_addresses(
    owner_api: APIClient, friend: User, friend_api: APIClient, stranger_api: APIClient, share: Share, prompt: Prompt
) -> None:
    share(friend, "commenter")
    address = f"/api/v1/prompts/{prompt.pk}/people"
    assert [each["name"] for each in friend_api.get(address).json()["results"]] == ["Olive Owner"]
    assert [each["name"] for each in owner_api.get(address, {"q": "fra"}).json()["results"]] == ["Frank Friend"]
    assert "@" not in friend_api.get(address).content.decode()
    assert stranger_api.get(address).status_code == 404
    share(friend, "viewer")
    assert friend_api.get(address).status_code == 403
