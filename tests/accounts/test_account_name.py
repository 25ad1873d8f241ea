"""A person gives themselves a name: others see it, nothing of it is invisible, and it passes for no address."""

from __future__ import annotations

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import User
from accounts.names import MAX_LENGTH, clean_name
from core.errors import InvalidInput

FAMILY = "👨‍👩‍👧‍👦"


def test_others_see_the_name_in_place_of_the_address(owner_browser: Client, owner: User) -> None:
    answer = owner_browser.post("/account/name/", {"name": "  Ada   Lovelace "})
    assert answer.status_code == 302
    owner.refresh_from_db()
    assert owner.label == "Ada Lovelace"
    assert 'value="Ada Lovelace"' in owner_browser.get("/account/").text


def test_an_empty_name_takes_it_back(owner_browser: Client, owner: User) -> None:
    for name in ("Ada", " \u200b "):
        owner_browser.post("/account/name/", {"name": name})
    owner.refresh_from_db()
    assert owner.name == ""
    assert owner.label == owner.email.partition("@")[0]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("ad\u200bmin", "admin"),
        ("\u202eadmin", "admin"),
        ("ad\u200dmin", "admin"),
        ("ad\u3164min\u2800", "admin"),
        ("a\0d\nm", "ad m"),
        ("e\u0301", "\u00e9"),
        (f"Fam {FAMILY}", f"Fam {FAMILY}"),
        ("❤\ufe0f\u200d🔥", "❤\ufe0f\u200d🔥"),
        ("שרה כהן", "שרה כהן"),
    ],
)
def test_what_cannot_be_seen_is_not_kept(given: str, kept: str) -> None:
    assert clean_name(given) == kept


@pytest.mark.parametrize("name", ["x" * (MAX_LENGTH + 1), "boss@example.com", "boss\uff20example.com", "x" * 100_000])
def test_a_name_that_is_too_long_or_looks_like_an_address_is_refused_and_stays_in_the_field(
    name: str, owner_browser: Client, owner: User
) -> None:
    answer = owner_browser.post("/account/name/", {"name": name})
    assert answer.status_code == 400
    assert name in answer.text
    before = owner.name
    owner.refresh_from_db()
    assert owner.name == before


def test_a_name_in_the_page_is_text(owner_browser: Client) -> None:
    owner_browser.post("/account/name/", {"name": "<b>Ada</b>"})
    shown = owner_browser.get("/account/").text
    assert "&lt;b&gt;Ada&lt;/b&gt;" in shown
    assert "<b>Ada" not in shown


def test_nobody_else_and_no_other_verb(client: Client, owner_browser: Client) -> None:
    assert client.post("/account/name/", {"name": "Ada"}).status_code == 302
    assert owner_browser.get("/account/name/").status_code == 405


@given(st.text(max_size=200))
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    try:
        once = clean_name(text)
    except InvalidInput:
        return
    assert clean_name(once) == once
