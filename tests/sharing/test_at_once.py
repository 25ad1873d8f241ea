"""Several people change who may read at the same moment: nothing slips through, and nobody waits for each other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

import pytest
from django.db import connection, transaction

from accounts.models import User
from core.errors import NotFound
from playground.models import Prompt, Version
from sharing.models import Grant, ShareLink
from sharing.services import Target, change_role, create_link, grant_access, revoke_all, revoke_grant
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


def give(owner: User, prompt: Prompt, friend: User) -> None:
    grant_access(person=owner, prompt=prompt, account=friend, role="viewer")


def change(owner: User, prompt: Prompt, friend: User) -> None:
    for grant in Grant.objects.on(prompt.pk).filter(account=friend):
        with suppress(NotFound):
            change_role(person=owner, grant=grant, role="commenter")


def end(owner: User, prompt: Prompt, friend: User) -> None:
    for grant in Grant.objects.on(prompt.pk).filter(account=friend):
        revoke_grant(person=owner, grant=grant)


def end_all(owner: User, prompt: Prompt, friend: User) -> None:
    give(owner, prompt, friend)
    revoke_all(person=owner, prompt=prompt)


def test_changes_at_the_same_moment_never_wait_for_each_other(owner: User, friend: User, prompt: Prompt) -> None:
    acts = (give, change, end, end_all)
    together = threading.Barrier(len(acts), timeout=60)

    def again_and_again(act: Callable[[User, Prompt, User], None]) -> None:
        for _ in range(15):
            together.wait()
            act(owner, prompt, friend)

    with ThreadPoolExecutor(len(acts)) as threads:
        running = [threads.submit(elsewhere, partial(again_and_again, act)) for act in acts]
    assert [done.exception() for done in running] == [None] * len(acts)
    assert Grant.objects.on(prompt.pk).count() <= 1
