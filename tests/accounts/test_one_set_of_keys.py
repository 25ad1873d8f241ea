"""The same key opens the REST API and the models, and closes both when it is revoked: the two run side by side here."""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx2
import pytest
from pytest_django import DjangoCaptureOnCommitCallbacks

from accounts.models import ApiKey, User
from accounts.services import deactivate_account, revoke_api_key
from tests.services_plugin import Instance

pytestmark = [pytest.mark.django_db, pytest.mark.model]
MakeKey = Callable[..., tuple[ApiKey, str]]

#: What the inference backend promises.
CLOSED_WITHIN_S = 5.0


@pytest.fixture
def models(inference_service: Instance) -> Callable[[str], int]:
    """The status of asking the inference backend for its models with a key."""
    url = f"{inference_service.environment['INFERENCE_BASE_URL']}/v1/models"

    def ask(key: str) -> int:
        return httpx2.get(url, headers={"x-api-key": key, "anthropic-version": "2023-06-01"}, timeout=60).status_code

    return ask


@pytest.fixture
def key(
    owner: User, make_key: MakeKey, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> tuple[ApiKey, str]:
    with django_capture_on_commit_callbacks(execute=True):
        return make_key(owner)


def closes(models: Callable[[str], int], key: str) -> bool:
    give_up_at = time.monotonic() + CLOSED_WITHIN_S + 0.5
    while time.monotonic() < give_up_at:
        if models(key) == 401:
            return True
        time.sleep(0.1)
    # A call may have begun in time and ended late.
    return models(key) == 401


def test_a_new_key_calls_models_at_once(models: Callable[[str], int], key: tuple[ApiKey, str]) -> None:
    assert models(key[1]) == 200


def test_a_made_up_key_calls_none(models: Callable[[str], int]) -> None:
    assert models("ppk_" + "A" * 43) == 401


def test_a_revoked_key_calls_none_after_five_seconds(
    models: Callable[[str], int],
    key: tuple[ApiKey, str],
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    assert models(key[1]) == 200

    with django_capture_on_commit_callbacks(execute=True):
        revoke_api_key(key=key[0])

    assert closes(models, key[1])


def test_the_keys_of_a_switched_off_account_call_none_after_five_seconds(
    owner: User,
    models: Callable[[str], int],
    key: tuple[ApiKey, str],
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    assert models(key[1]) == 200

    with django_capture_on_commit_callbacks(execute=True):
        deactivate_account(account=owner)

    assert closes(models, key[1])


def test_a_key_for_the_api_alone_calls_no_models(
    owner: User,
    models: Callable[[str], int],
    make_key: MakeKey,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        _, plaintext = make_key(owner, "api")

    assert models(plaintext) in (401, 403)
