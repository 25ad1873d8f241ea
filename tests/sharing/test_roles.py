"""What each role may do with a prompt, and that only an expiry that has not come counts."""

from __future__ import annotations

import datetime as dt

import pytest
from django.utils import timezone

from accounts.models import User
from accounts.services import deactivate_account
from playground import access, services
from playground.models import Prompt
from sharing.models import Grant
from sharing.services import change_grant, grant_access, revoke_grant

pytestmark = pytest.mark.django_db

EVERY = (access.VIEW, access.COMMENT, access.CHANGE, access.RUN, access.LABEL, access.SHARE, access.OWN)
MAY = {
    "viewer": {access.VIEW},
    "commenter": {access.VIEW, access.COMMENT},
    "editor": {access.VIEW, access.COMMENT, access.CHANGE, access.RUN, access.LABEL},
}


def allowed(person: User, prompt: Prompt) -> set[str]:
    return {permission for permission in EVERY if person.has_perm(permission, prompt)}


def test_the_owner_may_everything(owner: User, prompt: Prompt) -> None:
    assert allowed(owner, prompt) == set(EVERY)


@pytest.mark.parametrize("role", MAY)
def test_each_role_may_what_it_says(owner: User, friend: User, prompt: Prompt, role: str) -> None:
    grant_access(person=owner, prompt=prompt, account=friend, role=role)
    assert allowed(friend, prompt) == MAY[role]


def test_an_editor_who_is_let_share_may_share_and_does_not_own(owner: User, friend: User, prompt: Prompt) -> None:
    grant_access(person=owner, prompt=prompt, account=friend, role="editor", may_share=True)
    assert allowed(friend, prompt) == MAY["editor"] | {access.SHARE}


@pytest.mark.parametrize("ended", ["revoked", "expired", "trashed", "switched off"])
def test_what_has_ended_allows_nothing(owner: User, friend: User, prompt: Prompt, grant: Grant, ended: str) -> None:
    assert allowed(friend, prompt)
    if ended == "revoked":
        revoke_grant(person=owner, grant=grant)
    elif ended == "expired":
        Grant.objects.filter(pk=grant.pk).update(expires_at=timezone.now() - dt.timedelta(seconds=1))
        Prompt.objects.filter(pk=prompt.pk).update(acl_epoch=prompt.acl_epoch + 1)
    elif ended == "trashed":
        services.trash_prompt(prompt=prompt)
    else:
        deactivate_account(account=friend)
    assert allowed(friend, Prompt.objects.get(pk=prompt.pk)) == set()


def test_an_expiry_is_an_instant_also_for_a_decision_that_is_kept(friend: User, grant: Grant, prompt: Prompt) -> None:
    ends_at = timezone.now() + dt.timedelta(seconds=0.3)
    Grant.objects.filter(pk=grant.pk).update(expires_at=ends_at)
    assert friend.has_perm(access.VIEW, prompt)
    while timezone.now() < ends_at:
        pass
    assert not friend.has_perm(access.VIEW, prompt)


@pytest.mark.parametrize("zone_hours", [9, -6])
def test_an_expiry_is_the_same_instant_in_every_time_zone(owner: User, grant: Grant, zone_hours: int) -> None:
    zone = dt.timezone(dt.timedelta(hours=zone_hours))
    local = (timezone.now() + dt.timedelta(days=1)).astimezone(zone).replace(hour=23, minute=30)
    changed = change_grant(person=owner, grant=grant, expires_at=local)
    changed.refresh_from_db()
    assert changed.expires_at == local


def test_what_is_written_is_asked_of_the_database_each_time(
    owner: User, friend: User, prompt: Prompt, django_assert_num_queries: object
) -> None:
    grant_access(person=owner, prompt=prompt, account=friend, role="editor")
    assert friend.has_perm(access.CHANGE, prompt)
    Grant.objects.filter(account=friend).update(role="viewer")  # by hand, so that no epoch tells
    assert not friend.has_perm(access.CHANGE, prompt)


def test_a_read_costs_no_query_for_some_seconds(
    friend: User, prompt: Prompt, grant: Grant, django_assert_num_queries: object
) -> None:
    assert friend.has_perm(access.VIEW, prompt)
    with django_assert_num_queries(0):  # type: ignore[operator]
        assert friend.has_perm(access.VIEW, prompt)


def test_with_a_bound_of_nothing_each_read_is_asked_about(
    friend: User, prompt: Prompt, grant: Grant, settings: object, django_assert_num_queries: object
) -> None:
    settings.SHARING_BOUND_S = 0  # type: ignore[attr-defined]
    for _ in range(2):
        with django_assert_num_queries(1):  # type: ignore[operator]
            assert friend.has_perm(access.VIEW, prompt)


def test_what_is_shared_again_works_at_once(owner: User, friend: User, prompt: Prompt, grant: Grant) -> None:
    revoke_grant(person=owner, grant=grant)
    assert not friend.has_perm(access.VIEW, Prompt.objects.get(pk=prompt.pk))
    grant_access(person=owner, prompt=prompt, account=friend, role="viewer")
    assert friend.has_perm(access.VIEW, Prompt.objects.get(pk=prompt.pk))
