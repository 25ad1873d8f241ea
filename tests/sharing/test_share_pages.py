"""The pages of who shares: the dialog, all shares, the log, the QR code; and of who was shared with."""

from __future__ import annotations

import datetime as dt
import uuid
from xml.etree import ElementTree

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import DjangoAssertNumQueries

from accounts.models import User
from playground import services as playground_services
from playground.models import Prompt, Version
from sharing import kept, lists, notices, readers, rows, services
from sharing.models import AccessRequest, Grant, Notification, ShareLink
from tests.sharing.conftest import Link, Save

pytestmark = pytest.mark.django_db


def dialog(browser: Client, prompt: Prompt, **query: str) -> str:
    answer = browser.get(f"/prompts/{prompt.pk}/sharing/", query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_dialog_lists_people_and_links_with_a_last_line_in_words(
    owner_browser: Client, prompt: Prompt, version: Version, link: Link, grant: Grant
) -> None:
    link(note="For the <b>team</b>", password="open sesame", max_views=5)
    link(audience="signed_in")
    body = dialog(owner_browser, prompt, version="1")
    assert 'data-sentence="1 person, 1 public link and 1 link for signed-in people can read version 1."' in body
    assert grant.account.label in body
    assert "For the &lt;b&gt;team&lt;/b&gt;" in body
    assert "0 of 5 views" in body
    assert "Version 1, frozen for ever" in body
    assert "Whatever the branch main points at, now version 1" in body


def test_the_last_line_counts_what_opens_this_version_alone(
    owner: User, prompt: Prompt, version: Version, link: Link, save: Save
) -> None:
    pinned = link()
    second = save("Second", parent=version, branch="main")
    history = link(target=services.Target(version=second), shows_history=True)
    ended = link()
    ShareLink.objects.filter(pk=ended.link.pk).update(expires_at=timezone.now() - dt.timedelta(seconds=1))
    shown = rows.link_rows(
        ShareLink.objects.select_related("target_version").filter(
            pk__in=[pinned.link.pk, history.link.pk, ended.link.pk]
        ),
        timezone.now(),
    )
    assert readers.sentence(prompt, 1, [], shown) == "2 public links can read version 1."
    assert readers.sentence(prompt, 2, [], shown) == "1 public link can read version 2."
    assert readers.sentence(prompt, 1, [], []) == "Only its owner can read version 1."


def test_the_dialog_is_for_who_may_share(
    friend_browser: Client, stranger_browser: Client, client: Client, prompt: Prompt, grant: Grant, owner: User
) -> None:
    path = f"/prompts/{prompt.pk}/sharing/"
    assert friend_browser.get(path).status_code == 403
    assert stranger_browser.get(path).status_code == 404
    assert client.get(path).status_code == 302
    services.change_grant(person=owner, grant=grant, role="editor", may_share=True)
    body = friend_browser.get(path).content.decode()
    assert "Revoke everything" not in body
    assert owner.email not in body


def test_all_my_shares_are_on_one_page_with_their_last_use(
    owner_browser: Client, owner: User, prompt: Prompt, link: Link, grant: Grant
) -> None:
    made = link()
    ShareLink.objects.filter(pk=made.link.pk).update(last_used_at=timezone.now())
    body = owner_browser.get("/shares/").content.decode()
    assert prompt.name in body
    assert grant.account.label in body
    assert made.link.token_prefix in body
    assert "last used" in body
    assert "1 person and 1 link can read something of yours" in body


def test_what_was_revoked_is_not_on_the_page_of_shares(
    owner_browser: Client, owner: User, prompt: Prompt, link: Link, grant: Grant
) -> None:
    made = link()
    services.revoke_all(person=owner, prompt=prompt)
    body = owner_browser.get("/shares/").content.decode()
    assert made.link.token_prefix not in body
    assert "You share nothing." in body


def test_the_page_of_shares_costs_as_much_for_many_as_for_few(
    owner_browser: Client,
    owner: User,
    friend: User,
    save: Save,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    for number in range(6):
        other = playground_services.create_prompt(owner=owner, name=f"Prompt {number}")
        services.grant_access(person=owner, prompt=other, account=friend, role="viewer")
    with django_assert_max_num_queries(12):
        owner_browser.get("/shares/")


def test_home_shows_what_others_share_and_badges_say_how(
    friend_browser: Client, owner_browser: Client, prompt: Prompt, grant: Grant, link: Link, owner: User
) -> None:
    body = friend_browser.get("/").content.decode()
    assert "Shared with me" in body
    assert prompt.name in body
    assert "Viewer" in body
    link()
    assert "Shared: 1 person, 1 public link" in owner_browser.get("/").content.decode()


@pytest.mark.parametrize("page", ["", "compare/"])
def test_the_badge_is_wherever_the_prompt_is_named(
    owner_browser: Client,
    friend_browser: Client,
    prompt: Prompt,
    version: Version,
    grant: Grant,
    owner: User,
    page: str,
) -> None:
    assert "Shared: 1 person" in owner_browser.get(f"/prompts/{prompt.pk}/{page}").content.decode()
    seen = friend_browser.get(f"/prompts/{prompt.pk}/{page}").content.decode()
    assert f"{owner.label} shares this with you as a viewer" in seen


def test_who_may_only_read_is_offered_nothing_else(
    friend_browser: Client, prompt: Prompt, version: Version, grant: Grant
) -> None:
    body = friend_browser.get(f"/prompts/{prompt.pk}/").content.decode()
    assert "Read only" in body
    assert "data-share-button" not in body
    assert 'data-opens="rename"' not in body
    assert 'value="trash"' not in body
    assert 'value="leave"' in body


def test_an_offered_prompt_is_taken_by_a_form(
    friend_browser: Client, friend: User, owner: User, prompt: Prompt, grant: Grant
) -> None:
    offer = services.offer_ownership(person=owner, prompt=prompt, to=friend)
    assert "offers you" in friend_browser.get("/").content.decode()
    assert friend_browser.post(f"/shared/transfers/{offer.pk}/", {"answer": "accept"}).status_code == 302
    prompt.refresh_from_db()
    assert prompt.owner_id == friend.pk
    over = friend_browser.post(f"/shared/transfers/{offer.pk}/", {"answer": "accept"})
    assert over.status_code == 409


def test_an_offer_to_somebody_else_is_not_there(
    stranger_browser: Client, friend: User, owner: User, prompt: Prompt, grant: Grant
) -> None:
    offer = services.offer_ownership(person=owner, prompt=prompt, to=friend)
    for pk in (offer.pk, uuid.uuid4()):
        assert stranger_browser.post(f"/shared/transfers/{pk}/", {"answer": "accept"}).status_code == 404


def test_a_request_is_answered_with_one_click_by_the_owner_alone(
    owner_browser: Client, stranger_browser: Client, friend: User, prompt: Prompt
) -> None:
    asked = AccessRequest.objects.create(prompt=prompt, account=friend)
    path = f"/shared/requests/{asked.pk}/"
    assert stranger_browser.post(path, {"role": "viewer"}).status_code == 404
    assert owner_browser.post(path, {"role": "viewer"}, headers={"Accept": "application/json"}).status_code == 204
    assert friend.has_perm("playground.view_prompt", prompt)


def test_who_asks_cannot_answer(friend_browser: Client, friend: User, prompt: Prompt) -> None:
    asked = AccessRequest.objects.create(prompt=prompt, account=friend)
    assert friend_browser.post(f"/shared/requests/{asked.pk}/", {"role": "editor"}).status_code == 404
    assert not friend.has_perm("playground.view_prompt", prompt)


def test_the_inbox_says_what_happened_until_it_was_read(
    friend_browser: Client, prompt: Prompt, grant: Grant, owner: User
) -> None:
    body = friend_browser.get("/notifications/").content.decode()
    assert "shared with you" in body
    assert owner.label in body
    assert "is-unread" in body
    friend_browser.post("/notifications/")
    assert "is-unread" not in friend_browser.get("/notifications/").content.decode()


def test_the_inbox_names_a_prompt_as_it_was_called_while_one_saw_it(
    friend_browser: Client, prompt: Prompt, grant: Grant, owner: User
) -> None:
    services.revoke_grant(person=owner, grant=grant)
    playground_services.update_prompt(prompt=prompt, name="A name that is newer than the access")
    body = friend_browser.get("/notifications/").content.decode()
    assert "newer than the access" not in body
    assert "Greeting" in body


def test_every_kind_of_notice_has_words(friend: User, owner: User, prompt: Prompt) -> None:
    kinds: tuple[str, ...] = ("shared", "role_changed", "access_requested", "access_granted", "access_declined")
    kinds += ("ownership_offered", "ownership_accepted", "ownership_declined", "mention", "reply", "comment")
    told = [
        Notification.objects.create(account=friend, prompt=prompt, actor=owner, kind=kind, subject=uuid.uuid4())
        for kind in kinds
    ]
    words = [notice.words for notice in notices.read(friend, told)]
    assert len(set(words)) == len(kinds)
    assert not [each for each in words if "something" in each]


def test_the_access_log_says_who_did_what_and_is_the_owners(
    owner_browser: Client, friend_browser: Client, client: Client, prompt: Prompt, link: Link, grant: Grant
) -> None:
    made = link()
    client.post(f"/s/{made.token}")
    client.get(f"/s/open/{made.link.pk}/")
    friend_browser.get(f"/prompts/{prompt.pk}/")
    body = owner_browser.get(f"/prompts/{prompt.pk}/access/").content.decode()
    for words in ("Opened the link", "Read the shared page", "Opened the prompt", made.link.token_prefix, "127.0.0.1"):
        assert words in body, words
    assert friend_browser.get(f"/prompts/{prompt.pk}/access/").status_code == 403


def test_a_page_that_stays_open_does_not_fill_the_log_and_its_refusal_is_in_it(
    owner_browser: Client, client: Client, prompt: Prompt, link: Link, owner: User
) -> None:
    made = link()
    client.post(f"/s/{made.token}")
    client.get(f"/s/open/{made.link.pk}/state/")
    path = f"/prompts/{prompt.pk}/access/"
    assert "Kept the page open" not in [row.what for row in owner_browser.get(path).context["rows"]]
    services.revoke_link(person=owner, link=made.link)
    # Some seconds later: what was decided a moment ago may be used again.
    kept.forget()
    client.get(f"/s/open/{made.link.pk}/state/")
    newest = owner_browser.get(path).context["rows"][0]
    assert (newest.what, newest.allowed, newest.reason) == ("Kept the page open", False, "revoked or ended")


def test_the_access_log_is_filtered_by_who_and_outcome(
    owner_browser: Client, friend_browser: Client, client: Client, prompt: Prompt, link: Link, grant: Grant
) -> None:
    made = link(password="open sesame")
    client.post(f"/s/{made.token}", {"password": "wrong"})
    friend_browser.get(f"/prompts/{prompt.pk}/")
    path = f"/prompts/{prompt.pk}/access/"

    def shown(**query: str) -> list[str]:
        return [row.what for row in owner_browser.get(path, query).context["rows"]]

    assert shown(outcome="refused") == ["Opened the link"]
    assert shown(who=f"person:{grant.account_id}") == ["Opened the prompt"]
    assert "Opened the link" in shown(who=f"link:{made.link.pk}")
    assert shown(who="link:nonsense") == []
    assert owner_browser.get(path, {"cursor": "x"}).status_code == 400


def test_the_file_of_the_access_log_holds_what_the_page_shows(
    owner_browser: Client, friend_browser: Client, client: Client, prompt: Prompt, link: Link, grant: Grant
) -> None:
    made = link(password="open sesame")
    client.post(f"/s/{made.token}", {"password": "wrong"})
    friend_browser.get(f"/prompts/{prompt.pk}/")

    def lines(**query: str) -> list[str]:
        page = owner_browser.get(f"/prompts/{prompt.pk}/access/", query)
        rows = owner_browser.get(page.context["export"]).content.decode().splitlines()[1:]
        assert len(rows) == len(page.context["rows"])
        return [row.split(",")[4] for row in rows]

    assert lines(who=f"person:{grant.account_id}") == ["GET prompt"]
    assert lines(who=f"link:{made.link.pk}", outcome="refused") == ["opened"]
    assert lines(who=f"person:{grant.account_id}", outcome="refused") == []
    assert len(lines()) == 4


def test_runs_of_a_shared_prompt_bear_its_badge(
    owner_browser: Client, friend_browser: Client, friend: User, owner: User, prompt: Prompt, version: Version
) -> None:
    services.grant_access(person=owner, prompt=prompt, account=friend, role="editor")
    for person in (owner, friend):
        playground_services.run_version(account=person, version=version, values={"name": "Ada"})
    assert "Shared: 1 person" in owner_browser.get("/runs/").content.decode()
    assert f"{owner.label} shares this with you as an editor" in friend_browser.get("/runs/").content.decode()


def test_when_the_access_of_a_person_ends_can_be_changed_where_they_are_listed(
    owner_browser: Client, prompt: Prompt, grant: Grant
) -> None:
    for body in (dialog(owner_browser, prompt), owner_browser.get("/shares/").content.decode()):
        assert f'id="grant-{grant.pk}-expiry"' in body


def test_the_qr_code_is_drawn_for_addresses_of_links_alone(owner_browser: Client, client: Client, link: Link) -> None:
    url = f"{settings.PUBLIC_URL}/s/{link().token}"
    answer = owner_browser.post("/shares/qr/", {"url": url})
    assert answer["Content-Type"] == "image/svg+xml"
    assert ElementTree.fromstring(answer.content).tag.endswith("svg")  # made by ourselves
    for other in ("https://example.com/s/psl_aaaaaaaaaaaa", f"{settings.PUBLIC_URL}/", "", f"{url}/more"):
        assert owner_browser.post("/shares/qr/", {"url": other}).status_code == 400
    assert owner_browser.get("/shares/qr/").status_code == 405
    assert client.post("/shares/qr/", {"url": url}).status_code == 302


def test_the_list_of_what_is_shared_goes_on_behind_its_cursor(
    owner: User, friend: User, friend_browser: Client
) -> None:
    for number in range(lists.ROWS + 1):
        other = playground_services.create_prompt(owner=owner, name=f"Prompt {number:03}")
        services.grant_access(person=owner, prompt=other, account=friend, role="viewer")
    first = friend_browser.get("/shared/")
    assert len(first.context["rows"]) == lists.ROWS
    assert [grant.prompt.name for grant in friend_browser.get(f"/shared/{first.context['more']}").context["rows"]] == [
        "Prompt 000"
    ]
