from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import ApiKey, User
from accounts.services import revoke_api_key
from core.ids import new_id
from tests.people import SIGN_IN_BACKEND

pytestmark = pytest.mark.django_db
MakeKey = Callable[..., tuple[ApiKey, str]]


def test_a_revoked_key_is_refused_at_once(owner: User, owner_browser: Client, make_key: MakeKey) -> None:
    key, plaintext = make_key(owner)
    program = APIClient()
    program.credentials(HTTP_AUTHORIZATION=f"Bearer {plaintext}")
    assert program.get("/api/v1/me").status_code == 200

    assert owner_browser.delete(f"/api/v1/keys/{key.pk}").status_code == 204

    assert program.get("/api/v1/me").status_code == 401


def test_the_row_stays_to_name_what_the_key_did(owner: User, owner_browser: Client, make_key: MakeKey) -> None:
    key, _ = make_key(owner)

    owner_browser.delete(f"/api/v1/keys/{key.pk}")

    key.refresh_from_db()
    assert key.revoked_at is not None


def test_twice_is_not_found_and_keeps_the_first_time(owner: User, owner_browser: Client, make_key: MakeKey) -> None:
    key, _ = make_key(owner)
    owner_browser.delete(f"/api/v1/keys/{key.pk}")
    first = revoke_api_key(key=key).revoked_at

    assert owner_browser.delete(f"/api/v1/keys/{key.pk}").status_code == 404
    assert revoke_api_key(key=key).revoked_at == first


@pytest.mark.parametrize("person", ["friend_browser", "stranger_browser"])
def test_others_cannot_tell_that_it_exists(
    request: pytest.FixtureRequest, owner: User, make_key: MakeKey, person: str
) -> None:
    key, _ = make_key(owner)
    browser: Client = request.getfixturevalue(person)

    theirs = browser.delete(f"/api/v1/keys/{key.pk}")
    absent = browser.delete(f"/api/v1/keys/{new_id()}")

    assert theirs.status_code == absent.status_code == 404
    assert theirs.json()["error"] == absent.json()["error"]
    key.refresh_from_db()
    assert key.revoked_at is None


def test_a_leaked_key_cannot_revoke_the_others(owner: User, owner_api: APIClient, make_key: MakeKey) -> None:
    key, _ = make_key(owner)

    response = owner_api.delete(f"/api/v1/keys/{key.pk}")

    assert response.status_code == 403
    assert response.json()["error"]["code"] == "not_its_own"


def test_a_key_may_revoke_what_it_made(owner_api: APIClient) -> None:
    child = owner_api.post("/api/v1/keys", {"name": "Child"}, format="json").json()

    assert owner_api.delete(f"/api/v1/keys/{child['id']}").status_code == 204
    assert owner_api.get("/api/v1/me").status_code == 200


def test_a_foreign_page_cannot(owner: User, make_key: MakeKey) -> None:
    key, _ = make_key(owner)
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(owner, backend=SIGN_IN_BACKEND)

    assert browser.delete(f"/api/v1/keys/{key.pk}").status_code == 403


def test_nobody_is_refused(owner: User, anonymous_api: APIClient, make_key: MakeKey) -> None:
    key, _ = make_key(owner)

    assert anonymous_api.delete(f"/api/v1/keys/{key.pk}").status_code == 401


@pytest.mark.parametrize("bad_id", ["1", "abc", "00000000-0000-0000-0000-00000000000g"])
def test_a_bad_id_is_not_found(owner_browser: Client, bad_id: str) -> None:
    response = owner_browser.delete(f"/api/v1/keys/{bad_id}")

    assert response.status_code == 404
    assert response.json()["error"]["code"] == "not_found"


def test_a_single_key_can_only_be_revoked(owner: User, owner_browser: Client, make_key: MakeKey) -> None:
    key, _ = make_key(owner)

    assert owner_browser.get(f"/api/v1/keys/{key.pk}").status_code == 405
