"""The pages of a link: looking redeems nothing, opening sets a cookie for this link alone, the rest is read only."""

from __future__ import annotations

import json
import re
import uuid
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from pytest_django.fixtures import DjangoAssertNumQueries, Settings

from accounts.models import User
from playground import services as playground_services
from playground.models import Prompt, Version
from playground.spec import parse
from sharing import kept, services, visits
from sharing.models import ShareLink
from sharing.services import NewLink, Target
from tests.sharing.conftest import Link, Save

pytestmark = pytest.mark.django_db

HEADERS = {
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
    "Cache-Control": "private, no-store",
}


def landing_of(made: NewLink) -> str:
    return f"/s/{made.token}"


def opened_by(client: Client, made: NewLink, **fields: str) -> str:
    """Opens a link and answers the address it leads to."""
    answer = client.post(landing_of(made), fields)
    assert answer.status_code == 302, answer.content.decode()
    return str(answer["Location"])


def without_ids(response: Any, *tokens: str) -> str:
    """The body without what differs from request to request."""
    body = response.content.decode()
    for token in tokens:
        body = body.replace(token, "TOKEN")
    return re.sub(r'nonce="[^"]*"|[0-9a-f-]{36}|[0-9a-f]{32}', "", body)


def test_looking_at_the_landing_page_opens_nothing(client: Client, link: Link) -> None:
    made = link(max_views=1)
    for _ in range(3):
        answer = client.get(landing_of(made))
        assert answer.status_code == 200
        assert not [name for name in answer.cookies if name.startswith("shared-")]
    assert ShareLink.objects.get(pk=made.link.pk).views == 0
    assert client.get(f"/s/open/{made.link.pk}/").status_code == 404


def test_the_landing_page_names_neither_the_prompt_nor_its_owner(
    client: Client, link: Link, prompt: Prompt, owner: User
) -> None:
    body = client.get(landing_of(link())).content.decode()
    assert prompt.name not in body
    assert owner.name not in body


def test_opening_sets_a_cookie_for_this_link_alone_and_leads_to_an_address_without_the_token(
    client: Client, link: Link
) -> None:
    made = link()
    answer = client.post(landing_of(made))
    assert answer["Location"] == f"/s/open/{made.link.pk}/"
    cookie = answer.cookies[visits.cookie_name(made.link.pk)]
    assert cookie["path"] == f"/s/open/{made.link.pk}/"
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert bool(cookie["secure"]) is settings.HTTPS
    assert made.token not in cookie.value
    assert client.get(answer["Location"]).status_code == 200


def test_a_form_without_a_referrer_is_taken(link: Link) -> None:
    strict = Client(enforce_csrf_checks=True)
    answer = strict.post(landing_of(link()), headers={"Origin": "null"})
    assert answer.status_code == 302


@pytest.mark.parametrize("path", ["", "state/", "versions/1/", "versions/1/texts/0", "versions/1/snippets/curl"])
def test_every_page_of_a_link_is_private_unindexed_and_without_a_referrer(
    client: Client, link: Link, path: str
) -> None:
    address = opened_by(client, link())
    for answer in (client.get(address + path), Client().get(address + path)):
        for name, value in HEADERS.items():
            assert answer[name] == value, name
        assert "Cookie" in answer["Vary"]


def test_the_landing_page_is_private_unindexed_and_without_a_referrer(client: Client, link: Link) -> None:
    for answer in (client.get(landing_of(link())), client.post(landing_of(link())), client.get("/s/psl_none")):
        for name, value in HEADERS.items():
            assert answer[name] == value, name


def test_absent_revoked_used_up_and_for_others_are_one_page(client: Client, link: Link, owner: User) -> None:
    revoked, signed_in, used_up = link(), link(audience="signed_in"), link(max_views=1)
    services.revoke_link(person=owner, link=revoked.link)
    opened_by(Client(), used_up)
    tokens = [str(made.token) for made in (revoked, signed_in, used_up)] + ["psl_" + "a" * 43]
    answers = [client.get(f"/s/{token}") for token in tokens] + [client.post(f"/s/{token}") for token in tokens]
    assert {answer.status_code for answer in answers} == {404}
    assert len({without_ids(answer, *tokens) for answer in answers}) == 1


def test_a_wrong_password_is_said_in_place_and_the_right_one_opens(client: Client, link: Link) -> None:
    made = link(password="open sesame")
    wrong = client.post(landing_of(made), {"password": "guess"})
    assert wrong.status_code == 400
    assert "not the password" in wrong.content.decode()
    assert not wrong.cookies.get(visits.cookie_name(made.link.pk))
    opened_by(client, made, password="open sesame")


def test_too_many_wrong_passwords_have_to_wait(client: Client, link: Link) -> None:
    made = link(password="open sesame")
    answers = [client.post(landing_of(made), {"password": f"guess {number}"}) for number in range(12)]
    assert answers[-1].status_code == 429
    assert int(answers[-1]["Retry-After"]) > 0
    assert client.post(landing_of(made), {"password": "open sesame"}).status_code == 429


def test_the_document_shows_texts_parameters_variables_message_and_says_that_it_is_frozen(
    client: Client, prompt: Prompt, owner: User
) -> None:
    spec = {
        "model": "test-model",
        "max_tokens": 1234,
        "temperature": 0.25,
        "system": "You are <em>terse</em>.",
        "messages": [
            {"role": "user", "content": "Greet {{name}}."},
            {"role": "assistant", "content": [{"type": "text", "text": "Hello {{friend}}"}]},
        ],
        "tools": '[{"name": "find", "input_schema": {"type": "object"}}]',
        "variables": [{"name": "name", "type": "text", "default": "Ada", "description": "Who is greeted"}],
    }
    saved = playground_services.save_version(author=owner, prompt=prompt, spec=parse(spec), message="Shorter now")
    made = services.create_link(person=owner, prompt=prompt, audience="public", target=Target(version=saved.version))
    body = client.get(opened_by(client, made)).content.decode()
    shown = ("&lt;em&gt;terse&lt;/em&gt;", "{{name}}", "{{friend}}", "1,234", "0.25", "Who is greeted", "Shorter now")
    assert [words for words in (*shown, "Frozen for ever", "Tools") if words not in body] == []


def test_a_following_link_says_so_and_moves_with_what_it_follows(client: Client, link: Link, save: Save) -> None:
    address = opened_by(client, link(target=Target(branch="main")))
    assert "Follows" in client.get(address).content.decode()
    assert client.get(f"{address}state/").json() == {"version": 1}
    first = Version.objects.get(number=1)
    save("Greet {{name}} again.", parent=first, branch="main")
    # Some seconds later: what was decided a moment ago may be used again.
    kept.forget()
    assert client.get(f"{address}state/").json() == {"version": 2}
    assert "again" in client.get(address).content.decode()


def test_a_pinned_link_never_moves(client: Client, link: Link, save: Save, version: Version) -> None:
    address = opened_by(client, link())
    save("Something newer", parent=version, branch="main")
    assert "newer" not in client.get(address).content.decode()
    assert client.get(f"{address}versions/2/").status_code == 404
    assert client.get(f"{address}versions/2/texts/0").status_code == 404


def test_history_is_shown_only_where_the_link_says_so_and_only_what_is_behind(
    client: Client, link: Link, save: Save, version: Version
) -> None:
    second = save("Second {{name}}", parent=version, branch="main", message="The second")
    save("A secret elsewhere", parent=version, branch="other", message="Elsewhere")
    closed = opened_by(client, link(target=Target(version=second)))
    assert client.get(f"{closed}versions/1/").status_code == 404
    assert "history behind" not in client.get(closed).content.decode()
    shown = opened_by(client, link(target=Target(version=second), shows_history=True))
    body = client.get(shown).content.decode()
    assert "history behind" in body
    assert "Elsewhere" not in body
    assert client.get(f"{shown}versions/1/").status_code == 200
    assert client.get(f"{shown}versions/3/").status_code == 404


def test_a_large_text_is_read_in_windows(client: Client, prompt: Prompt, owner: User) -> None:
    text = "\n".join(f"line {number} ä" for number in range(20_000))
    spec = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": text}]}
    saved = playground_services.save_version(author=owner, prompt=prompt, spec=parse(spec))
    made = services.create_link(person=owner, prompt=prompt, audience="public", target=Target(version=saved.version))
    address = opened_by(client, made)
    body = client.get(address).content.decode()
    assert "line 19999" not in body
    part = client.get(f"{address}versions/1/texts/0", headers={"Range": "bytes=0-5"})
    assert (part.status_code, part.content) == (206, b"line 0")
    assert client.get(f"{address}versions/1/texts/0/lines").json()["lines"] == 20_000
    found = client.get(f"{address}versions/1/texts/0/search", {"q": "LINE 19999"}).json()
    assert [match["line"] for match in found["matches"]] == [20_000]


def test_the_snippet_holds_no_key(client: Client, link: Link) -> None:
    address = opened_by(client, link())
    for language in ("curl", "python"):
        answer = client.get(f"{address}versions/1/snippets/{language}")
        assert answer["Content-Type"].startswith("text/plain")
        assert "Greet {{name}}." in answer.content.decode()
    assert client.get(f"{address}versions/1/snippets/cobol").status_code == 404


def test_after_a_revocation_every_page_is_the_same_404(client: Client, link: Link, owner: User) -> None:
    made = link()
    address = opened_by(client, made)
    services.revoke_link(person=owner, link=made.link)
    paths = ["", "state/", "versions/1/", "versions/1/texts/0", "versions/1/texts/0/lines", "versions/1/snippets/curl"]
    answers = [client.get(address + path) for path in paths]
    absent = client.get(f"/s/open/{uuid.uuid4()}/")
    assert {answer.status_code for answer in [*answers, absent]} == {404}
    assert len({without_ids(answer) for answer in [*answers, absent]}) == 1


def test_the_cookie_of_one_link_opens_no_other(client: Client, link: Link) -> None:
    one, other = link(), link()
    opened_by(client, one)
    value = client.cookies[visits.cookie_name(one.link.pk)].value
    client.cookies[visits.cookie_name(other.link.pk)] = value
    assert client.get(f"/s/open/{other.link.pk}/").status_code == 404


def test_a_link_for_signed_in_people_opens_after_signing_in(link: Link, friend_browser: Client, client: Client) -> None:
    made = link(audience="signed_in")
    nothing = client.get(landing_of(made)).content.decode()
    assert f"/accounts/login/?next=/s/{made.token}" in nothing
    address = opened_by(friend_browser, made)
    assert friend_browser.get(address).status_code == 200
    friend_browser.logout()
    assert friend_browser.get(address).status_code == 404


def test_forking_asks_to_sign_in_and_comes_back_to_the_fork(
    link: Link, client: Client, friend: User, browser_for: Any
) -> None:
    made = link()
    address = opened_by(client, made)
    asked = client.get(f"{address}fork/?version=1")
    assert asked.status_code == 302
    assert asked["Location"] == f"/accounts/login/?next={address}fork/%3Fversion%3D1"
    client.force_login(friend, backend="allauth.account.auth_backends.AuthenticationBackend")
    form = client.get(f"{address}fork/?version=1")
    assert form["Referrer-Policy"] == "same-origin"
    key = re.search(r'name="key" value="([^"]+)"', form.content.decode())
    assert key is not None
    sent = {"version": "1", "name": "My own greeting", "key": key[1]}
    first, again = client.post(f"{address}fork/", sent), client.post(f"{address}fork/", sent)
    assert first["Location"] == again["Location"]
    mine = Prompt.objects.get(owner=friend)
    assert (mine.name, first["Location"]) == ("My own greeting", f"/prompts/{mine.pk}/")


def test_a_fork_takes_no_tags_or_folder_of_the_owner_along(
    link: Link, client: Client, friend: User, prompt: Prompt
) -> None:
    made = link()
    playground_services.update_prompt(prompt=prompt, tags=["secret-project"], folder="clients/acme")
    kept.forget()
    address = opened_by(client, made)
    client.force_login(friend, backend="allauth.account.auth_backends.AuthenticationBackend")
    client.post(f"{address}fork/", {"version": "1", "name": "Mine"})
    mine = Prompt.objects.get(owner=friend)
    assert (mine.tags, mine.folder) == ([], "")


def test_a_fork_of_a_link_that_ended_is_a_404(link: Link, client: Client, friend: User, owner: User) -> None:
    made = link()
    address = opened_by(client, made)
    client.force_login(friend, backend="allauth.account.auth_backends.AuthenticationBackend")
    services.revoke_link(person=owner, link=made.link)
    assert client.post(f"{address}fork/", {"version": "1", "name": "Mine"}).status_code == 404
    assert not Prompt.objects.filter(owner=friend).exists()


def test_a_hot_link_costs_no_query_a_request(
    link: Link, client: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    address = opened_by(client, link())
    client.get(address)
    with django_assert_num_queries(0):
        assert client.get(address).status_code == 200


def test_the_page_asks_nothing_of_who_has_no_account(link: Link, client: Client) -> None:
    body = client.get(opened_by(client, link())).content.decode()
    assert "data-user=" not in body
    assert "data-unread" not in body
    page = re.search(r'<script id="page" type="application/json">(.*?)</script>', body)
    assert page is not None
    assert set(json.loads(page[1])) == {"state", "watch", "version", "following", "boundS"}


def test_the_bound_that_is_promised_is_the_one_that_is_set(link: Link, client: Client, settings: Settings) -> None:
    settings.SHARING_BOUND_S = 0.0
    body = client.get(opened_by(client, link())).content.decode()
    assert '"boundS": 0.0' in body
