from __future__ import annotations

import os
import subprocess
import sys

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from rest_framework.test import APIClient

from accounts.models import ApiKey, User
from accounts.services import deactivate_account

pytestmark = pytest.mark.django_db


def test_it_prints_nothing_but_a_key_that_works(owner: User, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("create_api_key", "Owner@Example.com")

    output = capsys.readouterr()
    key = output.out.removesuffix("\n")
    assert key.startswith("ppk_")
    assert len(key.split()) == 1
    assert output.err == ""
    assert APIClient().get("/api/v1/me", headers={"Authorization": f"Bearer {key}"}).status_code == 200


def test_name_and_scopes_can_be_chosen(owner: User) -> None:
    call_command("create_api_key", "owner@example.com", name="CI", scopes="inference")

    key = ApiKey.objects.get()
    assert (key.name, key.scopes) == ("CI", ["inference"])


def test_an_unknown_scope_is_named(owner: User) -> None:
    with pytest.raises(CommandError, match="api, inference"):
        call_command("create_api_key", "owner@example.com", scopes="root")


def test_a_switched_off_account_gets_none(owner: User) -> None:
    deactivate_account(account=owner)

    with pytest.raises(CommandError, match="switched off"):
        call_command("create_api_key", "owner@example.com")


def test_an_unknown_address_ends_with_an_error_and_an_empty_output() -> None:
    name = connection.settings_dict["NAME"]
    host, port, user = (connection.settings_dict[part] for part in ("HOST", "PORT", "USER"))
    password = connection.settings_dict["PASSWORD"]
    database = f"postgres://{user}:{password}@{host}:{port}/{name}"

    done = subprocess.run(
        [sys.executable, "-m", "django", "create_api_key", "nobody@example.com"],
        env={**os.environ, "DATABASE_URL": database},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 1
    assert done.stdout == ""
    assert "There is no account with the address nobody@example.com." in done.stderr
    assert "Traceback" not in done.stderr
