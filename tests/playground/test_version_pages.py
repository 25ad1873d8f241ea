"""The pages that compare and merge: what they know of both sides, and who may see them."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from playground import services
from playground.models import Prompt
from playground.services import SavedVersion

pytestmark = pytest.mark.django_db
Save = Callable[..., SavedVersion]


@pytest.fixture
def url(prompt: Prompt, save: Save) -> str:
    """1 and 2 on main, 3 on `idea`."""
    first = save("one").version
    save("two", parent=first)
    save("three", parent=first, branch="idea")
    return f"/prompts/{prompt.pk}"


def numbers(browser: Client, address: str, **query: Any) -> list[int | None]:
    answer = browser.get(address, query)
    assert answer.status_code == 200
    return [side.number for side in answer.context["sides"]]


def test_comparing_begins_with_the_last_change_of_main(owner_browser: Client, url: str) -> None:
    assert numbers(owner_browser, f"{url}/compare/") == [1, 2]
    assert numbers(owner_browser, f"{url}/compare/", to="idea") == [1, 3]


def test_a_side_is_a_number_a_label_a_branch_or_latest(
    owner_browser: Client, url: str, owner: User, prompt: Prompt, save: Save
) -> None:
    services.move_label(actor=owner, prompt=prompt, name="production", to=save("four").version)
    assert numbers(owner_browser, f"{url}/compare/", **{"from": "production", "to": "latest"}) == [4, 4]
    assert numbers(owner_browser, f"{url}/compare/", **{"from": "1", "to": "idea"}) == [1, 3]


@pytest.mark.parametrize("asked", ["99", "<script>alert(1)</script>", "a/b", "..", "9" * 40])
def test_what_is_no_version_is_said_where_it_was_asked_for(owner_browser: Client, url: str, asked: str) -> None:
    answer = owner_browser.get(f"{url}/compare/", {"from": "1", "to": asked})
    assert answer.status_code == 200
    assert "This prompt has no version, label or branch" in answer.text
    assert "<script>alert" not in answer.text
    assert answer.context["page"]["to"] is None


def test_a_merge_goes_to_the_branch_that_ends_there(owner_browser: Client, url: str) -> None:
    page = owner_browser.get(f"{url}/merge/", {"ours": "3", "theirs": "main"}).context["page"]
    assert page["branch"] == "idea"
    assert page["ours"] == {"number": 3, "name": "idea"}
    assert page["theirs"] == {"number": 2, "name": "main"}
    older = owner_browser.get(f"{url}/merge/", {"ours": "1", "theirs": "idea"}).context["page"]
    assert (older["branch"], older["ours"]["name"]) == ("main", "version 1")


def test_without_a_version_to_merge_in_the_page_asks_for_one(owner_browser: Client, url: str) -> None:
    answer = owner_browser.get(f"{url}/merge/")
    assert not answer.context["ready"]
    assert "Choose a version." in answer.text


def test_a_prompt_without_versions_has_nothing_to_compare(owner_browser: Client, prompt: Prompt) -> None:
    assert numbers(owner_browser, f"/prompts/{prompt.pk}/compare/") == [None, None]


@pytest.mark.parametrize("name", ["compare", "merge"])
def test_a_stranger_cannot_tell_a_prompt_from_none(
    stranger_browser: Client, url: str, prompt: Prompt, name: str
) -> None:
    assert stranger_browser.get(f"{url}/{name}/").status_code == 404
    assert stranger_browser.get(f"/prompts/{uuid.uuid4()}/{name}/").status_code == 404
    assert Client().get(f"{url}/{name}/")["Location"] == f"/accounts/login/?next={url}/{name}/"


def test_the_number_of_questions_does_not_grow(
    owner_browser: Client, url: str, save: Save, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(12):
        save(str(number), branch=f"branch-{number}")
    with django_assert_max_num_queries(16):
        owner_browser.get(f"{url}/compare/", {"from": "1", "to": "main"})
