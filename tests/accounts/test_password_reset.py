from __future__ import annotations

import re

import pytest
from django.core import mail
from django.test import Client

from accounts.models import User

pytestmark = pytest.mark.django_db
NEW_PASSWORD = "another horse battery 8"


def ask(email: str, **headers: str) -> tuple[int, str]:
    response = Client().post("/accounts/password/reset/", {"email": email}, headers=headers)
    return response.status_code, response.headers.get("Location", "")


def link() -> str:
    found = re.search(r"http://testserver(/accounts/password/reset/key/\S+)", str(mail.outbox[-1].body))
    assert found
    return found[1]


def choose(browser: Client, path: str) -> None:
    form = browser.get(path)["Location"]
    browser.post(form, {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD})


def test_the_link_in_the_mail_sets_a_new_password(owner: User) -> None:
    ask("owner@example.com")
    choose(Client(), link())

    owner.refresh_from_db()
    assert owner.check_password(NEW_PASSWORD)


def test_the_mail_goes_to_the_account_and_not_to_the_spelling_that_was_typed(owner: User) -> None:
    ask("OWNER@example.com")

    assert mail.outbox[-1].to == ["owner@example.com"]


def test_asking_does_not_tell_who_has_an_account(owner: User) -> None:
    assert ask("owner@example.com") == ask("nobody@example.com")
    assert [message.to for message in mail.outbox] == [["owner@example.com"], ["nobody@example.com"]]


def test_a_link_works_once(owner: User) -> None:
    ask("owner@example.com")
    path = link()
    choose(Client(), path)

    second = Client().get(path)

    assert second.status_code == 200
    assert "token_fail" in second.context


def test_a_made_up_link_changes_nothing(owner: User) -> None:
    response = Client().get("/accounts/password/reset/key/1-made-up/")

    assert response.status_code == 200
    assert response.context["token_fail"]


def test_sessions_end_when_the_password_changes(owner: User, owner_browser: Client) -> None:
    ask("owner@example.com")
    choose(Client(), link())

    assert owner_browser.get("/api/v1/me").status_code == 401


def test_a_forged_host_does_not_end_up_in_the_mail(owner: User) -> None:
    status, _ = ask("owner@example.com", Host="evil.example")

    assert status == 400
    assert mail.outbox == []


def test_mail_cannot_be_sent_without_end(owner: User) -> None:
    statuses = [ask("owner@example.com")[0] for _ in range(6)]

    assert statuses[-1] == 429
    assert len(mail.outbox) == 5
