"""Files of test cases, sent as a browser does: announced, put, completed; then read by the worker."""

from __future__ import annotations

import uuid
from typing import Any

from rest_framework.test import APIClient

from batches.services import reading
from playground.models import Prompt
from tests.batches.conftest import API
from tests.playground.uploading import put, sha256


def announce(api: APIClient, prompt: Prompt, data: bytes, **changes: Any) -> Any:
    """The response to announcing a CSV file."""
    declared = {"name": "Cases", "format": "csv", "size": len(data), "sha256": sha256(data), **changes}
    return api.post(f"{API}/prompts/{prompt.pk}/datasets", declared, format="json")


def send(api: APIClient, prompt: Prompt, data: bytes, **changes: Any) -> dict[str, Any]:
    """Announced, sent past the application, completed: the dataset as it is queued."""
    announced = announce(api, prompt, data, **changes)
    assert announced.status_code == 201, announced.content
    started: dict[str, Any] = announced.json()
    assert put(started, data).is_success
    answer = api.post(f"{API}/datasets/{started['id']}/complete")
    assert answer.status_code == 202, answer.content
    queued: dict[str, Any] = answer.json()
    return queued


def work(queued: dict[str, Any]) -> None:
    """What the worker does."""
    reading.read_file(dataset_id=uuid.UUID(queued["id"]))


def state_of(api: APIClient, queued: dict[str, Any]) -> dict[str, Any]:
    answer = api.get(f"{API}/datasets/{queued['id']}")
    assert answer.status_code == 200, answer.content
    shown: dict[str, Any] = answer.json()
    return shown


def taken_in(api: APIClient, prompt: Prompt, data: bytes, **changes: Any) -> dict[str, Any]:
    """All of it: the dataset after the worker has read its file."""
    queued = send(api, prompt, data, **changes)
    work(queued)
    return state_of(api, queued)


def rows_of(api: APIClient, dataset: dict[str, Any], **query: Any) -> list[Any]:
    answer = api.get(f"{API}/datasets/{dataset['id']}/rows", query)
    assert answer.status_code == 200, answer.content
    found: list[Any] = answer.json()["results"]
    return found
