from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from accounts import services
from accounts.models import ApiKey, User
from accounts.services import create_api_key
from core.errors import NotAllowed
from tests.people import SIGN_IN_BACKEND

pytestmark = pytest.mark.django_db


def create(browser: Client, body: object, **headers: str) -> Any:
    return browser.post("/api/v1/keys", body, content_type="application/json", headers=headers)


def test_a_new_key_is_shown_once_and_works(owner_browser: Client, anonymous_api: APIClient) -> None:
    response = create(owner_browser, {"name": "Laptop", "scopes": ["api"]})

    assert response.status_code == 201
    made = response.json()
    assert re.fullmatch(r"ppk_[A-Za-z0-9_-]{43}", made["key"])
    assert made["prefix"] == made["key"][:12]
    assert made["scopes"] == ["api"]
    assert made["replayed"] is False
    anonymous_api.credentials(HTTP_AUTHORIZATION=f"Bearer {made['key']}")
    assert anonymous_api.get("/api/v1/me").status_code == 200


def test_only_the_hash_of_a_key_is_kept(owner_browser: Client) -> None:
    plaintext = create(owner_browser, {"name": "Laptop"}).json()["key"]

    key = ApiKey.objects.get()
    assert bytes(key.digest) == hashlib.sha256(plaintext.encode()).digest()
    assert plaintext not in str([getattr(key, field.name) for field in ApiKey._meta.concrete_fields])


def test_both_scopes_are_given_when_none_is_named(owner_browser: Client) -> None:
    assert create(owner_browser, {"name": "Laptop"}).json()["scopes"] == ["api", "inference"]


def test_a_repeat_makes_no_second_key_and_never_shows_the_first_again(owner_browser: Client) -> None:
    first = create(owner_browser, {"name": "Laptop"}, idempotency_key="once").json()

    response = create(owner_browser, {"name": "Laptop"}, idempotency_key="once")

    assert response.status_code == 200
    assert "key" not in response.json()
    assert response.json()["replayed"] is True
    assert response.json()["id"] == first["id"]
    assert ApiKey.objects.count() == 1


def test_an_idempotency_key_stands_for_one_request(owner_browser: Client) -> None:
    create(owner_browser, {"name": "Laptop", "scopes": ["api"]}, idempotency_key="once")

    response = create(owner_browser, {"name": "Laptop", "scopes": ["inference"]}, idempotency_key="once")

    assert response.status_code == 409
    assert response.json()["error"]["code"] == "idempotency_key_reused"


def test_a_stranger_with_the_same_idempotency_key_makes_his_own(
    owner_browser: Client, stranger_browser: Client
) -> None:
    mine = create(owner_browser, {"name": "Laptop"}, idempotency_key="once").json()
    his = create(stranger_browser, {"name": "Laptop"}, idempotency_key="once")

    assert his.status_code == 201
    assert his.json()["id"] != mine["id"]


def test_a_key_made_with_a_key_ends_with_it(owner_api: APIClient) -> None:
    """Revoking a leaked key must end all that came of it."""
    child = owner_api.post("/api/v1/keys", {"name": "Child"}, format="json")
    assert child.status_code == 201
    holder = APIClient()
    holder.credentials(HTTP_AUTHORIZATION=f"Bearer {child.json()['key']}")
    grandchild = holder.post("/api/v1/keys", {"name": "Grandchild"}, format="json")
    assert grandchild.status_code == 201
    services.revoke_api_key(key=ApiKey.objects.get(made_with=None))
    assert holder.get("/api/v1/me").status_code == 401
    assert not ApiKey.objects.usable().exists()


def test_a_key_cannot_make_one_that_may_do_more(owner: User, make_key: Callable[..., tuple[ApiKey, str]]) -> None:
    _, plaintext = make_key(owner, "api")
    holder = APIClient()
    holder.credentials(HTTP_AUTHORIZATION=f"Bearer {plaintext}")
    answer = holder.post("/api/v1/keys", {"name": "More", "scopes": ["api", "inference"]}, format="json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "scope_missing")
    assert holder.post("/api/v1/keys", {"name": "Same"}, format="json").json()["scopes"] == ["api"]


def test_a_foreign_page_cannot_make_one(owner: User) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(owner, backend=SIGN_IN_BACKEND)

    response = create(browser, {"name": "Laptop"})

    assert response.status_code == 403
    assert response.json()["error"]["code"] == "csrf_failed"
    assert not ApiKey.objects.exists()


def test_the_own_page_can_with_its_token(owner: User) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(owner, backend=SIGN_IN_BACKEND)
    browser.get("/account/keys/")
    token = browser.cookies["csrftoken"].value

    assert create(browser, {"name": "Laptop"}, X_CSRFToken=token).status_code == 201


def test_nobody_is_refused(anonymous_api: APIClient) -> None:
    assert anonymous_api.post("/api/v1/keys", {"name": "Laptop"}, format="json").status_code == 401


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": ""}, "name"),
        ({"name": "  "}, "name"),
        ({"name": "n" * 101}, "name"),
        ({"name": "a\x00b"}, "name"),
        ({"name": "two\nlines"}, "name"),
        ({"name": ["list"]}, "name"),
        ({"name": "Laptop", "scopes": []}, "scopes"),
        ({"name": "Laptop", "scopes": "api"}, "scopes"),
        ({"name": "Laptop", "scopes": ["root"]}, "scopes.0"),
        ({"name": "Laptop", "scope": ["api"]}, "scope"),
    ],
)
def test_bad_input_is_named_and_makes_nothing(owner_browser: Client, body: object, field: str) -> None:
    response = create(owner_browser, body)

    assert response.status_code == 400
    assert response.json()["error"]["field"] == field
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize("body", ["[]", '"name"', "null", "{", '{"name": "\\ud83d"}', b"\xff"])
def test_what_is_no_object_is_refused(owner_browser: Client, body: str | bytes) -> None:
    assert create(owner_browser, body).status_code == 400


def test_a_form_is_no_json(owner_browser: Client) -> None:
    assert owner_browser.post("/api/v1/keys", {"name": "Laptop"}).status_code == 415


def test_an_account_cannot_collect_keys_without_end(
    owner: User, owner_browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "MAX_KEYS", 2)
    create(owner_browser, {"name": "1"})
    create(owner_browser, {"name": "2"})

    response = create(owner_browser, {"name": "3"})

    assert response.status_code == 422
    assert response.json()["error"]["code"] == "too_many_keys"


def test_a_switched_off_account_gets_none(owner: User) -> None:
    User.objects.filter(pk=owner.pk).update(is_active=False)

    with pytest.raises(NotAllowed):
        create_api_key(account=owner, name="Laptop", scopes=["api"])
