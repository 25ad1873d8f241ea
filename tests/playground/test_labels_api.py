"""`.../labels`: programs follow them, so every move is checked and recorded."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from rest_framework.test import APIClient

from playground.models import Prompt
from playground.services import SavedVersion

pytestmark = pytest.mark.django_db
Save = Callable[..., SavedVersion]


@pytest.fixture
def url(prompt: Prompt, save: Save) -> str:
    for text in "abc":
        save(text=text)
    return f"/api/v1/prompts/{prompt.pk}/labels"


def put(api: APIClient, url: str, name: str = "production", **body: object) -> object:
    answer = api.put(f"{url}/{name}", body, format="json")
    return answer.json().get("version") if answer.status_code == 200 else answer.json()["error"]["code"]


def test_a_label_is_made_and_moved(owner_api: APIClient, url: str, prompt: Prompt) -> None:
    assert put(owner_api, url, version=1) == 1
    assert put(owner_api, url, version=3) == 3
    version = owner_api.get(f"/api/v1/prompts/{prompt.pk}/versions/production")
    assert (version.json()["number"], version["Cache-Control"]) == (3, "private, max-age=5")


def test_its_history_says_who_from_where_to_where(owner_api: APIClient, url: str) -> None:
    for number in (1, 3, 3):
        put(owner_api, url, version=number)
    rows = owner_api.get(f"{url}/production/history").json()["results"]
    assert [(row["from_version"], row["to_version"], row["actor"]) for row in rows] == [
        (1, 3, "Olive Owner"),
        (None, 1, "Olive Owner"),
    ]


def test_a_long_history_is_paged(owner_api: APIClient, url: str) -> None:
    for number in (1, 2, 3, 1):
        put(owner_api, url, version=number)
    first = owner_api.get(f"{url}/production/history", {"limit": 3}).json()
    rest = owner_api.get(first["next"]).json()
    assert [row["to_version"] for row in first["results"] + rest["results"]] == [1, 3, 2, 1]
    assert owner_api.get(f"{url}/production/history", {"cursor": "nonsense"}).status_code == 400


def test_a_move_that_expected_something_else_is_409(owner_api: APIClient, url: str) -> None:
    put(owner_api, url, version=1)
    assert put(owner_api, url, version=2, expected=1) == 2
    assert put(owner_api, url, version=3, expected=1) == "label_moved"
    assert put(owner_api, url, version=3, expected=None) == "label_moved"
    assert put(owner_api, url, name="new", version=3, expected=None) == 3


def test_a_removed_label_is_404_for_readers_and_keeps_its_history(
    owner_api: APIClient, url: str, prompt: Prompt
) -> None:
    put(owner_api, url, version=1)
    assert owner_api.delete(f"{url}/production").status_code == 204
    assert owner_api.delete(f"{url}/production").status_code == 404
    assert owner_api.get(f"/api/v1/prompts/{prompt.pk}/versions/production").status_code == 404
    assert owner_api.get(url).json()["results"] == []
    assert len(owner_api.get(f"{url}/production/history").json()["results"]) == 2


def test_a_blank_at_the_end_of_a_name_hides_nothing(owner_api: APIClient, url: str, prompt: Prompt) -> None:
    assert put(owner_api, url, name="abc%20", version=2) == 2
    assert [row["name"] for row in owner_api.get(url).json()["results"]] == ["abc"]
    for written in ("abc", "abc%20", "%20abc", "abc%C2%A0"):
        assert owner_api.get(f"/api/v1/prompts/{prompt.pk}/versions/{written}").json()["number"] == 2
        assert len(owner_api.get(f"{url}/{written}/history").json()["results"]) == 1
    assert owner_api.delete(f"{url}/abc%20").status_code == 204
    assert owner_api.get(f"/api/v1/prompts/{prompt.pk}/versions/abc").status_code == 404


@pytest.mark.parametrize("name", ["3", "latest", "١"])
def test_a_name_that_could_be_taken_for_a_version_is_refused(owner_api: APIClient, url: str, name: str) -> None:
    assert put(owner_api, url, name=name, version=1) == "invalid_input"


def test_a_number_always_means_the_version(owner_api: APIClient, url: str, prompt: Prompt) -> None:
    put(owner_api, url, name="v3", version=1)
    assert owner_api.get(f"/api/v1/prompts/{prompt.pk}/versions/3").json()["number"] == 3


def test_a_label_goes_before_a_branch_of_the_same_name(owner_api: APIClient, url: str, prompt: Prompt) -> None:
    put(owner_api, url, name="main", version=1)
    assert owner_api.get(f"/api/v1/prompts/{prompt.pk}/versions/main").json()["number"] == 1


def test_an_unknown_version_is_named(owner_api: APIClient, url: str) -> None:
    answer = owner_api.put(f"{url}/production", {"version": 9}, format="json")
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "version")


def test_label_history_cannot_be_changed_by_sql(owner_api: APIClient, url: str) -> None:
    put(owner_api, url, version=1)
    with pytest.raises(Exception, match="never deleted"), connection.cursor() as cursor:
        cursor.execute("DELETE FROM playground_labelmove")


def test_strangers_neither_see_nor_move(
    stranger_api: APIClient, anonymous_api: APIClient, owner_api: APIClient, url: str
) -> None:
    put(owner_api, url, version=1)
    assert stranger_api.put(f"{url}/production", {"version": 2}, format="json").status_code == 404
    assert stranger_api.get(url).status_code == 404
    assert stranger_api.get(f"{url}/production/history").status_code == 404
    assert anonymous_api.get(url).status_code == 401
