"""`/api/v1/prompts`: make, list, read and change prompts."""

from __future__ import annotations

import json
import uuid

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from playground import services
from playground.models import Prompt

pytestmark = pytest.mark.django_db
URL = "/api/v1/prompts"


def test_a_prompt_is_made(owner_api: APIClient, owner: User) -> None:
    answer = owner_api.post(URL, {"name": "  Zürich 👍 ", "tags": ["a"]}, format="json")
    assert answer.status_code == 201
    made = Prompt.objects.get(pk=answer.json()["id"])
    assert (made.owner, made.name, made.tags) == (owner, "Zürich 👍", ["a"])
    assert made.pk.version == 7


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": ""}, "name"),
        ({"name": "   "}, "name"),
        ({"name": "a\0b"}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"name": "x", "description": "y" * 2001}, "description"),
        ({"name": "x", "tags": "not a list"}, "tags"),
        ({"name": "x", "tags": ["y" * 51]}, "tags"),
    ],
)
def test_bad_input_names_its_field(owner_api: APIClient, body: dict[str, object], field: str) -> None:
    answer = owner_api.post(URL, body, format="json")
    assert answer.status_code == 400
    assert answer.json()["error"]["field"].split(".")[0] == field
    assert answer.json()["request_id"]
    assert not Prompt.objects.exists()


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b'{"name": "half \\ud83d"}', "lone_surrogate"),
        (b'{"name": ', "invalid_json"),
        (b'{"name": "\xff"}', "invalid_utf8"),
        (b'{"name": NaN}', "invalid_json"),
        (b"[" * 100_000, "invalid_json"),
    ],
)
def test_a_body_that_is_no_text_is_refused(owner_api: APIClient, raw: bytes, code: str) -> None:
    answer = owner_api.post(URL, raw, content_type="application/json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)


def test_half_a_surrogate_is_told_with_its_place(owner_api: APIClient) -> None:
    answer = owner_api.post(URL, b'{"name": "abc\\udc00"}', content_type="application/json")
    assert answer.json()["error"]["field"] == "name"
    assert answer.json()["error"]["data"] == {"position": 3}


def test_a_body_over_the_limit_is_413(owner_api: APIClient) -> None:
    answer = owner_api.post(URL, json.dumps({"name": "x" * 9_000_000}), content_type="application/json")
    assert (answer.status_code, answer.json()["error"]["field"]) == (413, "body")


def test_the_list_holds_mine_only(owner_api: APIClient, owner: User, stranger: User) -> None:
    services.create_prompt(owner=stranger, name="Not yours")
    services.create_prompt(owner=owner, name="Older")
    services.create_prompt(owner=owner, name="Newer")
    answer = owner_api.get(URL)
    assert [row["name"] for row in answer.json()["results"]] == ["Newer", "Older"]


def test_the_list_is_searched_filtered_and_paged(owner_api: APIClient, owner: User) -> None:
    for number in range(5):
        services.create_prompt(owner=owner, name=f"Alpha {number}", tags=["t"] if number else [])
    services.create_prompt(owner=owner, name="Beta", description="about ALPHA", folder="work")
    assert len(owner_api.get(URL, {"q": "alpha"}).json()["results"]) == 6
    assert len(owner_api.get(URL, {"tag": "t"}).json()["results"]) == 4
    assert [row["name"] for row in owner_api.get(URL, {"folder": "work"}).json()["results"]] == ["Beta"]
    first = owner_api.get(URL, {"limit": 4}).json()
    rest = owner_api.get(first["next"]).json()
    assert len(first["results"] + rest["results"]) == 6
    assert rest["next"] is None


@pytest.mark.parametrize("words", ["100%", "_", "'; DROP TABLE x; --", "👍", "a" * 3000])
def test_search_words_are_only_words(owner_api: APIClient, owner: User, words: str) -> None:
    services.create_prompt(owner=owner, name="Plain")
    assert owner_api.get(URL, {"q": words}).status_code == 200
    assert owner_api.get(URL, {"q": words}).json()["results"] == []


@pytest.mark.parametrize("name", ["q", "tag", "folder", "cursor"])
def test_a_nul_in_the_address_is_400(owner_api: APIClient, name: str) -> None:
    assert owner_api.get(URL, {name: "a\0b"}).status_code == 400


@pytest.mark.parametrize("asked", ["abc", "abc ", " ABC"])
def test_a_blank_at_the_end_of_a_name_hides_no_prompt(owner_api: APIClient, asked: str) -> None:
    made = owner_api.post("/api/v1/prompts", {"name": "abc ", "tags": ["t "], "folder": " f /g "}, format="json").json()
    assert (made["name"], made["tags"], made["folder"]) == ("abc", ["t"], "f/g")
    for query in ({"q": asked}, {"tag": "t "}, {"folder": "f/g "}):
        found = owner_api.get("/api/v1/prompts", query).json()["results"]
        assert [row["id"] for row in found] == [made["id"]], query


def test_a_prompt_is_renamed(owner_api: APIClient, prompt: Prompt) -> None:
    answer = owner_api.patch(f"{URL}/{prompt.pk}", {"name": "New name"}, format="json")
    assert (answer.status_code, answer.json()["name"]) == (200, "New name")


def test_one_key_makes_one_prompt(owner_api: APIClient) -> None:
    answers = [owner_api.post(URL, {"name": "x"}, format="json", headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert answers[0].json()["id"] == answers[1].json()["id"]
    assert Prompt.objects.count() == 1


def test_absent_and_forbidden_are_the_same_404(stranger_api: APIClient, prompt: Prompt) -> None:
    foreign = stranger_api.get(f"{URL}/{prompt.pk}")
    absent = stranger_api.get(f"{URL}/{uuid.uuid4()}")
    nonsense = stranger_api.get(f"{URL}/nonsense")
    assert [answer.status_code for answer in (foreign, absent, nonsense)] == [404, 404, 404]
    assert foreign.json()["error"] == absent.json()["error"] == nonsense.json()["error"]


def test_a_friend_without_a_grant_is_a_stranger(friend_api: APIClient, prompt: Prompt) -> None:
    assert friend_api.get(f"{URL}/{prompt.pk}").status_code == 404
    assert friend_api.patch(f"{URL}/{prompt.pk}", {"name": "mine"}, format="json").status_code == 404


def test_nobody_is_401(anonymous_api: APIClient, prompt: Prompt) -> None:
    for answer in (anonymous_api.get(URL), anonymous_api.get(f"{URL}/{prompt.pk}"), anonymous_api.post(URL, {})):
        assert answer.status_code == 401
        assert answer["WWW-Authenticate"] == "Bearer"


def test_a_wrong_verb_is_405(owner_api: APIClient, prompt: Prompt) -> None:
    answer = owner_api.put(f"{URL}/{prompt.pk}", {}, format="json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (405, "method_not_allowed")


def test_a_form_post_is_415(owner_api: APIClient) -> None:
    assert owner_api.post(URL, {"name": "x"}).status_code == 415
