"""The three people of every test: the owner, a friend the owner may share with, and a stranger. A pytest plugin.

Models are imported inside the fixtures: a plugin is loaded before Django is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from django.conf import settings
from django.contrib.auth.hashers import reset_hashers
from django.test import Client

if TYPE_CHECKING:
    from rest_framework.test import APIClient

    from accounts.models import User

PASSWORD = "correct horse battery 7"
SIGN_IN_BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


@pytest.fixture(scope="session", autouse=True)
def cheap_passwords() -> Iterator[None]:
    """The real hash costs a third of a second a person, on purpose; no test is about that."""
    before = settings.PASSWORD_HASHERS
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    reset_hashers(setting="PASSWORD_HASHERS")
    yield
    settings.PASSWORD_HASHERS = before
    reset_hashers(setting="PASSWORD_HASHERS")


@pytest.fixture
def make_person(db: None) -> Callable[..., User]:
    """`make_person("ada@example.com", name=..., tier=...)`: an account with the password PASSWORD."""
    from accounts.services import create_account

    def make(email: str, **fields: str) -> User:
        return create_account(email=email, password=PASSWORD, **fields)

    return make


@pytest.fixture
def owner(make_person: Callable[..., User]) -> User:
    return make_person("owner@example.com", name="Olive Owner")


@pytest.fixture
def friend(make_person: Callable[..., User]) -> User:
    return make_person("friend@example.com", name="Frank Friend")


@pytest.fixture
def stranger(make_person: Callable[..., User]) -> User:
    return make_person("stranger@example.com")


@pytest.fixture
def api_for() -> Callable[[User], APIClient]:
    """An API client that sends a key of the given person, with both scopes."""
    from rest_framework.test import APIClient

    from accounts.services import ALL_SCOPES, create_api_key

    def connect(person: User) -> APIClient:
        _, plaintext = create_api_key(account=person, name="Test", scopes=ALL_SCOPES)
        client = APIClient()
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {plaintext}")
        return client

    return connect


@pytest.fixture
def owner_api(owner: User, api_for: Callable[[User], APIClient]) -> APIClient:
    return api_for(owner)


@pytest.fixture
def friend_api(friend: User, api_for: Callable[[User], APIClient]) -> APIClient:
    return api_for(friend)


@pytest.fixture
def stranger_api(stranger: User, api_for: Callable[[User], APIClient]) -> APIClient:
    return api_for(stranger)


@pytest.fixture
def anonymous_api() -> APIClient:
    from rest_framework.test import APIClient

    return APIClient()


@pytest.fixture
def browser_for() -> Callable[[User], Client]:
    """A browser in which the given person is signed in; for calls of the API it sends JSON as well as any client."""

    def sign_in(person: User) -> Client:
        client = Client()
        client.force_login(person, backend=SIGN_IN_BACKEND)
        return client

    return sign_in


@pytest.fixture
def owner_browser(owner: User, browser_for: Callable[[User], Client]) -> Client:
    return browser_for(owner)


@pytest.fixture
def friend_browser(friend: User, browser_for: Callable[[User], Client]) -> Client:
    return browser_for(friend)


@pytest.fixture
def stranger_browser(stranger: User, browser_for: Callable[[User], Client]) -> Client:
    return browser_for(stranger)
