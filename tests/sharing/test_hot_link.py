"""A link that everybody reads: no query a request for some seconds, and not one second longer."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from accounts.models import User
from accounts.services import deactivate_account
from playground import services
from playground.models import Prompt, Version
from sharing import access, kept, visits
from sharing.models import AccessLogEntry, ShareLink
from sharing.services import NewLink, Target, redeem_link, revoke_link
from tests.sharing.conftest import Link, Save

pytestmark = pytest.mark.django_db
Visit = Callable[[NewLink], Client]


@pytest.fixture
def visit() -> Visit:
    def come(made: NewLink) -> Client:
        browser = Client()
        cookie = redeem_link(token=made.token or "", person=None).cookie
        browser.cookies[visits.cookie_name(made.link.pk)] = cookie
        return browser

    return come


def queries(browser: Client, path: str, status: int = 200) -> int:
    with CaptureQueriesContext(connection) as asked:
        assert browser.get(path).status_code == status
    return len(asked)


def test_the_second_read_asks_the_database_nothing(link: Link, visit: Visit) -> None:
    made = link()
    browser, path = visit(made), f"/s/open/{made.link.pk}/"
    assert queries(browser, path) > 0
    assert queries(browser, path) == 0


def test_a_second_visitor_costs_an_entry_of_the_log_and_nothing_else(link: Link, visit: Visit) -> None:
    made = link()
    path = f"/s/open/{made.link.pk}/"
    first, second = visit(made), visit(made)
    queries(first, path)
    before = AccessLogEntry.objects.count()
    assert queries(second, path) == 1
    assert AccessLogEntry.objects.count() == before + 1


def test_with_a_bound_of_nothing_each_read_asks(link: Link, visit: Visit, settings: Settings) -> None:
    settings.SHARING_BOUND_S = 0
    made = link()
    browser, path = visit(made), f"/s/open/{made.link.pk}/state/"
    queries(browser, path)
    assert queries(browser, path) == 2


def test_a_revocation_in_this_process_is_seen_by_the_next_read(
    owner: User, link: Link, visit: Visit, django_capture_on_commit_callbacks: Callable[..., object]
) -> None:
    made = link()
    browser, path = visit(made), f"/s/open/{made.link.pk}/"
    queries(browser, path)
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[attr-defined]
        revoke_link(person=owner, link=made.link)
    assert browser.get(path).status_code == 404


@pytest.mark.parametrize("how", ["trash", "switched off"])
def test_what_ends_a_link_below_is_seen_by_the_next_read(
    owner: User,
    prompt: Prompt,
    link: Link,
    visit: Visit,
    django_capture_on_commit_callbacks: Callable[..., object],
    how: str,
) -> None:
    """Apps that know nothing of links end them, too, and other processes hear of it."""
    made = link()
    browser, path = visit(made), f"/s/open/{made.link.pk}/"
    queries(browser, path)
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[attr-defined]
        if how == "trash":
            services.trash_prompt(prompt=prompt)
        else:
            deactivate_account(account=owner)
    assert browser.get(path).status_code == 404


def test_a_decision_that_is_kept_shows_nothing_that_is_newer(
    owner: User, link: Link, save: Save, version: Version
) -> None:
    """The news is lost, the decision is young, and what it is asked for was made after access had ended."""
    made = link(shows_history=True, target=Target(branch="main"))
    decision = access.ask_about_link(made.link.pk)
    assert decision is not None
    revoke_link(person=owner, link=made.link)
    newer = save("Newer.")
    assert kept.links.kept(made.link.pk) is not None
    assert not decision.shows(newer.acl_epoch)
    assert kept.links.kept(made.link.pk, at_least=newer.acl_epoch) is None


def test_a_version_bears_the_epoch_of_the_transaction_that_made_it(
    owner: User, prompt: Prompt, link: Link, save: Save
) -> None:
    before = save("Before.").acl_epoch
    revoke_link(person=owner, link=link().link)
    after = save("After.").acl_epoch
    assert (after, after) == (before + 1, Prompt.objects.get(pk=prompt.pk).acl_epoch)


def test_an_owner_who_is_switched_off_shows_nothing_new(owner: User, link: Link, prompt: Prompt) -> None:
    made = link()
    decision = access.ask_about_link(made.link.pk)
    assert decision is not None
    deactivate_account(account=owner)
    assert not decision.shows(Prompt.objects.get(pk=prompt.pk).acl_epoch)
    assert access.ask_about_link(made.link.pk) is None


def test_a_shared_prompt_can_be_erased(owner: User, link: Link, prompt: Prompt, version: Version) -> None:
    link()
    services.erase_prompt(prompt=services.trash_prompt(prompt=prompt), confirmation=prompt.name)
    assert not ShareLink.objects.exists()
    assert not AccessLogEntry.objects.exists()
