from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pytest_django import Settings

from accounts.models import User
from playground import services
from playground.bodies import objects
from playground.models import Prompt
from playground.services import SavedVersion
from playground.spec import parse
from sharing.services import grant_access
from tests.playground.store_front import Front


@pytest.fixture
def prompt(owner: User) -> Prompt:
    return services.create_prompt(owner=owner, name="Greeting")


@pytest.fixture
def shared(owner: User, friend: User, prompt: Prompt) -> Prompt:
    """`prompt`, which the friend may edit, too."""
    grant_access(person=owner, prompt=prompt, account=friend, role="editor")
    return prompt


@pytest.fixture
def raw_spec() -> dict[str, Any]:
    return {
        "model": "test-model",
        "max_tokens": 16,
        "system": "You greet people.",
        "messages": [{"role": "user", "content": "Greet {{name}}."}],
    }


@pytest.fixture
def save(owner: User, prompt: Prompt, raw_spec: dict[str, Any]) -> Callable[..., SavedVersion]:
    """`save(text="...", parent=..., branch=...)`: a version of `prompt` by its owner."""

    def make(text: str = "Greet {{name}}.", **options: Any) -> SavedVersion:
        spec = parse({**raw_spec, "messages": [{"role": "user", "content": text}]})
        return services.save_version(author=owner, prompt=prompt, spec=spec, **options)

    return make


@pytest.fixture
def front() -> Iterator[Front]:
    between = Front()
    yield between
    between.stop()


@pytest.fixture
def through(front: Front, settings: Settings) -> Iterator[Front]:
    """The whole application reads through `front`."""
    settings.S3_ENDPOINT_URL = front.url
    objects.forget_connections()
    yield front
    objects.forget_connections()


@pytest.fixture
def impatient(through: Front) -> Iterator[Front]:
    """A silent store is given up after half a second."""
    before = objects.SILENT_S
    objects.SILENT_S = 0.5
    objects.forget_connections()
    yield through
    objects.SILENT_S = before
    objects.forget_connections()
