"""`folders/move`: a folder gets another name or place, with everything in it, at once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from accounts.models import User
from core.errors import DomainError
from playground import services
from playground.models import Prompt
from playground.services.lines import FOLDER_DEPTH
from tests.playground.test_saving import together

pytestmark = pytest.mark.django_db
URL = "/api/v1/folders/move"


def make(owner: User, **names: str) -> None:
    """`make(owner, name=folder)`"""
    for name, folder in names.items():
        services.create_prompt(owner=owner, name=name, folder=folder)


def folders_of(owner: User) -> dict[str, str]:
    return dict(Prompt.objects.filter(owner=owner).values_list("name", "folder"))


def move(api: APIClient, folder: str, to: str, **more: Any) -> Any:
    return api.post(URL, {"folder": folder, "to": to, **more}, format="json")


def error_of(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def test_a_folder_is_renamed_and_those_inside_follow(owner_api: APIClient, owner: User) -> None:
    make(owner, one="team", two="team/a", three="team/a/b", like="teams", other="x/team", none="")
    answer = move(owner_api, "team", " crew ")
    assert (answer.status_code, answer.json()) == (200, {"folder": "crew", "moved": 3})
    after = {"one": "crew", "two": "crew/a", "three": "crew/a/b", "like": "teams", "other": "x/team", "none": ""}
    assert folders_of(owner) == after
    tree = owner_api.get("/api/v1/folders").json()["results"]
    assert [node["path"] for node in tree] == ["crew", "teams", "x"]


def test_a_folder_moves_into_another_and_out_of_it(owner_api: APIClient, owner: User) -> None:
    make(owner, one="a/b", two="a/b/c", three="a")
    assert move(owner_api, "a/b", "b").json()["moved"] == 2
    assert folders_of(owner) == {"one": "b", "two": "b/c", "three": "a"}
    assert move(owner_api, "b", "a/d/b").json()["moved"] == 2
    assert folders_of(owner) == {"one": "a/d/b", "two": "a/d/b/c", "three": "a"}


def test_what_is_a_pattern_elsewhere_is_a_letter_here(owner_api: APIClient, owner: User) -> None:
    make(owner, one="100%", two="100%/x_y", three="1000", four="100% more", emoji="👍🏽/é")
    assert move(owner_api, "100%", "a_b").json()["moved"] == 2
    assert move(owner_api, "👍🏽", "ملف").json()["moved"] == 1
    after = {"one": "a_b", "two": "a_b/x_y", "three": "1000", "four": "100% more", "emoji": "ملف/é"}
    assert folders_of(owner) == after


def test_the_archive_and_the_trash_follow(owner_api: APIClient, owner: User) -> None:
    make(owner, kept="a", archived="a", trashed="a/b")
    services.archive_prompt(prompt=Prompt.objects.get(name="archived"))
    services.trash_prompt(prompt=Prompt.objects.get(name="trashed"))
    assert move(owner_api, "a", "z").json()["moved"] == 3
    assert folders_of(owner) == {"kept": "z", "archived": "z", "trashed": "z/b"}


def test_a_folder_of_that_name_is_merged_only_when_that_is_wanted(owner_api: APIClient, owner: User) -> None:
    make(owner, one="a", two="b/x")
    answer = move(owner_api, "a", "b")
    assert error_of(answer) == (409, "folder_exists")
    assert answer.json()["error"]["message"] == "There is a folder b already, with 1 prompt."
    assert folders_of(owner) == {"one": "a", "two": "b/x"}
    assert move(owner_api, "a", "b", merge=True).json()["moved"] == 1
    assert folders_of(owner) == {"one": "b", "two": "b/x"}


def test_up_into_a_folder_that_holds_it_asks_about_the_others_there(owner_api: APIClient, owner: User) -> None:
    make(owner, one="a/b", two="a")
    assert error_of(move(owner_api, "a/b", "a")) == (409, "folder_exists")
    assert move(owner_api, "a/b", "a", merge=True).json()["moved"] == 1
    assert folders_of(owner) == {"one": "a", "two": "a"}


def test_the_same_name_changes_nothing(owner_api: APIClient, owner: User) -> None:
    make(owner, one="a")
    before = Prompt.objects.get().updated_at
    assert move(owner_api, "a", "a/").json() == {"folder": "a", "moved": 0}
    assert Prompt.objects.get().updated_at == before


@pytest.mark.parametrize(
    ("folder", "to", "status", "code"),
    [
        ("a", "a/b", 400, "invalid_input"),
        ("a", "", 400, "invalid_input"),
        ("a", " / ", 400, "invalid_input"),
        ("a", "..", 400, "invalid_input"),
        ("a", "b\0c", 400, "invalid_input"),
        ("a", "x/" * 30 + "x", 400, "invalid_input"),
        ("", "b", 400, "invalid_input"),
        ("absent", "b", 404, "not_found"),
        ("A", "b", 404, "not_found"),
    ],
)
def test_what_is_not_possible_moves_nothing(
    owner_api: APIClient, owner: User, folder: str, to: str, status: int, code: str
) -> None:
    make(owner, one="a", two="a/deep")
    assert error_of(move(owner_api, folder, to)) == (status, code)
    assert folders_of(owner) == {"one": "a", "two": "a/deep"}


def test_folders_that_would_be_too_deep_stay_all_where_they_are(owner_api: APIClient, owner: User) -> None:
    deep = "/".join(["a"] * FOLDER_DEPTH)
    make(owner, one="a", two=deep)
    answer = move(owner_api, "a", "x/y")
    assert error_of(answer) == (400, "invalid_input")
    assert folders_of(owner) == {"one": "a", "two": deep}


def test_only_the_persons_own_prompts_move(
    owner_api: APIClient, friend_api: APIClient, owner: User, friend: User
) -> None:
    make(owner, mine="a")
    assert error_of(move(friend_api, "a", "b")) == (404, "not_found")
    make(friend, theirs="a")
    assert move(friend_api, "a", "b").json()["moved"] == 1
    assert (folders_of(owner), folders_of(friend)) == ({"mine": "a"}, {"theirs": "b"})
    assert move(APIClient(), "a", "b").status_code == 401


@pytest.mark.django_db(transaction=True)
def test_of_two_moves_at_once_each_takes_all_or_nothing(owner: User) -> None:
    make(owner, **{f"p{number}": f"a/{number}" for number in range(20)})
    targets = iter(["b", "c", "d"])

    def run() -> int:
        try:
            return services.move_folder(owner=owner, folder="a", to=next(targets))
        except DomainError:
            return 0

    assert sorted(together(3, run)) == [0, 0, 20]
    assert len({folder[0] for folder in folders_of(owner).values()}) == 1


NAMES = st.text(st.sampled_from("ab%_é👍"), min_size=1, max_size=3)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)


@given(paths=st.lists(PATHS, min_size=1, max_size=6), to=PATHS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_exactly_what_is_in_the_folder_changes_its_beginning(owner: User, paths: list[str], to: str) -> None:
    Prompt.objects.filter(owner=owner).delete()
    make(owner, **{f"p{number}": path for number, path in enumerate(paths)})
    before, folder = folders_of(owner), next(iter(folders_of(owner).values()))
    try:
        services.move_folder(owner=owner, folder=folder, to=to, merge=True)
    except DomainError:
        assert folders_of(owner) == before
        return
    expected = {
        name: to + path[len(folder) :] if path == folder or path.startswith(f"{folder}/") else path
        for name, path in before.items()
    }
    assert folders_of(owner) == expected
