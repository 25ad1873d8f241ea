from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from accounts.models import User
from accounts.services import deactivate_account
from tests.people import PASSWORD

pytestmark = pytest.mark.django_db


def sign_in(email: str, password: str, browser: Client | None = None, **headers: str) -> Any:
    browser = browser or Client()
    return browser.post("/accounts/login/", {"login": email, "password": password}, headers=headers)


def signed_in(response: Any) -> bool:
    return bool(response.client.get("/api/v1/me").status_code == 200)


def test_the_address_and_the_password_open_the_door(owner: User) -> None:
    assert signed_in(sign_in("owner@example.com", PASSWORD))


def test_the_address_is_read_in_any_case(owner: User) -> None:
    assert signed_in(sign_in("OWNER@Example.com", PASSWORD))


def test_the_session_gets_a_new_id_at_the_door(owner: User) -> None:
    browser = Client()
    browser.session.save()
    browser.cookies["sessionid"] = planted = browser.session.session_key or ""

    sign_in("owner@example.com", PASSWORD, browser)

    assert browser.cookies["sessionid"].value != planted


def test_a_wrong_password_and_an_unknown_address_read_the_same(owner: User) -> None:
    wrong = sign_in("owner@example.com", "wrong password 1")
    unknown = sign_in("nobody@example.com", "wrong password 1")

    assert not signed_in(wrong)
    assert not signed_in(unknown)
    assert wrong.context["form"].errors == unknown.context["form"].errors


def test_a_switched_off_account_stays_outside(owner: User) -> None:
    deactivate_account(account=owner)

    assert not signed_in(sign_in("owner@example.com", PASSWORD))


def test_a_door_leads_nowhere_else(owner: User) -> None:
    response = Client().post(
        "/accounts/login/?next=https://evil.example/", {"login": "owner@example.com", "password": PASSWORD}
    )

    assert response["Location"] == "/"


def test_five_wrong_passwords_close_the_account_to_guessing(owner: User) -> None:
    for guess in range(5):
        sign_in("owner@example.com", f"wrong password {guess}")

    response = sign_in("owner@example.com", PASSWORD)

    assert response.status_code == 429
    assert "Too many" in response.text
    assert not signed_in(response)


def test_a_script_is_told_in_json(owner: User) -> None:
    for guess in range(5):
        sign_in("owner@example.com", f"wrong password {guess}")

    response = sign_in("owner@example.com", PASSWORD, Accept="application/json")

    assert response.status_code == 429
    assert response.json()["error"]["code"] == "rate_limited"


def test_other_people_still_get_in_meanwhile(owner: User, friend: User) -> None:
    for guess in range(5):
        sign_in("owner@example.com", f"wrong password {guess}")

    assert signed_in(sign_in("friend@example.com", PASSWORD))


def test_one_address_cannot_try_many_accounts(owner: User, settings: Settings) -> None:
    settings.ACCOUNT_RATE_LIMITS = settings.ACCOUNT_RATE_LIMITS | {"login": "3/m/ip"}
    for number in range(3):
        sign_in(f"person{number}@example.com", "wrong password 1")

    response = sign_in("owner@example.com", PASSWORD)

    assert response.status_code == 429
    assert response["Retry-After"] == "300"
    assert "Too many" in response.text
    assert response["X-Request-ID"] in response.text


def test_without_a_proxy_a_made_up_address_changes_nothing(owner: User, settings: Settings) -> None:
    settings.ACCOUNT_RATE_LIMITS = settings.ACCOUNT_RATE_LIMITS | {"login": "3/m/ip"}
    statuses = [
        sign_in("nobody@example.com", "wrong", X_Forwarded_For=f"198.51.100.{number}").status_code
        for number in range(4)
    ]

    assert statuses == [200, 200, 200, 429]


def test_behind_a_proxy_each_address_counts_by_itself_and_the_left_end_is_not_believed(
    owner: User, settings: Settings
) -> None:
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1
    settings.ACCOUNT_RATE_LIMITS = settings.ACCOUNT_RATE_LIMITS | {"login": "1/m/ip"}
    first = sign_in("nobody@example.com", "wrong", X_Forwarded_For="198.51.100.1")
    second = sign_in("nobody@example.com", "wrong", X_Forwarded_For="198.51.100.2")
    forged = sign_in("nobody@example.com", "wrong", X_Forwarded_For="203.0.113.9, 198.51.100.2")

    assert [first.status_code, second.status_code, forged.status_code] == [200, 200, 429]


def test_leaving_takes_a_post(owner_browser: Client) -> None:
    owner_browser.get("/accounts/logout/")
    assert owner_browser.get("/api/v1/me").status_code == 200

    owner_browser.post("/accounts/logout/")
    assert owner_browser.get("/api/v1/me").status_code == 401


def test_a_foreign_page_cannot_sign_anybody_in(owner: User) -> None:
    response = sign_in("owner@example.com", PASSWORD, Client(enforce_csrf_checks=True))

    assert response.status_code == 403
