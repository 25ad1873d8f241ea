from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts.models import User
from core.redis import client
from playground import services
from playground.models import Prompt
from playground.services import SavedVersion
from playground.spec import parse
from sharing.services import grant_access
from tests.batches.running import Work
from tests.inference_client.upstream import Upstream

API = "/api/v1"


@pytest.fixture(autouse=True)
def no_messages() -> None:
    """What earlier tests enqueued is of rows that are gone."""
    connection = client()
    for pattern in ("celery*", "batches*", "upkeep*", "unacked*", "run:*"):
        if names := list(connection.scan_iter(pattern, count=1000)):
            connection.delete(*names)


@pytest.fixture
def prompt(owner: User) -> Prompt:
    return services.create_prompt(owner=owner, name="Greeting")


@pytest.fixture
def shared(owner: User, friend: User, prompt: Prompt) -> Prompt:
    """`prompt`, which the friend may edit, too."""
    grant_access(person=owner, prompt=prompt, account=friend, role="editor")
    return prompt


@pytest.fixture
def save(owner: User, prompt: Prompt) -> Callable[..., SavedVersion]:
    """`save(text, **fields of the spec)`: a version of `prompt` by its owner."""

    def make(text: str = "Greet {{name}}.", **fields: Any) -> SavedVersion:
        spec = {"model": "tiny", "max_tokens": 16, "messages": [{"role": "user", "content": text}], **fields}
        return services.save_version(author=owner, prompt=prompt, spec=parse(spec))

    return make


@pytest.fixture
def upstream(settings: Settings) -> Iterator[Upstream]:
    """The scripted model server, as the one that runs are sent to."""
    server = Upstream()
    settings.INFERENCE_BASE_URL = server.url
    settings.INFERENCE_API_KEY = "sk-test"
    yield server
    server.close()


@pytest.fixture
def work(upstream: Upstream) -> Work:
    """The workers, a step at a time, with an upstream that answers `answer of ...`."""
    return Work(upstream)


@pytest.fixture
def start(owner_api: APIClient, prompt: Prompt) -> Callable[..., dict[str, Any]]:
    """`start(rows, versions=[1], checks=[...], **more)`: a batch of the owner, as the API answers it."""

    def make(rows: list[Any], *, api: APIClient = owner_api, **asked: Any) -> dict[str, Any]:
        body = {"rows": rows, "versions": [1], **asked}
        answer = api.post(f"{API}/prompts/{prompt.pk}/batches", body, format="json")
        assert answer.status_code == 201, answer.content
        made: dict[str, Any] = answer.json()
        return made

    return make
