"""`.../branches`: start, move, undo, redo. A head somebody else moved is never overwritten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from playground.models import Branch, BranchMove, Prompt
from playground.services import SavedVersion

pytestmark = pytest.mark.django_db
Save = Callable[..., SavedVersion]


@pytest.fixture
def url(prompt: Prompt, save: Save) -> str:
    """Three versions on main."""
    for text in "abc":
        save(text=text)
    return f"/api/v1/prompts/{prompt.pk}/branches"


def head(prompt: Prompt, name: str = "main") -> int:
    return Branch.objects.get(prompt=prompt, name=name).head.number


def test_a_branch_starts_at_any_version(owner_api: APIClient, url: str, prompt: Prompt) -> None:
    answer = owner_api.post(url, {"name": "idea", "at": 1}, format="json")
    assert (answer.status_code, answer.json()) == (201, {"name": "idea", "head": 1})
    assert owner_api.post(url, {"name": "here"}, format="json").json()["head"] == 3
    names = [row["name"] for row in owner_api.get(url).json()["results"]]
    assert names == ["here", "idea", "main"]


def test_a_blank_at_the_end_of_a_name_hides_no_branch(owner_api: APIClient, url: str, prompt: Prompt) -> None:
    assert owner_api.post(url, {"name": "idea ", "at": 1}, format="json").json()["name"] == "idea"
    assert owner_api.get(f"/api/v1/prompts/{prompt.pk}/versions/idea%20").json()["number"] == 1
    assert owner_api.post(f"{url}/idea%20/move", {"to": 2, "expected": 1}, format="json").json()["head"] == 2


def test_a_name_is_taken_once(owner_api: APIClient, url: str) -> None:
    answer = owner_api.post(url, {"name": "main"}, format="json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "branch_exists")


@pytest.mark.parametrize("name", ["a/b", "..", ".", "5", "latest", "", "a?b", "a#b", "a%2Fb", "x" * 101, "a\nb", "a\0"])
def test_a_name_that_an_address_could_not_carry_is_refused(owner_api: APIClient, url: str, name: str) -> None:
    answer = owner_api.post(url, {"name": name}, format="json")
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "name")


def test_a_head_is_moved_from_the_expected_one_only(owner_api: APIClient, url: str, prompt: Prompt) -> None:
    assert owner_api.post(f"{url}/main/move", {"to": 1, "expected": 3}, format="json").json()["head"] == 1
    late = owner_api.post(f"{url}/main/move", {"to": 2, "expected": 3}, format="json")
    assert (late.status_code, late.json()["error"]["data"]) == (409, {"head": 1})
    assert head(prompt) == 1


def test_undo_and_redo_walk_the_tree(owner_api: APIClient, url: str, prompt: Prompt) -> None:
    steps = ["undo", "undo", "redo", "redo"]
    heads = [owner_api.post(f"{url}/main/{step}", {}, format="json").json()["head"] for step in steps]
    assert heads == [2, 1, 2, 3]


def test_undo_ends_at_the_first_version_and_redo_at_the_last(owner_api: APIClient, url: str) -> None:
    redo = owner_api.post(f"{url}/main/redo", {}, format="json")
    assert (redo.status_code, redo.json()["error"]["code"]) == (409, "nothing_to_redo")
    owner_api.post(f"{url}/main/undo", {}, format="json")
    owner_api.post(f"{url}/main/undo", {}, format="json")
    undo = owner_api.post(f"{url}/main/undo", {}, format="json")
    assert (undo.status_code, undo.json()["error"]["code"]) == (409, "nothing_to_undo")


def test_after_undo_a_save_goes_on_from_there_and_redo_returns_to_what_was_left_last(
    owner_api: APIClient, url: str, save: Save
) -> None:
    owner_api.post(f"{url}/main/undo", {}, format="json")
    saved = save(text="other")
    assert (saved.branch, saved.version.parent.number if saved.version.parent else None) == ("main", 2)
    owner_api.post(f"{url}/main/undo", {}, format="json")
    assert owner_api.post(f"{url}/main/redo", {}, format="json").json()["head"] == 4


def test_an_undo_that_expected_another_head_changes_nothing(owner_api: APIClient, url: str, prompt: Prompt) -> None:
    answer = owner_api.post(f"{url}/main/undo", {"expected": 2}, format="json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "branch_moved")
    assert head(prompt) == 3


def test_every_move_is_recorded(owner_api: APIClient, url: str) -> None:
    before = BranchMove.objects.count()
    owner_api.post(f"{url}/main/undo", {}, format="json")
    owner_api.post(f"{url}/main/redo", {}, format="json")
    assert BranchMove.objects.count() == before + 2


def test_bad_input_names_its_field(owner_api: APIClient, url: str) -> None:
    bad: list[tuple[dict[str, Any], str]] = [
        ({"to": 1}, "expected"),
        ({"to": 9, "expected": 3}, "to"),
        ({"to": None, "expected": 3}, "to"),
    ]
    for body, field in bad:
        answer = owner_api.post(f"{url}/main/move", body, format="json")
        assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)


@pytest.mark.parametrize("step", ["", "/main/move", "/main/undo", "/main/redo"])
def test_strangers_move_nothing(
    stranger_api: APIClient, anonymous_api: APIClient, url: str, prompt: Prompt, step: str
) -> None:
    body = {"name": "x", "to": 1, "expected": 3}
    assert stranger_api.post(url + step, body, format="json").status_code == 404
    assert anonymous_api.post(url + step, body, format="json").status_code == 401
    assert head(prompt) == 3


def test_an_unknown_branch_is_404(owner_api: APIClient, url: str) -> None:
    for name in ("nope", "..", "%00"):
        assert owner_api.post(f"{url}/{name}/undo", {}, format="json").status_code == 404
