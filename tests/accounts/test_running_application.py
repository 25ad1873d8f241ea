"""`manage.py up` as people run it: the key that the command prints works, and the application says it is ready."""

from __future__ import annotations

import httpx2
import pytest

from tests.services_plugin import Instance

pytestmark = pytest.mark.model


def test_it_is_ready_for_runs(live_stack: Instance) -> None:
    response = httpx2.get(f"{live_stack.base_url}/readyz", timeout=60)

    assert response.status_code == 200, response.text
    assert set(response.json()["checks"]) == {"database", "redis", "storage", "inference", "worker"}


def test_the_command_prints_a_key_and_nothing_else(live_stack: Instance) -> None:
    email = next(iter(live_stack.accounts))
    done = live_stack.manage("create_api_key", email)

    assert done.returncode == 0, done.stderr
    [key] = done.stdout.splitlines()
    me = httpx2.get(f"{live_stack.base_url}/api/v1/me", headers={"Authorization": f"Bearer {key}"}, timeout=60)
    assert me.json()["email"] == email
    models = httpx2.get(
        f"{live_stack.environment['INFERENCE_BASE_URL']}/v1/models",
        headers={"x-api-key": key, "anthropic-version": "2023-06-01"},
        timeout=60,
    )
    assert models.status_code == 200


def test_an_unknown_address_is_an_error_and_prints_nothing(live_stack: Instance) -> None:
    done = live_stack.manage("create_api_key", "nobody@example.com")

    assert (done.returncode, done.stdout) == (1, "")
    assert "nobody@example.com" in done.stderr
