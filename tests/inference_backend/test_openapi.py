"""The OpenAPI document says what the service really takes and gives."""

import re
from typing import Any

import httpx2
import jsonschema
import pytest

from inference_backend.app import build_app
from inference_backend.openapi import build_document
from tests.inference_backend.conftest import settings_for
from tests.inference_backend.running import SERVICE_KEY
from tests.inference_backend.scripted_engine import MODEL

HEADERS = {"x-api-key": SERVICE_KEY, "anthropic-version": "2023-06-01"}
GOOD: dict[str, Any] = {"model": MODEL, "max_tokens": 50, "messages": [{"role": "user", "content": "hello"}]}


def check(name: str, instance: object) -> None:
    document = build_document()
    schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
    jsonschema.Draft202012Validator(schema).validate(instance)


def test_every_path_of_the_api_is_in_the_document() -> None:
    app = build_app(settings_for("http://127.0.0.1:1"))
    paths = {getattr(route, "path", "") for route in app.routes}
    assert {path for path in paths if path.startswith("/v1/")} == set(build_document()["paths"])


def test_every_reference_in_the_document_leads_somewhere() -> None:
    document = build_document()
    references = set(re.findall(r"#/components/schemas/([A-Za-z]+)", str(document)))
    assert references
    assert references <= set(document["components"]["schemas"])


def test_the_document_is_public(backend: str) -> None:
    response = httpx2.get(f"{backend}/openapi.json", trust_env=False)
    assert response.status_code == 200
    assert response.json()["openapi"].startswith("3.1")


def test_answers_are_as_documented(backend: str) -> None:
    check("MessagesRequest", GOOD)
    with httpx2.Client(base_url=backend, headers=HEADERS, trust_env=False) as client:
        check("MessageAnswer", client.post("/v1/messages", json=GOOD).json())
        check("Error", client.post("/v1/messages", json={}).json())
        prompt = {name: value for name, value in GOOD.items() if name != "max_tokens"}
        check("TokenCount", client.post("/v1/messages/count_tokens", json=prompt).json())
        check("ModelList", client.get("/v1/models").json())
        check("Model", client.get(f"/v1/models/{MODEL}").json())


def test_a_body_that_the_document_refuses_is_refused() -> None:
    with pytest.raises(jsonschema.ValidationError):
        check("MessagesRequest", GOOD | {"max_tokens": 0})
    with pytest.raises(jsonschema.ValidationError):
        check("MessagesRequest", GOOD | {"surprise": 1})
