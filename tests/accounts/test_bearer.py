"""What a key opens, and each way it must not."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connections, transaction
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import ApiKey, User
from accounts.services import deactivate_account

pytestmark = pytest.mark.django_db
MakeKey = Callable[..., tuple[ApiKey, str]]


def me(authorization: str) -> int:
    return APIClient().get("/api/v1/me", headers={"Authorization": authorization}).status_code


def test_the_scheme_is_read_in_any_case(owner: User, make_key: MakeKey) -> None:
    _, plaintext = make_key(owner)

    assert me(f"bearer {plaintext}") == 200


def test_the_key_of_a_switched_off_account_is_refused(owner: User, make_key: MakeKey) -> None:
    _, plaintext = make_key(owner)
    deactivate_account(account=owner)

    assert me(f"Bearer {plaintext}") == 401


def test_a_key_for_models_alone_does_not_open_the_rest_api(owner: User, make_key: MakeKey) -> None:
    _, plaintext = make_key(owner, "inference")

    response = APIClient().get("/api/v1/me", headers={"Authorization": f"Bearer {plaintext}"})

    assert response.status_code == 403
    assert response.json()["error"]["code"] == "scope_missing"


@pytest.mark.parametrize(
    "credential",
    ["", " ", "ppk_wrong", "ppk_" + "A" * 43, "two words", "ppk_é", "k" * 100_000, "\x00"],
    ids=["empty", "blank", "short", "unknown", "words", "non-ascii", "huge", "nul"],
)
def test_what_is_no_key_is_refused_and_told_how(credential: str) -> None:
    response = APIClient().get("/api/v1/me", headers={"Authorization": f"Bearer {credential}"})

    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "Bearer"


def test_the_digest_is_not_the_key(owner: User, make_key: MakeKey) -> None:
    key, plaintext = make_key(owner)

    assert me(f"Bearer {bytes(key.digest).hex()}") == 401
    assert me(f"Bearer {key.prefix}") == 401
    assert me(f"Bearer {plaintext.upper()}") == 401


def test_a_wrong_key_is_not_rescued_by_a_session(owner_browser: Client) -> None:
    response = owner_browser.get("/api/v1/me", headers={"Authorization": "Bearer ppk_wrong"})

    assert response.status_code == 401


def test_a_foreign_scheme_is_not_ours_to_judge(owner_browser: Client) -> None:
    basic = {"Authorization": "Basic b3duZXI6b3duZXI="}

    assert owner_browser.get("/api/v1/me", headers=basic).status_code == 200
    assert Client().get("/api/v1/me", headers=basic).status_code == 401


def test_a_key_does_not_open_pages(owner: User, make_key: MakeKey) -> None:
    _, plaintext = make_key(owner)

    assert Client().get("/account/", headers={"Authorization": f"Bearer {plaintext}"}).status_code == 302


def test_the_session_of_a_switched_off_account_ends(owner: User, owner_browser: Client) -> None:
    deactivate_account(account=owner)

    assert owner_browser.get("/api/v1/me").status_code == 401


def test_use_is_noted_to_the_minute(owner: User, make_key: MakeKey) -> None:
    key, plaintext = make_key(owner)

    me(f"Bearer {plaintext}")
    key.refresh_from_db()
    first = key.last_used_at
    me(f"Bearer {plaintext}")
    key.refresh_from_db()

    assert first is not None
    assert key.last_used_at == first

    ApiKey.objects.update(last_used_at=timezone.now() - timedelta(seconds=61))
    me(f"Bearer {plaintext}")
    key.refresh_from_db()
    assert key.last_used_at is not None
    assert key.last_used_at > first


@pytest.mark.django_db(transaction=True)
def test_noting_the_use_does_not_wait_for_a_lock(owner: User, make_key: MakeKey) -> None:
    key, plaintext = make_key(owner)
    other = connections["default"].copy()
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("SELECT 1 FROM accounts_apikey WHERE id = %s FOR UPDATE", [key.pk])
        assert me(f"Bearer {plaintext}") == 200, "while the other connection holds the lock"
    finally:
        other.rollback()
        other.close()
    assert transaction.get_autocommit()
