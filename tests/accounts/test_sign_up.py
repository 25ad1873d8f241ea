from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from accounts.models import Tier, User
from accounts.services import create_account
from core.errors import Conflict, InvalidInput
from tests.people import PASSWORD

pytestmark = pytest.mark.django_db


def sign_up(email: str, password: str = PASSWORD, again: str | None = None, **extra: str) -> Any:
    body = {"email": email, "password1": password, "password2": again or password, **extra}
    return Client().post("/accounts/signup/", body)


def test_a_newcomer_is_signed_in() -> None:
    response = sign_up("new@example.com")

    assert (response.status_code, response["Location"]) == (302, "/")
    assert response.client.get("/api/v1/me").json()["email"] == "new@example.com"


def test_everybody_starts_free_whatever_the_form_says() -> None:
    sign_up("new@example.com", tier="internal", is_superuser="1", is_staff="1")

    account = User.objects.get()
    assert (account.tier, account.is_superuser, account.is_staff) == (Tier.FREE, False, False)


def test_an_address_is_kept_in_lower_case() -> None:
    sign_up("New.Person@Example.COM")

    assert User.objects.get().email == "new.person@example.com"


def test_a_twin_that_differs_in_case_is_refused(owner: User) -> None:
    response = sign_up("OWNER@example.com")

    assert response.status_code == 200
    assert User.objects.count() == 1


def test_the_database_itself_refuses_a_twin(owner: User) -> None:
    for email in ("owner@example.com", "Owner@example.com"):
        with pytest.raises(IntegrityError), transaction.atomic():
            User.objects.bulk_create([User(email=email)])


@pytest.mark.parametrize(
    ("email", "password", "again"),
    [
        ("not-an-address", PASSWORD, PASSWORD),
        ("", PASSWORD, PASSWORD),
        ("new@example.com", "short", "short"),
        ("new@example.com", "password1234", "password1234"),
        ("new@example.com", "new@example.com", "new@example.com"),
        ("new@example.com", PASSWORD, "something else 9"),
        ("a\x00b@example.com", PASSWORD, PASSWORD),
        (f"{'a' * 250}@example.com", PASSWORD, PASSWORD),
    ],
    ids=["no address", "empty", "short", "common", "the address", "differs", "nul", "long"],
)
def test_bad_input_makes_no_account(email: str, password: str, again: str) -> None:
    response = sign_up(email, password, again)

    assert response.status_code == 200
    assert not User.objects.exists()


def test_a_foreign_page_cannot_sign_anybody_up() -> None:
    browser = Client(enforce_csrf_checks=True)

    response = browser.post(
        "/accounts/signup/", {"email": "new@example.com", "password1": PASSWORD, "password2": PASSWORD}
    )

    assert response.status_code == 403
    assert not User.objects.exists()


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"email": "nobody"}, "email"),
        ({"password": "short"}, "password"),
        ({"tier": "gold"}, "tier"),
    ],
)
def test_an_operator_is_told_what_is_wrong(fields: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        create_account(**{"email": "new@example.com", "password": PASSWORD, **fields})

    assert refused.value.field == field


def test_an_operator_cannot_make_a_twin(owner: User) -> None:
    with pytest.raises(Conflict):
        create_account(email=" Owner@Example.com ", password=PASSWORD)
