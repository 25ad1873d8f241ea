from __future__ import annotations

from collections.abc import Callable

import pytest
from redis import Redis

from accounts.models import ApiKey, User
from accounts.services import ALL_SCOPES, create_api_key
from core.redis import client


@pytest.fixture(autouse=True)
def redis() -> Redis:
    """Redis without what other tests left in it of ours: mirrored keys, and attempts that were counted."""
    connection = client()
    for pattern in ("apikey*", "*allauth*"):
        names = list(connection.scan_iter(pattern, count=1000))
        if names:
            connection.delete(*names)
    return connection


@pytest.fixture
def make_key() -> Callable[..., tuple[ApiKey, str]]:
    def make(account: User, *scopes: str) -> tuple[ApiKey, str]:
        return create_api_key(account=account, name="Laptop", scopes=scopes or ALL_SCOPES)

    return make
