from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import User

pytestmark = pytest.mark.django_db


def test_an_operator_changes_a_tier(owner: User, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("change_tier", "Owner@example.com", "internal")

    owner.refresh_from_db()
    assert owner.tier == "internal"
    assert capsys.readouterr().out == "owner@example.com is internal.\n"


def test_there_are_only_three_tiers(owner: User) -> None:
    with pytest.raises(CommandError, match="gold"):
        call_command("change_tier", "owner@example.com", "gold")


def test_an_account_is_switched_off_and_on_again(owner: User, owner_api: APIClient, owner_browser: Client) -> None:
    call_command("deactivate_account", "owner@example.com")
    assert owner_api.get("/api/v1/me").status_code == 401
    assert owner_browser.get("/api/v1/me").status_code == 401

    call_command("deactivate_account", "owner@example.com", undo=True)
    assert owner_api.get("/api/v1/me").status_code == 200


@pytest.mark.parametrize(
    "command", [("change_tier", "nobody@example.com", "pro"), ("deactivate_account", "nobody@example.com")]
)
def test_an_unknown_address_is_said_to_be_unknown(command: tuple[str, ...]) -> None:
    with pytest.raises(CommandError, match="no account"):
        call_command(*command)
