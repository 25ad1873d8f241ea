"""What a message of a chat points at, as a card: an HTML fragment for who may see it, the same 404 for anybody else."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from core.errors import NotAuthenticated, NotFound
from playground import access
from playground.models import Version, VersionRun
from sharing import document, opened_specs
from sharing.api import ownership
from sharing.models import AccessRequest

#: Of the first text on a card.
EXCERPT = 280


def _person(request: HttpRequest) -> User:
    """A fragment has no place for a form to sign in."""
    if not isinstance(request.user, User):
        raise NotAuthenticated
    return request.user


@require_safe
def card(request: HttpRequest, kind: str, subject: uuid.UUID) -> HttpResponse:
    draw = _CARDS.get(kind)
    if draw is None:
        raise NotFound
    template, context = draw(_person(request), subject)
    return render(request, template, context)


@require_POST
def ask(request: HttpRequest, kind: str, subject: uuid.UUID) -> HttpResponse:
    """Ask the owner for access. Answers the same whatever is true, so nobody learns by asking what exists."""
    person = _person(request)
    if kind in _ASKED:
        ownership.ask(person, kind, subject)
    return HttpResponse(status=204)


def _version_card(person: User, subject: uuid.UUID) -> tuple[str, dict[str, Any]]:
    version = Version.objects.select_related("prompt__owner", "author").filter(pk=subject).first()
    if version is None or not person.has_perm(access.VIEW, version.prompt):
        raise NotFound
    return "sharing/card_version.html", {"version": version, "prompt": version.prompt, "excerpt": _excerpt(version)}


def _excerpt(version: Version) -> str:
    """The beginning of the first text that says something."""
    shown = document.read(opened_specs.spec_of(version))
    texts = (passage.text for part in shown.parts for passage in part.passages if passage.text)
    first = next((text for text in texts if text.strip()), "")
    return first[:EXCERPT] + ("…" if len(first) > EXCERPT else "")


def _run_card(person: User, subject: uuid.UUID) -> tuple[str, dict[str, Any]]:
    """A run is its sender's own: others see it once they may see the prompt."""
    found = _run(subject)
    if not person.has_perm(access.VIEW, found.version.prompt):
        raise NotFound
    output = found.run.output[:EXCERPT]
    context = {"run": found.run, "version": found.version, "prompt": found.version.prompt, "excerpt": output}
    return "sharing/card_run.html", {**context, "mine": found.run.account_id == person.pk}


def _run(subject: uuid.UUID) -> VersionRun:
    runs = VersionRun.objects.select_related("run", "version__prompt__owner")
    found = runs.filter(pk=subject).first()
    if found is None:
        raise NotFound
    return found


def _request_card(person: User, subject: uuid.UUID) -> tuple[str, dict[str, Any]]:
    asked = (
        AccessRequest.objects.concerning(person)
        .select_related("prompt__owner", "account", "version")
        .filter(pk=subject, prompt__trashed_at=None)
        .first()
    )
    if asked is None:
        raise NotFound
    answers = asked.status == AccessRequest.Status.OPEN and person.has_perm(access.SHARE, asked.prompt)
    # Who asks was not let in: they learn what became of the request, and no name.
    sees = person.has_perm(access.VIEW, asked.prompt)
    return "sharing/card_request.html", {"asked": asked, "prompt": asked.prompt, "answers": answers, "sees": sees}


_ASKED = ("version", "run")
_CARDS: dict[str, Callable[[User, uuid.UUID], tuple[str, dict[str, Any]]]] = {
    "version": _version_card,
    "run": _run_card,
    "access_request": _request_card,
}
