"""`/api/v1/prompts/{id}/versions`: save, list and read versions."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from playground.models import Prompt, Version
from playground.services import SavedVersion

pytestmark = pytest.mark.django_db
Save = Callable[..., SavedVersion]


@pytest.fixture
def url(prompt: Prompt) -> str:
    return f"/api/v1/prompts/{prompt.pk}/versions"


def test_a_version_is_saved(owner_api: APIClient, url: str, raw_spec: dict[str, Any]) -> None:
    answer = owner_api.post(url, {"spec": raw_spec, "message": "first"}, format="json")
    assert answer.status_code == 201
    body = answer.json()
    assert (body["number"], body["parent"], body["branch"], body["forked"]) == (1, None, "main", False)
    assert len(body["digest"]) == 64


def test_the_parent_may_be_named_by_number_or_id(owner_api: APIClient, url: str, raw_spec: dict[str, Any]) -> None:
    first = owner_api.post(url, {"spec": raw_spec}, format="json").json()
    for parent in (1, "1", first["id"]):
        answer = owner_api.post(url, {"spec": raw_spec, "parent": parent}, format="json")
        assert (answer.status_code, answer.json()["parent"]) == (201, 1)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ({}, ("main", "")),
        ({"branch": "side", "message": "why"}, ("side", "why")),
        ({"branch": " side ", "message": " why\n\nnot"}, ("side", "why\n\nnot")),
        ({"branch": "seitenast-ä", "message": 7, "unknown": 1}, ("seitenast-ä", "7")),
    ],
)
def test_branch_and_message_are_kept_without_outer_blanks(
    owner_api: APIClient, url: str, raw_spec: dict[str, Any], sent: dict[str, Any], kept: tuple[str, str]
) -> None:
    answer = owner_api.post(url, {"spec": raw_spec, **sent}, format="json").json()
    assert (answer["branch"], Version.objects.get().message) == kept


def test_a_late_save_says_that_it_forked(owner_api: APIClient, url: str, raw_spec: dict[str, Any]) -> None:
    owner_api.post(url, {"spec": raw_spec}, format="json")
    owner_api.post(url, {"spec": raw_spec, "parent": 1}, format="json")
    late = owner_api.post(url, {"spec": raw_spec, "parent": 1}, format="json").json()
    assert (late["forked"], late["branch"]) == (True, "main-3")


@pytest.mark.parametrize(
    ("change", "status", "field"),
    [
        ({"spec": {"max_tokens": -1}}, 400, "spec.model"),
        ({"spec": None}, 400, "spec"),
        ({"spec": "text"}, 400, "spec"),
        ({"parent": 99}, 400, "parent"),
        ({"parent": "nonsense"}, 400, "parent"),
        ({"parent": True}, 400, "parent"),
        ({"parent": 2**70}, 400, "parent"),
        ({"branch": "7"}, 400, "branch"),
        ({"message": "x" * 5001}, 400, "message"),
        ({"message": "nul\0"}, 400, "message"),
        ({"message": None}, 400, "message"),
        ({"message": ["a"]}, 400, "message"),
        ({"branch": ""}, 400, "branch"),
        ({"branch": None}, 400, "branch"),
        ({"branch": "x" * 1001}, 400, "branch"),
    ],
)
def test_bad_input_names_its_field(
    owner_api: APIClient, url: str, raw_spec: dict[str, Any], change: dict[str, Any], status: int, field: str
) -> None:
    answer = owner_api.post(url, {"spec": raw_spec, **change}, format="json")
    assert (answer.status_code, answer.json()["error"]["field"]) == (status, field)
    assert not Version.objects.exists()


def test_a_text_of_3_mb_is_413_naming_the_text(owner_api: APIClient, url: str, raw_spec: dict[str, Any]) -> None:
    raw_spec["messages"][0]["content"] = "x" * 3_000_000
    answer = owner_api.post(url, {"spec": raw_spec}, format="json")
    assert (answer.status_code, answer.json()["error"]["field"]) == (413, "spec.messages.0.content")


def test_a_parent_of_another_prompt_is_as_unknown_as_none(
    owner_api: APIClient, save: Save, raw_spec: dict[str, Any]
) -> None:
    foreign = save().version
    other = owner_api.post("/api/v1/prompts", {"name": "Other"}, format="json").json()["id"]
    for parent in (str(foreign.pk), str(uuid.uuid4())):
        answer = owner_api.post(
            f"/api/v1/prompts/{other}/versions", {"spec": raw_spec, "parent": parent}, format="json"
        )
        assert answer.status_code == 400
        assert answer.json()["error"]["message"] == "This prompt has no such version."


def test_a_version_is_read_with_its_texts(owner_api: APIClient, url: str, save: Save) -> None:
    save(text="a\r\nb\0 {{name}} {{größe}}")
    body = owner_api.get(f"{url}/1", {"include": "texts"}).json()
    assert body["spec"]["messages"] == [{"role": "user", "content": "a\r\nb\0 {{name}} {{größe}}"}]
    assert body["variables_used"] == ["name", "größe"]
    assert body["author"] == "Olive Owner"


def test_without_texts_it_holds_references_that_can_be_sent_back(owner_api: APIClient, url: str, save: Save) -> None:
    saved = save()
    spec = owner_api.get(f"{url}/1").json()["spec"]
    assert set(spec["system"]) == {"body", "bytes"}
    again = owner_api.post(url, {"spec": spec}, format="json")
    assert (again.status_code, again.json()["digest"]) == (201, saved.version.digest_hex)


def test_a_number_is_cacheable_for_ever_and_a_pointer_for_seconds(owner_api: APIClient, url: str, save: Save) -> None:
    save()
    assert "immutable" in owner_api.get(f"{url}/1")["Cache-Control"]
    for pointer in ("latest", "main"):
        answer = owner_api.get(f"{url}/{pointer}")
        assert (answer.status_code, answer["Cache-Control"]) == (200, "private, max-age=5")


def test_an_unchanged_version_is_304(owner_api: APIClient, url: str, save: Save) -> None:
    save()
    first = owner_api.get(f"{url}/latest")
    same = owner_api.get(f"{url}/latest", headers={"If-None-Match": first["ETag"]})
    assert (same.status_code, same.content) == (304, b"")
    save(text="changed")
    assert owner_api.get(f"{url}/latest", headers={"If-None-Match": first["ETag"]}).status_code == 200


def test_references_and_texts_have_different_etags(owner_api: APIClient, url: str, save: Save) -> None:
    save()
    assert owner_api.get(f"{url}/1")["ETag"] != owner_api.get(f"{url}/1", {"include": "texts"})["ETag"]


@pytest.mark.parametrize("pointer", ["0", "2", "99999999999999999999", "nope", "-1", "1.0", "%00", "..", "１"])
def test_a_pointer_to_nothing_is_404(owner_api: APIClient, url: str, save: Save, pointer: str) -> None:
    save()
    assert owner_api.get(f"{url}/{pointer}").status_code == 404


def test_the_list_is_newest_first_with_the_heads(owner_api: APIClient, url: str, save: Save) -> None:
    first = save(message="first").version
    save(text="b")
    save(text="c", parent=first)
    rows = owner_api.get(url).json()["results"]
    assert [(row["number"], row["parent"], row["branches"]) for row in rows] == [
        (3, 1, ["main-3"]),
        (2, 1, ["main"]),
        (1, None, []),
    ]


def test_the_list_asks_a_fixed_number_of_questions(
    owner_api: APIClient, url: str, save: Save, django_assert_max_num_queries: Any
) -> None:
    for number in range(12):
        save(text=str(number))
    with django_assert_max_num_queries(8):
        owner_api.get(url)


@pytest.mark.parametrize("path", ["", "/1", "/latest", "/1/snippets/curl"])
def test_a_stranger_sees_nothing(
    stranger_api: APIClient, anonymous_api: APIClient, url: str, save: Save, path: str
) -> None:
    save()
    assert stranger_api.get(url + path).status_code == 404
    assert anonymous_api.get(url + path).status_code == 401


def test_a_stranger_saves_nothing(stranger_api: APIClient, url: str, raw_spec: dict[str, Any]) -> None:
    assert stranger_api.post(url, {"spec": raw_spec}, format="json").status_code == 404
    assert not Version.objects.exists()


def test_a_version_cannot_be_deleted_or_put(owner_api: APIClient, url: str, save: Save) -> None:
    save()
    assert owner_api.delete(f"{url}/1").status_code == 405
    assert owner_api.put(f"{url}/1", {}, format="json").status_code == 405


def test_snippets_are_plain_text_with_the_values_filled_in(owner_api: APIClient, url: str, save: Save) -> None:
    save()
    answer = owner_api.get(f"{url}/1/snippets/curl", {"variables": '{"name": "Ada \\"L\\""}'})
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert 'Greet Ada \\"L\\".' in answer.content.decode()
    assert "{{name}}" in owner_api.get(f"{url}/1/snippets/python").content.decode()


def test_an_unknown_language_is_404_and_bad_values_are_named(owner_api: APIClient, url: str, save: Save) -> None:
    save()
    assert owner_api.get(f"{url}/1/snippets/cobol").status_code == 404
    answer = owner_api.get(f"{url}/1/snippets/curl", {"variables": "{nope"})
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "variables")
