from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pytest_django import Settings

from accounts.models import User
from playground import services
from playground.models import Prompt, Version
from playground.spec import parse
from sharing import access_log, kept
from sharing.models import Grant
from sharing.services import NewLink, Target, create_link, grant_access

Save = Callable[..., Version]
Link = Callable[..., NewLink]


@pytest.fixture(autouse=True)
def nothing_kept(settings: Settings) -> Iterator[None]:
    """Decisions of the tests before this one, and what was written to the log lately, are not this one's."""
    settings.SHARING_NEWS = False
    kept.forget()
    access_log.forget()
    yield
    kept.forget()


@pytest.fixture
def prompt(owner: User) -> Prompt:
    return services.create_prompt(owner=owner, name="Greeting")


@pytest.fixture
def save(owner: User, prompt: Prompt) -> Save:
    """`save("text", branch=..., author=...)`: a version of `prompt`, by its owner unless said otherwise."""

    def make(text: str = "Greet {{name}}.", *, author: User | None = None, **options: Any) -> Version:
        spec = parse({"model": "test-model", "max_tokens": 16, "messages": [{"role": "user", "content": text}]})
        return services.save_version(author=author or owner, prompt=prompt, spec=spec, **options).version

    return make


@pytest.fixture
def version(save: Save) -> Version:
    return save()


@pytest.fixture
def link(owner: User, prompt: Prompt, version: Version) -> Link:
    """`link(target=..., password=..., ...)`: a link of the owner's, public and pinned unless said otherwise."""

    def make(
        *, target: Target | None = None, audience: str = "public", person: User | None = None, **fields: Any
    ) -> NewLink:
        return create_link(
            person=person or owner,
            prompt=prompt,
            audience=audience,
            target=target or Target(version=version),
            **fields,
        )

    return make


@pytest.fixture
def grant(owner: User, friend: User, prompt: Prompt) -> Grant:
    """The friend is a viewer of `prompt`."""
    return grant_access(person=owner, prompt=prompt, account=friend, role="viewer")
