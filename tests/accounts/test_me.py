from __future__ import annotations

import pytest
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import User

pytestmark = pytest.mark.django_db


def test_a_key_tells_whose_it_is(owner: User, owner_api: APIClient) -> None:
    response = owner_api.get("/api/v1/me")

    assert response.status_code == 200
    assert response.json() == {"id": str(owner.pk), "email": "owner@example.com", "name": "Olive Owner", "tier": "free"}


def test_a_session_tells_whose_it_is(owner_browser: Client) -> None:
    assert owner_browser.get("/api/v1/me").json()["email"] == "owner@example.com"


def test_a_stranger_sees_only_himself(owner: User, stranger_api: APIClient) -> None:
    assert stranger_api.get("/api/v1/me").json()["email"] == "stranger@example.com"


def test_nobody_is_told_to_authenticate(anonymous_api: APIClient) -> None:
    response = anonymous_api.get("/api/v1/me")

    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "Bearer"
    assert response.json()["error"]["code"] == "not_authenticated"
    assert response.json()["request_id"] == response["X-Request-ID"]


@pytest.mark.parametrize("verb", ["post", "put", "patch", "delete"])
def test_it_can_only_be_read(owner_api: APIClient, verb: str) -> None:
    assert getattr(owner_api, verb)("/api/v1/me").status_code == 405
