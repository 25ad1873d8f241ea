from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import ApiKey, User
from accounts.services import revoke_api_key

pytestmark = pytest.mark.django_db
MakeKey = Callable[..., tuple[ApiKey, str]]


def test_the_newest_key_comes_first_and_no_key_is_shown(owner: User, owner_browser: Client, make_key: MakeKey) -> None:
    first, _ = make_key(owner, "api")
    second, plaintext = make_key(owner)

    response = owner_browser.get("/api/v1/keys")

    assert [row["id"] for row in response.json()["results"]] == [str(second.pk), str(first.pk)]
    assert response.json()["results"][0] | {"created_at": None} == {
        "id": str(second.pk),
        "name": "Laptop",
        "prefix": plaintext[:12],
        "scopes": ["api", "inference"],
        "created_at": None,
        "last_used_at": None,
    }
    assert plaintext not in response.text
    assert bytes(second.digest).hex() not in response.text


def test_pages_are_followed_by_their_next(owner: User, owner_browser: Client, make_key: MakeKey) -> None:
    made = [str(make_key(owner)[0].pk) for _ in range(5)]

    seen: list[str] = []
    url: str | None = "/api/v1/keys?limit=2"
    while url:
        page = owner_browser.get(url).json()
        seen += [row["id"] for row in page["results"]]
        url = page["next"]

    assert seen == made[::-1]


def test_revoked_keys_are_gone(owner: User, owner_browser: Client, make_key: MakeKey) -> None:
    key, _ = make_key(owner)
    revoke_api_key(key=key)

    assert owner_browser.get("/api/v1/keys").json() == {"results": [], "next": None}


def test_a_stranger_sees_none_of_them(owner: User, stranger_browser: Client, make_key: MakeKey) -> None:
    make_key(owner)

    assert stranger_browser.get("/api/v1/keys").json()["results"] == []


def test_a_key_may_read_the_list(owner: User, owner_api: APIClient) -> None:
    assert len(owner_api.get("/api/v1/keys").json()["results"]) == 1


def test_nobody_is_refused(anonymous_api: APIClient) -> None:
    assert anonymous_api.get("/api/v1/keys").status_code == 401


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("cursor=abc", "cursor"),
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=-1", "limit"),
        ("limit=²", "limit"),
    ],
)
def test_a_bad_page_is_named(owner_browser: Client, query: str, field: str) -> None:
    response = owner_browser.get(f"/api/v1/keys?{query}")

    assert response.status_code == 400
    assert response.json()["error"]["field"] == field


def test_a_cursor_of_no_row_is_only_a_place(owner: User, owner_browser: Client, make_key: MakeKey) -> None:
    make_key(owner)

    assert owner_browser.get(f"/api/v1/keys?cursor={uuid.UUID(int=0)}").json()["results"] == []


def test_the_list_cannot_be_replaced(owner_browser: Client) -> None:
    assert owner_browser.put("/api/v1/keys", {}, content_type="application/json").status_code == 405
