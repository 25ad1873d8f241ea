"""`/api/v1/prompts/{id}/values`: what a person fills in is kept for them alone, and found again in their past runs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from accounts.models import User
from inference_client.models import Run, RunKind
from playground import past_values, services
from playground.models import Prompt, VariableValue, Version
from playground.services import SavedVersion, values
from playground.spec import parse
from tests.playground.test_saving import together

pytestmark = pytest.mark.django_db
Save = Callable[..., SavedVersion]


@pytest.fixture
def url(prompt: Prompt) -> str:
    return f"/api/v1/prompts/{prompt.pk}/values"


def keep(api: APIClient, url: str, **given: Any) -> Any:
    return api.patch(f"{url}/kept", {"values": given}, format="json")


def kept(api: APIClient, url: str) -> dict[str, str]:
    read: dict[str, str] = api.get(f"{url}/kept").json()["values"]
    return read


def run(account: User, version: Version, **given: str) -> str:
    return str(services.run_version(account=account, version=version, values=given).pk)


EXACT = ["", " ", "\n\n  hi \n", "a\r\nb\r", "\ufeffbom", "nul \0 here", "$$5 $& {{b}}", "👍 e\u0301 \u202e", "[1, 2]"]


@pytest.mark.parametrize("value", EXACT)
def test_a_value_is_kept_as_it_is(owner_api: APIClient, url: str, value: str) -> None:
    assert keep(owner_api, url, name=value).status_code == 204
    assert kept(owner_api, url) == {"name": value}


def test_a_value_changes_without_the_others(owner_api: APIClient, url: str) -> None:
    keep(owner_api, url, a="1", b="2", c="3")
    keep(owner_api, url, b="two", c=None)
    assert kept(owner_api, url) == {"a": "1", "b": "two"}


def test_forgetting_what_is_not_there_is_no_error(owner_api: APIClient, url: str) -> None:
    assert keep(owner_api, url, a=None).status_code == 204
    assert kept(owner_api, url) == {}


def test_composed_and_decomposed_names_are_one(owner_api: APIClient, url: str) -> None:
    for name, value in (("caf\u00e9", "1"), ("cafe\u0301", "2")):
        owner_api.patch(f"{url}/kept", {"values": {name: value}}, format="json")
    assert kept(owner_api, url) == {"caf\u00e9": "2"}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"two words": "x"}, "values.two words"),
        ({"": "x"}, "values."),
        ({"n\0": "x"}, "values.n\0"),
        ({"a": 1}, "values.a"),
        ({"a": {"b": "c"}}, "values.a"),
        ({f"n{number}": "" for number in range(values.MAX_NAMES + 1)}, "values"),
        ("text", "values"),
    ],
)
def test_bad_input_names_its_field_and_keeps_nothing(owner_api: APIClient, url: str, given: Any, field: str) -> None:
    answer = owner_api.patch(f"{url}/kept", {"values": given}, format="json")
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)
    assert kept(owner_api, url) == {}


def test_half_a_character_is_refused_with_its_place(owner_api: APIClient, url: str) -> None:
    answer = owner_api.patch(f"{url}/kept", '{"values": {"a": "ab\\ud83d"}}', content_type="application/json")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["data"]) == (400, "lone_surrogate", {"position": 2})


def test_a_value_has_a_limit(owner_api: APIClient, url: str) -> None:
    answer = keep(owner_api, url, a="é" * (1024 * 1024) + "x")
    assert (answer.status_code, answer.json()["error"]["field"]) == (413, "values.a")
    assert keep(owner_api, url, a="é" * (1024 * 1024)).status_code == 204


def test_values_are_private_to_the_person(
    owner_api: APIClient, friend_api: APIClient, url: str, shared: Prompt
) -> None:
    keep(owner_api, url, name="mine")
    assert kept(friend_api, url) == {}
    keep(friend_api, url, name="theirs")
    assert (kept(owner_api, url), kept(friend_api, url)) == ({"name": "mine"}, {"name": "theirs"})


def test_values_of_one_prompt_are_not_those_of_another(owner: User, owner_api: APIClient, url: str) -> None:
    keep(owner_api, url, name="here")
    other = services.create_prompt(owner=owner, name="Other")
    assert kept(owner_api, f"/api/v1/prompts/{other.pk}/values") == {}


def test_what_was_touched_longest_ago_makes_room(
    owner: User, prompt: Prompt, owner_api: APIClient, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values, "MAX_NAMES", 3)
    for name in "abcd":
        services.keep_values(person=owner, prompt=prompt, changes={name: name})
    services.keep_values(person=owner, prompt=prompt, changes={"b": "again"})
    services.keep_values(person=owner, prompt=prompt, changes={"e": "e"})
    assert set(kept(owner_api, url)) == {"b", "d", "e"}
    monkeypatch.setattr(values, "MAX_KEPT_BYTES", 100)
    services.keep_values(person=owner, prompt=prompt, changes={"f": "x" * 200})
    assert set(kept(owner_api, url)) == {"f"}


@pytest.mark.django_db(transaction=True)
def test_two_tabs_that_keep_at_once_keep_both(owner: User, prompt: Prompt) -> None:
    tabs = itertools.count()

    def fill_in() -> None:
        tab = next(tabs)
        services.keep_values(person=owner, prompt=prompt, changes={f"own{tab}": "x", "b": str(tab), "a": str(tab)})

    assert together(6, fill_in) == [None] * 6
    rows = VariableValue.objects.of(owner, prompt)
    assert {row.name for row in rows} == {"a", "b", *(f"own{tab}" for tab in range(6))}


def test_they_go_with_the_prompt_and_with_the_account(owner: User, friend: User, shared: Prompt) -> None:
    for person in (owner, friend):
        services.keep_values(person=person, prompt=shared, changes={"a": "1"})
    friend.delete()
    assert VariableValue.objects.count() == 1
    services.trash_prompt(prompt=shared)
    services.erase_prompt(prompt=shared, confirmation=shared.name)
    assert not VariableValue.objects.exists()


def test_past_values_are_distinct_and_newest_first(owner: User, owner_api: APIClient, url: str, save: Save) -> None:
    version = save().version
    old, again = run(owner, version, name="Ada"), run(owner, version, name="Bob")
    latest = run(owner, version, name="Ada")
    found = owner_api.get(url).json()
    assert found["next"] is None
    assert [(row["run"], row["values"], row["version"]) for row in found["results"]] == [
        (latest, {"name": "Ada"}, 1),
        (again, {"name": "Bob"}, 1),
    ]
    assert old not in json.dumps(found)
    assert {row["status"] for row in found["results"]} == {"queued"}


def test_runs_without_variables_are_not_offered(owner: User, owner_api: APIClient, url: str, save: Save) -> None:
    run(owner, save(text="No variable.").version)
    assert owner_api.get(url).json()["results"] == []


def test_defaults_that_a_run_used_are_among_its_values(
    owner: User, prompt: Prompt, owner_api: APIClient, url: str, raw_spec: dict[str, Any]
) -> None:
    spec = parse({**raw_spec, "variables": [{"name": "name", "default": "you"}]})
    version = services.save_version(author=owner, prompt=prompt, spec=spec).version
    run(owner, version)
    assert owner_api.get(url).json()["results"][0]["values"] == {"name": "you"}


def test_a_large_set_is_listed_by_its_size_and_read_by_itself(
    owner: User, owner_api: APIClient, url: str, save: Save
) -> None:
    large = "x" * past_values.WHOLE_BYTES
    made = run(owner, save().version, name=large)
    [row] = owner_api.get(url).json()["results"]
    assert (row["values"], row["bytes"] > past_values.WHOLE_BYTES) == (None, True)
    assert owner_api.get(f"{url}/{made}").json() == {"values": {"name": large}}


def test_the_list_is_bounded_in_rows_and_queries(
    owner: User,
    owner_api: APIClient,
    url: str,
    save: Save,
    monkeypatch: pytest.MonkeyPatch,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    monkeypatch.setattr(past_values, "LISTED", 2)
    monkeypatch.setattr(past_values, "SCANNED_RUNS", 3)
    version = save().version
    for name in ("gone", "b", "c", "b"):
        run(owner, version, name=name)
    prompt = version.prompt
    with django_assert_num_queries(2) as queries:
        found = past_values.past_values(owner, prompt)
    assert isinstance(queries, CaptureQueriesContext)
    assert [row.values for row in found] == [{"name": "b"}, {"name": "c"}]


def test_rows_of_a_batch_are_not_offered(owner: User, owner_api: APIClient, url: str, save: Save) -> None:
    made = run(owner, save().version, name="row 1")
    Run.objects.filter(pk=made).update(kind=RunKind.BATCH)
    assert owner_api.get(url).json()["results"] == []


def test_past_values_are_of_ones_own_runs_only(
    owner: User, friend: User, owner_api: APIClient, friend_api: APIClient, url: str, shared: Prompt, save: Save
) -> None:
    version = save().version
    mine, theirs = run(owner, version, name="secret of the owner"), run(friend, version, name="theirs")
    assert [row["run"] for row in friend_api.get(url).json()["results"]] == [theirs]
    assert friend_api.get(f"{url}/{mine}").status_code == 404
    assert owner_api.get(f"{url}/{theirs}").status_code == 404


def test_a_run_of_another_prompt_is_not_found(owner: User, owner_api: APIClient, save: Save) -> None:
    made = run(owner, save().version, name="x")
    other = services.create_prompt(owner=owner, name="Other")
    assert owner_api.get(f"/api/v1/prompts/{other.pk}/values/{made}").status_code == 404
