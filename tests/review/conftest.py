from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from playground import services
from playground.models import Prompt, Version
from playground.spec import parse
from sharing.services import grant_access

POLITE = "Answer politely. Quote the invoice number in each answer. Never guess a total."


@pytest.fixture
def prompt(owner: User) -> Prompt:
    return services.create_prompt(owner=owner, name="Support answers")


@pytest.fixture
def save(owner: User, prompt: Prompt) -> Callable[..., Version]:
    """`save(text, parent=..., **spec)`: a version of `prompt` by its owner, with this text as the user's message."""

    def make(text: str = POLITE, *, parent: Version | None = None, branch: str = "main", **fields: Any) -> Version:
        raw = {"model": "test-model", "max_tokens": 16, "messages": [{"role": "user", "content": text}]} | fields
        saved = services.save_version(author=owner, prompt=prompt, spec=parse(raw), parent=parent, branch=branch)
        return saved.version

    return make


@pytest.fixture
def version(save: Callable[..., Version]) -> Version:
    return save()


@pytest.fixture
def share(owner: User, prompt: Prompt) -> Callable[..., None]:
    """`share(friend, "commenter")`"""

    def grant(person: User, role: str) -> None:
        grant_access(person=owner, prompt=prompt, account=person, role=role)

    return grant


@pytest.fixture
def friend_comments(friend: User, share: Callable[..., None]) -> None:
    share(friend, "commenter")


def passage(text: str, words: str, *, index: int = 0, nth: int = 0) -> dict[str, Any]:
    """The passage of an API call: where the `nth` of `words` is in `text`, in code points."""
    at = -1
    for _ in range(nth + 1):
        at = text.index(words, at + 1)
    return {"text": index, "start": at, "end": at + len(words), "quote": words}


Start = Callable[..., dict[str, Any]]


@pytest.fixture
def start(owner_api: APIClient, prompt: Prompt) -> Start:
    """`start(version, "words", body=..., api=...)`: a thread on these words of the version's only message."""

    def make(
        version: Version, words: str | None, *, text: str = POLITE, body: str = "Why?", api: APIClient | None = None
    ) -> dict[str, Any]:
        sent = {"body": body, "passage": passage(text, words) if words else None}
        url = f"/api/v1/prompts/{prompt.pk}/versions/{version.number}/threads"
        answer = (api or owner_api).post(url, sent, format="json")
        assert answer.status_code == 201, answer.content
        made: dict[str, Any] = answer.json()
        return made

    return make


Shown = Callable[..., dict[str, Any]]


@pytest.fixture
def shown(owner_api: APIClient, prompt: Prompt) -> Shown:
    """`shown(version)`: the list of threads that a version shows."""

    def read(version: Version, api: APIClient | None = None, **query: Any) -> dict[str, Any]:
        url = f"/api/v1/prompts/{prompt.pk}/versions/{version.number}/threads"
        answer = (api or owner_api).get(url, query)
        assert answer.status_code == 200, answer.content
        found: dict[str, Any] = answer.json()
        return found

    return read
