"""Comments on a passage of a version: who may write, who may read, what is refused."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from playground.models import Prompt, Version
from review.models import Comment, Thread
from tests.review.conftest import POLITE, Shown, Start, passage

pytestmark = pytest.mark.django_db
Share = Callable[[User, str], None]
QUOTE = "Quote the invoice number in each answer."


@pytest.fixture
def url(prompt: Prompt, version: Version) -> str:
    return f"/api/v1/prompts/{prompt.pk}/versions/{version.number}/threads"


def comment(api: APIClient, url: str, **fields: Any) -> Any:
    return api.post(url, {"body": "Why?", "passage": passage(POLITE, QUOTE), **fields}, format="json")


def test_a_comment_says_where_it_is_in_every_unit(owner_api: APIClient, url: str) -> None:
    made = comment(owner_api, url).json()
    place = made["placement"]
    assert (made["quote"], made["state"], made["version"]) == (QUOTE, "open", 1)
    assert (place["state"], place["text"], place["quote"]) == ("written", 0, QUOTE)
    at = POLITE.index(QUOTE)
    for unit in ("code_points", "utf16", "bytes"):
        assert place[unit] == {"start": at, "end": at + len(QUOTE)}
    assert [each["body"] for each in made["comments"]] == ["Why?"]
    assert made["comments"][0]["author"]["name"] == "Olive Owner"


def test_units_of_emoji_line_ends_and_marks_are_told_apart(
    owner_api: APIClient, prompt: Prompt, save: Callable[..., Version]
) -> None:
    text = "🙂 one\r\ncafe\u0301 שלום two"
    version = save(text)
    url = f"/api/v1/prompts/{prompt.pk}/versions/{version.number}/threads"
    at = text.encode("utf-16-le").index("שלום".encode("utf-16-le")) // 2
    given = {"text": 0, "start": at, "end": at + 4, "unit": "utf16", "quote": "שלום"}
    place = owner_api.post(url, {"body": "?", "passage": given}, format="json").json()["placement"]
    assert place["code_points"] == {"start": text.index("שלום"), "end": text.index("שלום") + 4}
    assert place["utf16"] == {"start": at, "end": at + 4}
    start = text.encode().index("שלום".encode())
    assert place["bytes"] == {"start": start, "end": start + 8}


def test_a_comment_may_be_about_the_whole_version(owner_api: APIClient, url: str) -> None:
    made = comment(owner_api, url, passage=None).json()
    assert (made["quote"], made["placement"]["state"]) == (None, "whole")


def test_a_commenter_writes_and_a_viewer_reads(
    owner_api: APIClient, friend_api: APIClient, friend: User, share: Share, url: str
) -> None:
    share(friend, "commenter")
    assert comment(friend_api, url).status_code == 201
    share(friend, "viewer")
    assert comment(friend_api, url).status_code == 403
    assert len(friend_api.get(url).json()["results"]) == 1
    assert len(owner_api.get(url).json()["results"]) == 1


def test_a_stranger_finds_nothing_and_nobody_is_asked_to_sign_in(
    owner_api: APIClient, stranger_api: APIClient, anonymous_api: APIClient, url: str
) -> None:
    thread = comment(owner_api, url).json()
    first = thread["comments"][0]["id"]
    calls: list[tuple[str, str]] = [
        ("get", url),
        ("post", url),
        ("get", f"/api/v1/threads/{thread['id']}"),
        ("post", f"/api/v1/threads/{thread['id']}/comments"),
        ("post", f"/api/v1/threads/{thread['id']}/resolve"),
        ("post", f"/api/v1/threads/{thread['id']}/reopen"),
        ("post", f"/api/v1/threads/{thread['id']}/place"),
        ("patch", f"/api/v1/comments/{first}"),
        ("delete", f"/api/v1/comments/{first}"),
    ]
    for verb, path in calls:
        refused = getattr(stranger_api, verb)(path, {"body": "x"}, format="json")
        absent = getattr(stranger_api, verb)(path.replace(path.split("/")[4], str(uuid.uuid4()), 1), format="json")
        assert refused.status_code == 404, (verb, path)
        assert refused.json()["error"] == absent.json()["error"]
        assert getattr(anonymous_api, verb)(path, {}, format="json").status_code == 401
    assert Comment.objects.count() == 1


def test_who_lost_access_sees_nothing_at_once(
    owner_api: APIClient, friend_api: APIClient, friend: User, owner: User, share: Share, url: str
) -> None:
    from sharing.models import Grant
    from sharing.services import revoke_grant

    share(friend, "commenter")
    thread = comment(friend_api, url).json()["id"]
    assert friend_api.get(f"/api/v1/threads/{thread}").status_code == 200
    revoke_grant(person=owner, grant=Grant.objects.get(account=friend))
    assert friend_api.get(f"/api/v1/threads/{thread}").status_code == 404
    assert friend_api.get(url).status_code == 404
    assert comment(friend_api, url).status_code == 404
    assert owner_api.get(f"/api/v1/threads/{thread}").status_code == 200


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"quote": "Something else."}, "quote_differs"),
        ({"start": 5}, "quote_differs"),
        ({"start": 5, "end": 5}, "invalid_input"),
        ({"end": 100_000}, "invalid_input"),
        ({"text": 7}, "invalid_input"),
        ({"unit": "lines"}, "invalid_input"),
        ({"start": -1}, "invalid_input"),
        ({"start": 16, "end": 17, "quote": " "}, "invalid_input"),
    ],
)
def test_a_passage_that_is_not_there_is_refused(
    owner_api: APIClient, url: str, changed: dict[str, Any], code: str
) -> None:
    answer = comment(owner_api, url, passage={**passage(POLITE, QUOTE), **changed})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)
    assert Thread.objects.count() == 0


@pytest.mark.parametrize("body", ["", "  \n ", "\u200b", "a\0b", "x" * 10_001])
def test_a_comment_says_something_and_not_too_much(owner_api: APIClient, url: str, body: str) -> None:
    assert comment(owner_api, url, body=body).status_code == 400
    assert Thread.objects.count() == 0


def test_beside_a_nul_there_can_be_a_comment_but_not_on_it(
    owner_api: APIClient, prompt: Prompt, save: Callable[..., Version]
) -> None:
    text = "before\0after"
    version = save(text)
    url = f"/api/v1/prompts/{prompt.pk}/versions/{version.number}/threads"
    assert comment(owner_api, url, passage=passage(text, "after")).status_code == 201
    assert comment(owner_api, url, passage=passage(text, "e\0a")).status_code == 400


def test_the_same_key_makes_one_thread(owner_api: APIClient, url: str) -> None:
    body = {"body": "Once", "passage": passage(POLITE, QUOTE)}
    ids = {owner_api.post(url, body, format="json", HTTP_IDEMPOTENCY_KEY="k1").json()["id"] for _ in range(3)}
    assert len(ids) == Thread.objects.count() == 1


def test_threads_are_paged_newest_first(owner_api: APIClient, url: str) -> None:
    for number in range(5):
        comment(owner_api, url, body=str(number))
    first = owner_api.get(url, {"limit": 3}).json()
    rest = owner_api.get(first["next"]).json()
    bodies = [row["comments"][0]["body"] for row in first["results"] + rest["results"]]
    assert bodies == ["4", "3", "2", "1", "0"]


def test_a_list_costs_the_same_queries_for_one_and_for_thirty(
    owner_api: APIClient, url: str, start: Start, version: Version, django_assert_max_num_queries: Any
) -> None:
    for _ in range(30):
        start(version, QUOTE)
    with django_assert_max_num_queries(16):
        assert len(owner_api.get(url).json()["results"]) == 30


def test_an_erased_prompt_takes_its_comments_along(
    owner: User, prompt: Prompt, version: Version, start: Start, friend: User
) -> None:
    import datetime as dt

    from django.utils import timezone

    from playground.services import library

    start(version, QUOTE)
    Prompt.objects.filter(pk=prompt.pk).update(trashed_at=timezone.now() - dt.timedelta(days=60))
    assert library.erase(prompt_id=prompt.pk, trashed_before=timezone.now())
    assert Thread.objects.count() == Comment.objects.count() == 0


def test_the_comments_of_a_prompt_in_the_trash_are_gone_for_everybody(
    owner_api: APIClient, prompt: Prompt, version: Version, start: Start, shown: Shown
) -> None:
    from django.utils import timezone

    thread = start(version, QUOTE)["id"]
    Prompt.objects.filter(pk=prompt.pk).update(trashed_at=timezone.now())
    assert owner_api.get(f"/api/v1/threads/{thread}").status_code == 404
    Prompt.objects.filter(pk=prompt.pk).update(trashed_at=None)
    assert len(shown(version)["results"]) == 1


def test_what_a_thread_is_about_cannot_be_changed_even_in_the_database(start: Start, version: Version) -> None:
    from django.db import IntegrityError, transaction

    start(version, QUOTE)
    with pytest.raises(IntegrityError, match="never changes"), transaction.atomic():
        Thread.objects.update(start=0)
    assert Thread.objects.get().start == POLITE.index(QUOTE)


def test_a_removed_account_leaves_its_comments_without_a_name(
    friend: User, friend_api: APIClient, share: Share, version: Version, start: Start, shown: Shown
) -> None:
    share(friend, "commenter")
    start(version, QUOTE, api=friend_api)
    friend.delete()
    thread = shown(version)["results"][0]
    assert thread["comments"][0]["author"] is None
    assert thread["comments"][0]["body"] == "Why?"
