"""Several people change who may read at the same moment: nothing slips through, and nobody waits for each other."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from django.db import connection, transaction

from accounts.models import User
from core.errors import NotFound
from playground.models import Prompt, Version
from sharing.models import Grant, ShareLink
from sharing.services import (
    Target,
    change_role,
    create_link,
    grant_access,
    narrow_link,
    revoke_all,
    revoke_grant,
    revoke_link,
    rotate_link,
)
from sharing.services.epochs import lock_prompt
from tests.sharing.conftest import Link
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def somebody_waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_stat_activity "
            "WHERE datname = current_database() AND wait_event_type = 'Lock')"
        )
        return bool(cursor.fetchone()[0])


def elsewhere(act: Callable[[], object]) -> object:
    """With a connection of its own; to be called in a thread."""
    try:
        return act()
    finally:
        connection.close()


@pytest.mark.parametrize("what", ["grant", "link"])
def test_who_is_being_removed_shares_nothing_on_the_way_out(
    owner: User, friend: User, stranger: User, prompt: Prompt, version: Version, what: str
) -> None:
    given = grant_access(person=owner, prompt=prompt, account=friend, role="editor", may_share=True)

    def share() -> object:
        if what == "grant":
            return grant_access(person=friend, prompt=prompt, account=stranger, role="viewer")
        return create_link(person=friend, prompt=prompt, audience="public", target=Target(version=version))

    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            revoke_grant(person=owner, grant=given)
            sharing = threads.submit(elsewhere, share)
            wait_until(somebody_waits_for_a_lock)
        with pytest.raises(NotFound):
            sharing.result(timeout=30)
    assert not Grant.objects.on(prompt.pk).exists()
    assert not ShareLink.objects.on(prompt.pk).exists()


CHANGES: dict[str, Callable[[User, Grant, ShareLink], object]] = {
    "change a role": lambda owner, grant, _: change_role(person=owner, grant=grant, role="commenter"),
    "remove somebody": lambda owner, grant, _: revoke_grant(person=owner, grant=grant),
    "revoke everything": lambda owner, grant, _: revoke_all(person=owner, prompt=grant.prompt),
    "change a link": lambda owner, _, made: narrow_link(person=owner, link=made, shows_history=True),
    "give a link a new address": lambda owner, _, made: rotate_link(person=owner, link=made),
    "revoke a link": lambda owner, _, made: revoke_link(person=owner, link=made),
}


@pytest.mark.parametrize("change", CHANGES)
def test_no_two_changes_wait_for_each_other(owner: User, prompt: Prompt, grant: Grant, link: Link, change: str) -> None:
    """One that began first goes on to its end whatever the other has begun: PostgreSQL has no circle to break."""
    made = link().link
    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            lock_prompt(prompt.pk)
            other = threads.submit(elsewhere, partial(CHANGES[change], owner, grant, made))
            wait_until(somebody_waits_for_a_lock)
            grant_access(person=owner, prompt=prompt, account=grant.account, role="editor")
            narrow_link(person=owner, link=ShareLink.objects.get(pk=made.pk), note="Changed meanwhile")
        other.result(timeout=30)
    assert ShareLink.objects.get(pk=made.pk).note == "Changed meanwhile"
