"""Absent, foreign, revoked and trashed answer alike: status, body and queries; 403 is for readers who cannot write."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from core.errors import NotAllowed
from playground import access, services
from playground.models import Prompt, Version
from sharing.models import AccessLogEntry, Grant
from sharing.services import revoke_grant

pytestmark = pytest.mark.django_db

PATHS = [
    "/api/v1/prompts/{}",
    "/api/v1/prompts/{}/versions/1",
    "/api/v1/prompts/{}/versions/1/texts/0",
    "/api/v1/prompts/{}/export",
    "/api/v1/prompts/{}/links",
    "/api/v1/prompts/{}/access",
    "/prompts/{}/",
    "/prompts/{}/compare/",
]
_IDS = re.compile(r"req_[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|nonce-\S+|nonce=\S+|csrf\S+|value=\S+")


def answers(browser: Client, prompt_id: uuid.UUID) -> list[tuple[int, str]]:
    """What is told of a prompt, without what differs in each answer."""
    found = []
    for path in PATHS:
        answer = browser.get(path.format(prompt_id))
        found.append((answer.status_code, _IDS.sub("", answer.content.decode())))
    return found


@pytest.mark.parametrize("kind", ["foreign", "revoked", "expired", "trashed"])
def test_it_answers_like_an_absent_one(
    owner: User,
    friend: User,
    stranger_browser: Client,
    friend_browser: Client,
    prompt: Prompt,
    version: Version,
    grant: Grant,
    kind: str,
) -> None:
    browser = stranger_browser
    if kind == "revoked":
        revoke_grant(person=owner, grant=grant)
        browser = friend_browser
    elif kind == "expired":
        Grant.objects.filter(pk=grant.pk).update(expires_at=timezone.now())
        browser = friend_browser
    elif kind == "trashed":
        services.trash_prompt(prompt=prompt)
        browser = friend_browser
    told = answers(browser, prompt.pk)
    assert told == answers(browser, uuid.uuid4())
    assert {status for status, _ in told} == {404}


def test_403_for_what_is_foreign_would_be_noticed(
    stranger_browser: Client, prompt: Prompt, version: Version, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mistake on purpose: this comparison must tell both apart then."""
    right: Callable[..., Prompt] = access.prompt_for

    def wrong(user: Any, prompt_id: uuid.UUID, permission: str = access.VIEW) -> Prompt:
        if Prompt.objects.filter(pk=prompt_id).exclude(owner=user).exists():
            raise NotAllowed
        return right(user, prompt_id, permission)

    monkeypatch.setattr(access, "prompt_for", wrong)
    assert answers(stranger_browser, prompt.pk) != answers(stranger_browser, uuid.uuid4())


@pytest.mark.parametrize("path", PATHS)
def test_an_absent_one_costs_as_many_queries_as_a_foreign_one(
    stranger_browser: Client, prompt: Prompt, version: Version, path: str
) -> None:
    stranger_browser.get(path.format(prompt.pk))  # the log of this reader is written once a minute, after the answer
    counts = []
    for prompt_id in (prompt.pk, uuid.uuid4()):
        with CaptureQueriesContext(
            connection,
        ) as asked:
            assert stranger_browser.get(path.format(prompt_id)).status_code == 404
        counts.append(len(asked))
    assert counts[0] == counts[1]


def test_who_reads_and_may_not_write_is_told_so(
    friend_browser: Client, prompt: Prompt, version: Version, grant: Grant
) -> None:
    answer = friend_browser.patch(f"/api/v1/prompts/{prompt.pk}", {"name": "x"}, content_type="application/json")
    assert answer.status_code == 403


def test_who_asked_for_what_is_in_the_log_of_the_owner(
    owner_browser: Client,
    friend_browser: Client,
    stranger_browser: Client,
    prompt: Prompt,
    version: Version,
    grant: Grant,
) -> None:
    path = f"/api/v1/prompts/{prompt.pk}"
    for browser in (friend_browser, stranger_browser, owner_browser, friend_browser):
        browser.get(path, REMOTE_ADDR="192.0.2.7")
    AccessLogEntry.objects.filter(what="grant.given").delete()
    rows = owner_browser.get(f"{path}/access-log").json()["results"]
    assert [(row["what"], row["allowed"], row["reason"], row["address"]) for row in reversed(rows)] == [
        ("GET api-prompt", True, "", "192.0.2.7"),
        ("GET api-prompt", False, "404", "192.0.2.7"),
    ]
    file = owner_browser.get(f"{path}/access-log.csv").content.decode()
    assert file.startswith("at,account,link,visitor,what,version,address,allowed,reason")
    assert "Frank Friend" in file
    assert "@" not in file


def test_what_is_shown_of_somebody_elses_prompt_is_stored_nowhere(
    friend_browser: Client, prompt: Prompt, version: Version, grant: Grant
) -> None:
    for path in (f"/prompts/{prompt.pk}/", f"/api/v1/prompts/{prompt.pk}/versions/1"):
        assert friend_browser.get(path)["Cache-Control"] == "private, no-store"
        assert friend_browser.get(path, {"t": "1"})["Cache-Control"] == "private, no-store"
