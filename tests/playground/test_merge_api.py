"""`.../merge`: a preview of the merge, then saved as a version with two parents."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from rest_framework.test import APIClient

from playground.models import Prompt, Version
from playground.services import SavedVersion

pytestmark = pytest.mark.django_db
Save = Callable[..., SavedVersion]


@pytest.fixture
def url(prompt: Prompt, save: Save) -> str:
    """1 on main; 2 on main changes the first line, 3 on `idea` the last one, 4 on `clash` the first one too."""
    first = save(text="one\ntwo\nthree\n").version
    save(text="ONE\ntwo\nthree\n", parent=first)
    save(text="one\ntwo\nTHREE\n", parent=first, branch="idea")
    save(text="uno\ntwo\nthree\n", parent=first, branch="clash")
    return f"/api/v1/prompts/{prompt.pk}"


def test_two_branches_merge_and_are_saved_with_two_parents(owner_api: APIClient, url: str, prompt: Prompt) -> None:
    merge = owner_api.get(f"{url}/merge", {"ours": "main", "theirs": "idea"}).json()
    assert (merge["base"], merge["ours"], merge["theirs"], merge["conflicts"]) == (1, 2, 3, [])
    assert merge["spec"]["messages"][0]["content"] == "ONE\ntwo\nTHREE\n"
    body = {"spec": merge["spec"], "parent": 2, "merged": 3, "message": "merged"}
    saved = owner_api.post(f"{url}/versions", body, format="json").json()
    assert (saved["number"], saved["branch"], saved["forked"]) == (5, "main", False)
    version = Version.objects.get(prompt=prompt, number=5)
    assert version.parent is not None
    assert version.merged_parent is not None
    assert (version.parent.number, version.merged_parent.number) == (2, 3)
    assert owner_api.get(f"{url}/tree").json()["nodes"][0]["parents"] == [2, 3]


def test_a_conflict_carries_all_three_sides(owner_api: APIClient, url: str) -> None:
    conflicts = owner_api.get(f"{url}/merge", {"ours": "main", "theirs": "clash"}).json()["conflicts"]
    assert [(c["place"], c["kind"]) for c in conflicts] == [("messages.0", "text")]
    assert conflicts[0]["chunks"][0] == {"text": "ONE\n", "base": "one\n", "theirs": "uno\n"}


def test_what_is_already_contained_has_nothing_to_merge(owner_api: APIClient, url: str) -> None:
    answer = owner_api.get(f"{url}/merge", {"ours": "main", "theirs": "1"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "nothing_to_merge")


@pytest.mark.parametrize("body", [{"parent": 2, "merged": 2}, {"merged": 2}, {"parent": 2, "merged": 99}])
def test_a_merge_has_two_different_parents(owner_api: APIClient, url: str, body: dict[str, int]) -> None:
    spec = owner_api.get(f"{url}/versions/1").json()["spec"]
    answer = owner_api.post(f"{url}/versions", {"spec": spec, **body}, format="json")
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "merged")


def test_strangers_merge_nothing(stranger_api: APIClient, url: str) -> None:
    assert stranger_api.get(f"{url}/merge", {"ours": "main", "theirs": "idea"}).status_code == 404
