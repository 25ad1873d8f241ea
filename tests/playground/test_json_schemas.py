"""A schema that nobody can use is refused by its place when it is saved; what structured outputs refuse is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.test import APIClient

from core.errors import InvalidInput
from playground import json_schema, spec
from playground.models import Prompt, Version
from playground.services import SavedVersion, save_version
from playground.spec import parse

GOOD: dict[str, Any] = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
TREE = {
    "type": "object",
    "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}},
    "additionalProperties": False,
}
ENDLESS = {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"}


def paths(found: list[json_schema.Fault]) -> list[str]:
    return [".".join(map(str, fault.path)) for fault in found]


@pytest.mark.parametrize(
    ("schema", "path", "words"),
    [
        ({"type": "objekt"}, "type", '"objekt" is no type'),
        ({"properties": {"a": {"minLength": -1}}}, "properties.a.minLength", "at least 0"),
        ({"required": "a"}, "required", "must be a list"),
        ({"$ref": "#"}, "$ref", "without end"),
        (ENDLESS, "$defs.b.allOf.0.$ref", "without end"),
        ({"$dynamicAnchor": "n", "$dynamicRef": "#n"}, "$dynamicRef", "without end"),
        ({"items": {"$ref": "#/$defs/none"}}, "items.$ref", "leads nowhere"),
        ({"$ref": "#/enum/0", "enum": [1]}, "$ref", "no schema"),
        ({"properties": {"a": {"$ref": "https://example.com/a.json"}}}, "properties.a.$ref", "never fetched"),
        ({"$ref": "other.json#/a"}, "$ref", "never fetched"),
    ],
)
def test_a_schema_nobody_can_use_has_a_fault_at_its_place(schema: dict[str, Any], path: str, words: str) -> None:
    found = json_schema.faults(schema)
    assert path in paths(found)
    assert words in " ".join(fault.message for fault in found)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        TREE,
        {"$defs": {"p": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/p"}, "b": {"$ref": "#/$defs/p"}}},
        {"$defs": {"a b/~": {"type": "string"}}, "$ref": "#/$defs/a%20b~1~0"},
        {"$id": "https://e.com/r", "$defs": {"n": {"$anchor": "n"}}, "allOf": [{"$ref": "#n"}, {"$ref": "r#n"}]},
        {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]},
        {"properties": {"$ref": {"type": "string"}, "type": {"const": "objekt"}}},
    ],
)
def test_a_schema_that_can_be_used_has_none(schema: dict[str, Any]) -> None:
    assert json_schema.faults(schema) == []


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        (TREE, "properties.kids.items.$ref"),
        ({"type": "integer", "minimum": 1}, "minimum"),
        ({"type": "object", "properties": {"a": {"type": "object"}}}, "properties.a"),
        ({"type": "array", "minItems": 2}, "minItems"),
        ({"type": "string", "format": "color"}, "format"),
        ({"enum": [{"a": 1}]}, "enum"),
        ({"oneOf": [{"type": "string"}]}, "oneOf"),
    ],
)
def test_what_structured_outputs_refuse_is_found(schema: dict[str, Any], path: str) -> None:
    assert json_schema.faults(schema) == []
    assert path in paths(json_schema.misfits(schema))


def test_a_schema_that_structured_outputs_take_is_not_spoken_of() -> None:
    thing = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert json_schema.misfits({**thing, "$defs": {"x": thing}}) == []


def test_a_schema_that_is_too_deep_or_too_wide_is_not_looked_into() -> None:
    deep: dict[str, Any] = {}
    for _ in range(500):
        deep = {"items": deep}
    with pytest.raises(json_schema.TooLargeToCheck):
        json_schema.faults(deep)
    with pytest.raises(json_schema.TooLargeToCheck):
        json_schema.misfits({"properties": {str(number): {} for number in range(5000)}})
    assert json.loads(parse({**GOOD, "output_schema": deep}).plain()["output_schema"]) == deep


def test_lists_without_an_order_are_not_compared_pair_by_pair() -> None:
    with pytest.raises(json_schema.TooLargeToCheck):
        json_schema.faults({"required": [0, *map(str, range(json_schema.MAX_UNSORTABLE))]})
    assert json_schema.faults({"required": [str(number) for number in range(10_000)]}) == []


@pytest.mark.parametrize("keyword", ["properties", "dependencies", "unheardof"])
def test_schemas_that_are_true_or_false_count_like_others(keyword: str) -> None:
    many = {str(number): True for number in range(json_schema.MAX_SUBSCHEMAS + 1)}
    with pytest.raises(json_schema.TooLargeToCheck):
        json_schema.faults({keyword: many})


def test_a_list_of_tools_is_looked_into_as_far_as_there_is_room() -> None:
    large = {"type": "object", "properties": {str(number): {} for number in range(json_schema.MAX_SUBSCHEMAS - 2)}}
    too_large: list[Any] = [{}] * (json_schema.MAX_SUBSCHEMAS + 1)
    assert list(json_schema.weighed([large, too_large, large, large])) == [True, False, True, True]
    assert list(json_schema.weighed([large] * 5)) == [True, True, True, False, False]
    named = [{"name": f"t{index}", "input_schema": large} for index in range(4)]
    kept = parse({**GOOD, "tools": [*named, {"name": "last", "input_schema": {"type": "objekt"}}]}).plain()["tools"]
    assert len(json.loads(kept)) == 5


def test_an_anchor_is_found_without_walking_through_the_schema_for_each_reference() -> None:
    names = [f"n{number}" for number in range(900)]
    schema = {
        "$defs": {name: {"$anchor": name} for name in names},
        "properties": {name: {"$ref": f"#{name}"} for name in names},
    }
    assert json_schema.faults(schema) == []


def test_an_id_that_is_no_address_is_told_where_it_is_needed() -> None:
    assert "$ref" in paths(json_schema.faults({"$id": "http://[", "$ref": "#x"}))


_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["#", "#/$defs/a", "object", "x", "https://a/b"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["$ref", "$defs", "a", "items", "type", "allOf", "properties", "$id", "$anchor", "enum", "not"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["$ref", "$defs", "items", "type", "anyOf", "$id", "a"]), _values, max_size=5))
def test_whatever_is_written_is_judged_and_breaks_nothing(schema: dict[str, Any]) -> None:
    if not json_schema.faults(schema):
        json_schema.misfits(schema)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"output_schema": '{"type":"objekt"}'}, "spec.output_schema.type"),
        ({"output_schema": {"$ref": "#"}}, "spec.output_schema.$ref"),
        ({"output_schema": {"$ref": "https://example.com/a.json"}}, "spec.output_schema.$ref"),
        (
            {"tools": [{"name": "a"}, {"name": "b", "input_schema": {"properties": {"x": {"type": "objekt"}}}}]},
            "spec.tools.1.input_schema.properties.x.type",
        ),
    ],
)
def test_a_save_names_the_place_inside_the_schema(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        spec.parse({**GOOD, **change})
    assert refused.value.field == field


def test_what_was_a_version_already_is_not_asked_for_its_schemas() -> None:
    written = '{"type":"objekt"}'
    assert spec.parse({**GOOD, "output_schema": written}, is_new=False).plain()["output_schema"] == written


def test_references_and_the_order_of_keys_are_kept_to_the_character() -> None:
    written = '{ "type":"object",\n "$defs":{"b":{"type":"string"},"a":{}}, "properties":{"z":{"$ref":"#/$defs/b"}} }'
    assert spec.parse({**GOOD, "output_schema": written}).plain()["output_schema"] == written


@pytest.mark.django_db
def test_a_broken_schema_is_refused_before_anything_is_saved(owner_api: APIClient, prompt: Prompt) -> None:
    body = {"spec": {**GOOD, "output_schema": '{"type":"objekt"}'}}
    answer = owner_api.post(f"/api/v1/prompts/{prompt.pk}/versions", body, format="json")
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "spec.output_schema.type")
    assert not Version.objects.filter(prompt=prompt).exists()


@pytest.mark.django_db
def test_an_old_version_with_a_broken_schema_loads_and_runs(
    owner_api: APIClient, prompt: Prompt, save: Callable[..., SavedVersion]
) -> None:
    old = spec.parse({**GOOD, "output_schema": '{"type":"objekt"}'}, is_new=False)
    number = save_version(author=prompt.owner, prompt=prompt, spec=old).version.number
    url = f"/api/v1/prompts/{prompt.pk}/versions/{number}"
    read = owner_api.get(url, {"include": "texts"}).json()["spec"]
    assert json.loads(read["output_schema"]) == {"type": "objekt"}
    assert owner_api.post(f"{url}/runs", {}, format="json").status_code == 201
