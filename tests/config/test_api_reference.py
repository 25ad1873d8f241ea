from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
from django.test import Client

from config.api_reference import Call, Words, read_sections, words
from config.operations import api_schema

SCHEMA: dict[str, Any] = {
    "paths": {
        "/api/v1/things/{id}": {
            "post": {
                "operationId": "things_change",
                "summary": "Change a thing",
                "tags": ["things"],
                "security": [{"apiKey": []}],
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "schema": {"type": "string", "format": "uuid"}}
                ],
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}},
                "responses": {
                    "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}},
                    "404": {"description": "Not yours."},
                },
            }
        }
    },
    "components": {
        "schemas": {
            "Thing": {
                "type": "object",
                "required": ["name", "parts"],
                "properties": {
                    "name": {"type": "string", "description": "What it's called", "example": "it's"},
                    "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Part"}},
                    "self": {"$ref": "#/components/schemas/Thing"},
                },
            },
            "Part": {
                "type": "object",
                "required": ["kind"],
                "properties": {
                    "kind": {"enum": ["a", "b"]},
                    "size": {"oneOf": [{"type": "integer"}, {"type": "null"}]},
                },
            },
        }
    },
}


@pytest.fixture
def call() -> Call:
    [section] = read_sections(SCHEMA, public_url="https://prompts.example.com")
    assert section.name == "things"
    return section.calls[0]


def test_a_call_is_named_with_its_parameters_and_answers(call: Call) -> None:
    assert (call.method, call.path, call.summary) == ("POST", "/api/v1/things/{id}", "Change a thing")
    assert [(field.name, field.type, field.required) for field in call.parameters] == [
        ("id", "uuid, in the path", True)
    ]
    assert [(answer.status, answer.meaning) for answer in call.answers] == [("200", "OK"), ("404", "Not yours.")]


def test_nested_fields_have_their_path(call: Call) -> None:
    fields = {field.name: field for field in call.body}

    assert fields["name"].description == words("What it's called")
    assert fields["parts[].kind"].type == '"a" | "b"'
    assert fields["parts[].size"].type == "integer or null"
    assert fields["parts[].kind"].required
    assert not fields["parts[].size"].required


def test_what_stands_between_backticks_is_code() -> None:
    assert words("Use `name`.") == (
        Words(text="Use ", code=False),
        Words(text="name", code=True),
        Words(text=".", code=False),
    )


def test_a_schema_that_holds_itself_ends(call: Call) -> None:
    assert len(call.body) < 100


def test_the_example_is_a_command_that_a_shell_reads_as_meant(call: Call) -> None:
    words = shlex.split(call.curl.replace("\\\n", " "))

    assert words[:4] == ["curl", "-X", "POST", "https://prompts.example.com/api/v1/things/id"]
    assert json.loads(words[-1]) == {"name": "it's", "parts": [{"kind": "a"}]}


def test_the_page_shows_every_call_of_the_schema() -> None:
    response = Client().get("/api/docs/")

    assert response.status_code == 200
    for item in api_schema()["paths"].values():
        for operation in item.values():
            assert f'id="{operation["operationId"]}"' in response.text


def test_the_page_needs_no_script_of_its_own_and_nobody_elses() -> None:
    text = Client().get("/api/docs/").text

    assert "<style" not in text
    assert "onclick" not in text
    assert "https://cdn" not in text


def test_the_schema_is_generated_without_a_complaint(capsys: pytest.CaptureFixture[str]) -> None:
    api_schema()

    complaints = capsys.readouterr().err
    assert "accounts" not in complaints, complaints
