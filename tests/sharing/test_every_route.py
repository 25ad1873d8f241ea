"""Every route of the project is crossed with every kind of person. A route that is not in the table fails."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import transaction
from django.http import HttpResponse, HttpResponseBase
from django.urls import URLPattern, URLResolver, get_resolver

from chat.services.messages import SENDS
from config.websockets import _ID, routes
from sharing import visits, watched
from tests.sharing.crowd import EVERYBODY, SECRET, SIGNED_OUT, VISITOR, Crowd, gather
from tests.sharing.route_table import ACCOUNT_ROUTES, SOCKETS, TABLE, Row

pytestmark = pytest.mark.django_db

_METHODS = ("get", "post", "put", "patch", "delete")
_CASES = [
    pytest.param(name, row, id=f"{row.method} {name} {row.query}".strip())
    for name, rows in TABLE.items()
    for row in rows
]


def collect(resolver: URLResolver, prefix: str = "") -> Iterator[tuple[str, str, Any]]:
    """Each route of the project: its name, its pattern, its view."""
    for each in resolver.url_patterns:
        if isinstance(each, URLResolver):
            yield from collect(each, prefix + str(each.pattern))
        elif isinstance(each, URLPattern):
            yield each.name or prefix + str(each.pattern), prefix + str(each.pattern), each.callback


ROUTES = list(collect(get_resolver()))


def test_every_route_is_in_the_table_and_no_other() -> None:
    assert {name for name, _, _ in ROUTES} == set(TABLE) | ACCOUNT_ROUTES


def test_every_method_of_every_call_is_in_the_table() -> None:
    missing = []
    for name, _, view in ROUTES:
        handler = getattr(view, "cls", None)
        if handler is not None and name in TABLE:
            tested = {row.method.lower() for row in TABLE[name]}
            missing += [f"{method} {name}" for method in _METHODS if hasattr(handler, method) and method not in tested]
    assert missing == []


def test_every_socket_is_in_the_table() -> None:
    assert {str(route.pattern.regex.pattern).replace(_ID, "ID") for route in routes} == set(SOCKETS)


@pytest.fixture(scope="module")
def crowd(django_db_setup: None, django_db_blocker: Any) -> Iterator[Crowd]:
    """Made once and committed: each test is rolled back to it, and each request before that."""
    with django_db_blocker.unblock():
        yield gather()
        call_command("flush", verbosity=0, interactive=False, inhibit_post_migrate=True)


@pytest.fixture(autouse=True)
def nothing_counted() -> None:
    """No bucket of the tests before this one is empty."""
    SENDS.forget()


@pytest.mark.parametrize(("name", "row"), _CASES)
def test_who_may_use(crowd: Crowd, name: str, row: Row) -> None:
    wrong = []
    for kind in EVERYBODY:
        answer = _ask(crowd, kind, name, row)
        wrong += [f"{kind}: {problem}" for problem in _problems(crowd, kind, row, answer)]
    assert not wrong, "; ".join(wrong)


def test_what_is_about_accounts_tells_nothing_of_prompts(crowd: Crowd) -> None:
    for name, pattern, _ in ROUTES:
        if name in ACCOUNT_ROUTES and "(" not in pattern:
            for kind in EVERYBODY:
                with transaction.atomic():
                    answer = crowd.browsers[kind].get(f"/{pattern}")
                    transaction.set_rollback(True)
                assert SECRET not in _text(answer)


@pytest.mark.parametrize("kind", EVERYBODY)
def test_every_socket_that_watches_tells_only_who_may_see(crowd: Crowd, kind: str) -> None:
    cookies = crowd.browsers[kind].cookies
    session = cookies[settings.SESSION_COOKIE_NAME].value if settings.SESSION_COOKIE_NAME in cookies else None
    link_id = crowd.ids["link_id"]
    cookie = cookies[visits.cookie_name(link_id)].value if visits.cookie_name(link_id) in cookies else None
    told = {
        r"^ws/prompts/(?P<prompt_id>ID)/$": watched.by_person(session, crowd.prompt.pk),
        r"^s/open/(?P<link_id>ID)/watch/$": watched.by_link(session, link_id, cookie),
    }
    for pattern, seen in told.items():
        assert (seen is not None) == (kind in SOCKETS[pattern]), pattern


def _ask(crowd: Crowd, kind: str, name: str, row: Row) -> HttpResponseBase:
    pattern = next(pattern for known, pattern, _ in ROUTES if known == name)
    known = {key: str(value) for key, value in crowd.ids.items()}
    ids = {**known, **{key: str(value).format(**known) for key, value in row.ids.items()}}
    path = "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda match: ids[match[1]], pattern)
    path += f"?{row.query.format(**known)}" if row.query else ""
    data = _filled(row.data, known)
    browser = crowd.browsers[kind]
    before = copy.copy(browser.cookies)
    send = getattr(browser, row.method.lower())
    as_json = {"data": data, "content_type": "application/json"} if name.startswith("api-") else {"data": data}
    with transaction.atomic():
        answer: HttpResponseBase = send(path, **(as_json if row.method != "GET" else {}))
        transaction.set_rollback(True)
    # Who opens a link in one test has not opened it in the next.
    browser.cookies = before
    return answer


def _filled(value: Any, ids: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(each, ids) for key, each in value.items()}
    return value.format(**ids) if isinstance(value, str) and "_id}" in value else value


def _problems(crowd: Crowd, kind: str, row: Row, answer: HttpResponseBase) -> Iterator[str]:
    del crowd
    status = answer.status_code
    allowed = kind in row.who
    expected = row.answers.get(kind)
    if expected is not None:
        if status != expected:
            yield f"{status} instead of {expected}"
    elif allowed:
        if status in (401, 403, 404, 500) or _leads_to_sign_in(answer):
            yield f"{status}, and may"
    elif not _refused_rightly(kind, row, answer):
        yield f"{status}, and may not"
    tells = row.tells if row.tells is not None else row.who
    if kind not in tells and SECRET in _text(answer):
        yield "is told of the prompt"
    if row.tells and row.method == "GET" and kind in row.tells and SECRET not in _text(answer):
        yield "does not find the prompt"


def _refused_rightly(kind: str, row: Row, answer: HttpResponseBase) -> bool:
    if row.by_link:
        return answer.status_code == 404
    if kind in SIGNED_OUT:
        return answer.status_code == 401 or _leads_to_sign_in(answer)
    return answer.status_code == (403 if kind in row.sees else 404)


def _leads_to_sign_in(answer: HttpResponseBase) -> bool:
    return answer.status_code == 302 and answer["Location"].startswith("/accounts/login/")


def _text(answer: HttpResponseBase) -> str:
    if answer.streaming:
        return ""
    assert isinstance(answer, HttpResponse)
    return answer.content.decode("utf-8", "replace").lower()


def test_the_visitor_of_the_table_is_signed_in_nowhere(crowd: Crowd) -> None:
    assert settings.SESSION_COOKIE_NAME not in crowd.browsers[VISITOR].cookies
