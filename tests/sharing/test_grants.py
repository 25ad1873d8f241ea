from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest
from django.utils import timezone

from accounts.models import User
from core.errors import InvalidInput, NotAllowed, NotFound
from playground.models import Prompt
from sharing.models import AccessLogEntry, Grant, Notification, ShareLink
from sharing.services import (
    change_grant,
    change_role,
    grant_access,
    leave_prompt,
    revoke_all,
    revoke_grant,
)
from tests.sharing.conftest import Link

pytestmark = pytest.mark.django_db


def test_a_prompt_is_shared_with_somebody_by_address(owner: User, friend: User, prompt: Prompt) -> None:
    grant = grant_access(person=owner, prompt=prompt, email="FRIEND@example.com ", role="editor")
    assert (grant.account, grant.role, grant.granted_by) == (friend, "editor", owner)


def test_who_it_is_shared_with_is_told(owner: User, friend: User, grant: Grant) -> None:
    told = Notification.objects.get(account=friend)
    assert (told.kind, told.actor, told.subject) == ("shared", owner, grant.pk)


def test_sharing_twice_changes_the_one_grant(owner: User, friend: User, prompt: Prompt, grant: Grant) -> None:
    again = grant_access(person=owner, prompt=prompt, account=friend, role="editor")
    assert (again.pk, again.role) == (grant.pk, "editor")


def test_nobody_learns_whether_an_account_is_absent_or_switched_off(
    owner: User, stranger: User, prompt: Prompt
) -> None:
    stranger.is_active = False
    stranger.save()
    problems = []
    for address in (stranger.email, "absent@example.com"):
        with pytest.raises(InvalidInput) as caught:
            grant_access(person=owner, prompt=prompt, email=address, role="viewer")
        problems.append((caught.value.code, caught.value.message))
    assert problems[0] == problems[1]


def test_only_the_owner_shares_unless_an_editor_is_let(
    owner: User, friend: User, stranger: User, prompt: Prompt
) -> None:
    grant_access(person=owner, prompt=prompt, account=friend, role="editor")
    with pytest.raises(NotAllowed):
        grant_access(person=friend, prompt=prompt, account=stranger, role="viewer")
    grant_access(person=owner, prompt=prompt, account=friend, role="editor", may_share=True)
    grant_access(person=friend, prompt=prompt, account=stranger, role="viewer")
    with pytest.raises(NotAllowed):
        grant_access(person=friend, prompt=prompt, account=stranger, role="editor", may_share=True)


def test_a_viewer_is_not_let_share(owner: User, friend: User, prompt: Prompt) -> None:
    with pytest.raises(InvalidInput):
        grant_access(person=owner, prompt=prompt, account=friend, role="viewer", may_share=True)


def test_who_cannot_see_it_finds_nothing_to_share(friend: User, stranger: User, prompt: Prompt) -> None:
    with pytest.raises(NotFound):
        grant_access(person=stranger, prompt=prompt, account=friend, role="viewer")


def test_an_editor_changes_the_grants_they_gave_and_no_others(
    owner: User, friend: User, stranger: User, make_person: object, prompt: Prompt
) -> None:
    other = make_person("other@example.com")  # type: ignore[operator]
    grant_access(person=owner, prompt=prompt, account=friend, role="editor", may_share=True)
    theirs = grant_access(person=friend, prompt=prompt, account=stranger, role="viewer")
    owners = grant_access(person=owner, prompt=prompt, account=other, role="viewer")
    with pytest.raises(NotAllowed):
        revoke_grant(person=friend, grant=owners)
    assert revoke_grant(person=friend, grant=theirs).revoked_at is not None


def test_sharing_again_is_no_way_to_change_what_somebody_else_gave(
    owner: User, friend: User, stranger: User, prompt: Prompt
) -> None:
    """Neither to lower another person nor to prolong what oneself has."""
    tomorrow = timezone.now() + dt.timedelta(days=1)
    grant_access(person=owner, prompt=prompt, account=friend, role="editor", may_share=True, expires_at=tomorrow)
    grant_access(person=owner, prompt=prompt, account=stranger, role="editor")
    for account, role in ((stranger, "viewer"), (friend, "editor")):
        with pytest.raises(NotAllowed):
            grant_access(person=friend, prompt=prompt, account=account, role=role)
    assert Grant.objects.on(prompt.pk).get(account=friend).expires_at == tomorrow
    assert Grant.objects.on(prompt.pk).get(account=stranger).role == "editor"


def test_what_has_expired_is_shared_anew_works_at_once_and_is_told(
    owner: User, friend: User, prompt: Prompt, grant: Grant
) -> None:
    assert friend.has_perm("playground.view_prompt", prompt)
    ended = timezone.now() - dt.timedelta(minutes=1)
    Grant.objects.filter(pk=grant.pk).update(expires_at=ended)
    again = grant_access(person=owner, prompt=prompt, account=friend, role="viewer")
    assert again.pk != grant.pk
    assert Grant.objects.get(pk=grant.pk).revoked_at == ended
    assert friend.has_perm("playground.view_prompt", Prompt.objects.get(pk=prompt.pk))
    assert Notification.objects.filter(account=friend, kind="shared").count() == 2


def test_what_is_not_changed_stays_as_it_is_now(owner: User, prompt: Prompt, grant: Grant) -> None:
    """Not as it was when whoever changes it looked."""
    grant_access(person=owner, prompt=prompt, account=grant.account, role="editor")
    seen = Grant.objects.get(pk=grant.pk)
    change_role(person=owner, grant=seen, role="viewer")
    later = timezone.now() + dt.timedelta(days=7)
    changed = change_grant(person=owner, grant=seen, expires_at=later)
    assert (changed.role, changed.expires_at) == ("viewer", later)


def test_each_change_that_could_take_something_away_raises_the_epoch(owner: User, prompt: Prompt, grant: Grant) -> None:
    epochs = [Prompt.objects.get(pk=prompt.pk).acl_epoch]
    changes: list[Callable[[], object]] = [
        lambda: change_role(person=owner, grant=grant, role="editor"),
        lambda: change_role(person=owner, grant=grant, role="viewer"),
        lambda: revoke_grant(person=owner, grant=grant),
    ]
    for change in changes:
        change()
        epochs.append(Prompt.objects.get(pk=prompt.pk).acl_epoch)
    assert epochs == sorted(set(epochs))
    revoke_grant(person=owner, grant=grant)
    assert Prompt.objects.get(pk=prompt.pk).acl_epoch == epochs[-1]


def test_links_of_an_editor_end_with_their_grant(owner: User, friend: User, prompt: Prompt, link: Link) -> None:
    given = grant_access(person=owner, prompt=prompt, account=friend, role="editor", may_share=True)
    made = link(person=friend).link
    kept = link().link
    revoke_grant(person=owner, grant=given)
    live = ShareLink.objects.live(timezone.now())
    assert not live.filter(pk=made.pk).exists()
    assert live.filter(pk=kept.pk).exists()


@pytest.mark.parametrize("narrowed", ["expired", "not let share any more"])
def test_links_of_an_editor_open_nothing_once_they_may_not_share(
    owner: User, friend: User, prompt: Prompt, link: Link, narrowed: str
) -> None:
    given = grant_access(person=owner, prompt=prompt, account=friend, role="editor", may_share=True)
    made = link(person=friend).link
    if narrowed == "expired":
        Grant.objects.filter(pk=given.pk).update(expires_at=timezone.now())
    else:
        grant_access(person=owner, prompt=prompt, account=friend, role="editor", may_share=False)
    assert not ShareLink.objects.live(timezone.now()).filter(pk=made.pk).exists()


def test_who_leaves_has_left_and_the_owner_is_told(owner: User, friend: User, prompt: Prompt, grant: Grant) -> None:
    assert leave_prompt(person=friend, prompt=prompt).revoked_at is not None
    assert Notification.objects.get(account=owner).kind == "left"
    with pytest.raises(NotFound):
        leave_prompt(person=friend, prompt=prompt)


def test_an_owner_cannot_leave(owner: User, prompt: Prompt) -> None:
    with pytest.raises(NotAllowed):
        leave_prompt(person=owner, prompt=prompt)


def test_everything_ends_at_once(owner: User, prompt: Prompt, grant: Grant, link: Link) -> None:
    link()
    moment = revoke_all(person=owner, prompt=prompt)
    assert Grant.objects.get(pk=grant.pk).revoked_at == moment
    assert Notification.objects.filter(account=grant.account, kind="access_ended").count() == 1
    assert not ShareLink.objects.on(prompt.pk).exists()


def test_an_expiry_in_the_past_or_without_a_zone_is_refused(owner: User, friend: User, prompt: Prompt) -> None:
    for wrong in (timezone.now() - dt.timedelta(seconds=1), dt.datetime(2100, 1, 1)):
        with pytest.raises(InvalidInput):
            grant_access(person=owner, prompt=prompt, account=friend, role="viewer", expires_at=wrong)


def test_changes_of_who_may_read_are_in_the_access_log(owner: User, prompt: Prompt, grant: Grant, link: Link) -> None:
    link()
    revoke_grant(person=owner, grant=grant)
    assert list(AccessLogEntry.objects.order_by("pk").values_list("what", flat=True)) == [
        "grant.given",
        "link.created",
        "grant.revoked",
    ]
