"""Who may do what with a prompt: the owner everything, everybody else nothing, until something is shared."""

from __future__ import annotations

import pytest
from django.test import Client

from accounts.models import User
from playground import access, services
from playground.models import Prompt

pytestmark = pytest.mark.django_db
PERMISSIONS = ["playground.view_prompt", "playground.change_prompt", "playground.run_prompt"]


@pytest.fixture
def prompt(owner: User) -> Prompt:
    return services.create_prompt(owner=owner, name="Mine")


@pytest.mark.parametrize("permission", PERMISSIONS)
def test_the_owner_may(owner: User, prompt: Prompt, permission: str) -> None:
    assert owner.has_perm(permission, prompt)


@pytest.mark.parametrize("permission", PERMISSIONS)
def test_nobody_else_may(friend: User, stranger: User, prompt: Prompt, permission: str) -> None:
    assert not friend.has_perm(permission, prompt)
    assert not stranger.has_perm(permission, prompt)


def test_an_unknown_permission_is_denied(owner: User, prompt: Prompt) -> None:
    assert not owner.has_perm("playground.steal_prompt", prompt)


def test_a_permission_without_an_object_is_denied(owner: User) -> None:
    assert not owner.has_perm("playground.view_prompt")


def test_a_deactivated_owner_may_nothing(owner: User, prompt: Prompt) -> None:
    owner.is_active = False
    owner.save()
    assert not owner.has_perm("playground.view_prompt", prompt)


def test_a_stranger_who_is_superuser_of_nothing_here_is_still_checked_by_object(stranger: User, prompt: Prompt) -> None:
    """`is_staff` gives no right on a prompt."""
    stranger.is_staff = True
    stranger.save()
    assert not stranger.has_perm("playground.view_prompt", prompt)


def test_an_administrator_reads_only_what_is_shared_with_them(stranger: User, prompt: Prompt, client: Client) -> None:
    User.objects.filter(pk=stranger.pk).update(is_superuser=True, is_staff=True)
    administrator = User.objects.get(pk=stranger.pk)
    client.force_login(administrator)
    assert administrator.has_perm("auth.add_group")
    assert not administrator.has_perm(access.VIEW, prompt)
    assert client.get(f"/prompts/{prompt.pk}/").status_code == 404
    assert client.get(f"/api/v1/prompts/{prompt.pk}").status_code == 404
