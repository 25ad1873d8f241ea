"""The page of columns: which versions it begins with, what it knows of a comparison, and who may see it."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from accounts.models import User
from playground import services
from playground.models import Comparison, Prompt
from playground.services import SavedVersion
from playground.services.comparisons import Column

pytestmark = pytest.mark.django_db
Save = Callable[..., SavedVersion]


@pytest.fixture
def url(prompt: Prompt, save: Save) -> str:
    """1 and 2 on main, 3 on `idea`."""
    first = save("one").version
    save("two", parent=first)
    save("three", parent=first, branch="idea")
    return f"/prompts/{prompt.pk}/columns/"


@pytest.fixture
def made(owner: User, prompt: Prompt, save: Save) -> Comparison:
    version = save("Greet {{name}}.").version
    columns = [Column(version=version, model=None, parameters={"temperature": value}) for value in (0, 1)]
    return services.start_comparison(
        account=owner, prompt=prompt, columns=columns, values={"name": "</script>Ada"}, repetitions=20
    )


def numbers(browser: Client, address: str, versions: str = "") -> list[int]:
    answer = browser.get(address, {"versions": versions} if versions else {})
    assert answer.status_code == 200
    return [column["version"] for column in answer.context["page"]["columns"]]


def test_it_begins_with_the_last_change(owner_browser: Client, url: str) -> None:
    assert numbers(owner_browser, url) == [1, 2]
    assert numbers(owner_browser, url, "idea") == [1, 3]
    assert numbers(owner_browser, url, "1") == [1, 1], "the first version against itself"
    assert numbers(owner_browser, url, "3, latest,main,1,2") == [3, 3, 2, 1], "four columns at most"


def test_what_is_no_version_is_said_and_left_out(owner_browser: Client, url: str) -> None:
    answer = owner_browser.get(url, {"versions": "2,<b>x</b>,1"})
    assert [column["version"] for column in answer.context["page"]["columns"]] == [2, 1]
    assert "no version, label or branch “&lt;b&gt;x&lt;/b&gt;”" in answer.text


def test_a_prompt_without_versions_says_what_to_do(owner_browser: Client, prompt: Prompt) -> None:
    answer = owner_browser.get(f"/prompts/{prompt.pk}/columns/")
    assert "Save a version first" in answer.text
    assert answer.context["page"]["columns"] == []


def test_a_comparison_opens_as_it_was_run(owner_browser: Client, made: Comparison, prompt: Prompt) -> None:
    answer = owner_browser.get(f"/prompts/{prompt.pk}/columns/{made.pk}/")
    page = answer.context["page"]
    assert page["comparison"] == str(made.pk)
    assert page["columns"] == [{"version": 1, "model": None, "parameters": {"temperature": value}} for value in (0, 1)]
    assert (page["values"], page["repetitions"]) == ({"name": "</script>Ada"}, 20)
    assert "</script>Ada" not in answer.text


def test_it_is_found_under_its_own_prompt_by_its_own_maker(
    owner_browser: Client, friend_browser: Client, made: Comparison, owner: User, shared: Prompt
) -> None:
    other = services.create_prompt(owner=owner, name="Other")
    assert owner_browser.get(f"/prompts/{other.pk}/columns/{made.pk}/").status_code == 404
    assert owner_browser.get(f"/prompts/{shared.pk}/columns/{uuid.uuid4()}/").status_code == 404
    assert friend_browser.get(f"/prompts/{shared.pk}/columns/{made.pk}/").status_code == 404
    assert friend_browser.get(f"/prompts/{shared.pk}/columns/").status_code == 200


def test_forty_runs_are_told_in_few_queries(
    owner_api: APIClient, made: Comparison, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(6):
        told = owner_api.get(f"/api/v1/comparisons/{made.pk}").json()
    assert [len(column["runs"]) for column in told["columns"]] == [20, 20]


def test_the_names_of_variables_are_told_without_the_texts(owner_api: APIClient, made: Comparison) -> None:
    path = f"/api/v1/prompts/{made.prompt_id}/versions/1"
    told = owner_api.get(path, {"include": "variables"})
    assert told.json()["variables_used"] == ["name"]
    assert set(told.json()["spec"]["messages"][0]["content"]) == {"body", "bytes"}
    assert told.headers["ETag"] != owner_api.get(path).headers["ETag"]
    assert owner_api.get(path, {"include": "x"}).status_code == 400
