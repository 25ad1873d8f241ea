"""The pages of a link: the landing page, then the document as whoever came by the link sees it.

Looking at the landing page uses nothing up: preview bots and mail scanners only ever do that.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import User
from core import boundary
from core.errors import (
    DomainError,
    IdempotencyKeyReused,
    InvalidInput,
    NotAllowed,
    NotFound,
    RateLimited,
    StorageUnavailable,
)
from core.ids import new_id
from playground import services as playground_services
from playground import snippets
from playground.access import signed_in
from playground.models import Version
from sharing import access, access_log, document, histories, opened_specs, services, visits
from sharing.access import Opened

Arguments = ParamSpec("Arguments")
View = Callable[Concatenate[HttpRequest, Arguments], HttpResponse]


def of_a_link(view: View[Arguments]) -> View[Arguments]:
    """Errors become pages here, so that these headers are on every answer of a link, whatever it is."""

    @wraps(view)
    def answer(request: HttpRequest, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> HttpResponse:
        try:
            response = view(request, *args, **kwargs)
        except DomainError as error:
            response = boundary.respond(request, error)
        response["Cache-Control"] = "private, no-store"
        response["X-Robots-Tag"] = "noindex, nofollow"
        response.headers.setdefault("Referrer-Policy", "no-referrer")
        patch_vary_headers(response, ("Cookie", "Authorization"))
        return response

    return answer


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
@of_a_link
def landing(request: HttpRequest, token: str) -> HttpResponse:
    """Says that something was shared (GET), and opens it (POST).

    The form carries no CSRF token: a page without a referrer sends `Origin: null`, which Django refuses. It needs none.
    Another site that sent this form would open the link that it knows, in nobody's name: the session cookie is Lax.
    """
    person = request.user if isinstance(request.user, User) else None
    try:
        found = access.landing(token, request.user)
        if request.method == "POST":
            return _redeem(request, token, person)
    except NotFound as error:
        return _nothing(request, error)
    except (InvalidInput, NotAllowed, RateLimited) as error:
        context = {"landing": found, "problem": error}
        return boundary.finish(render(request, "sharing/landing.html", context, status=error.status), error)
    return render(request, "sharing/landing.html", {"landing": found})


def _redeem(request: HttpRequest, token: str, person: User | None) -> HttpResponse:
    opened = services.redeem_link(
        token=token,
        person=person,
        password=request.POST.get("password") or None,
        address=access_log.address_of(request),
    )
    response = redirect("shared", opened.link.pk)
    visits.remember(response, opened.link.pk, opened.cookie)
    return response


def _nothing(request: HttpRequest, error: NotFound) -> HttpResponse:
    """The same page for every token that opens nothing to this person, also for one that asks who they are."""
    return boundary.finish(render(request, "sharing/nothing.html", {"error": error}, status=error.status), error)


@require_safe
@of_a_link
def shared(request: HttpRequest, link_id: uuid.UUID, number: int | None = None) -> HttpResponse:
    """The document. `number`: another version behind it, where the link shows its history."""
    opened = access.opened_link(request, link_id)
    version = opened.version if number is None else opened.numbered(number)
    return render(request, "sharing/document.html", _document(opened, version))


def _document(opened: Opened, version: Version) -> dict[str, Any]:
    link = opened.link
    behind = histories.behind(opened.version) if link.shows_history else []
    return {
        "opened": opened,
        "link": link,
        "prompt": opened.prompt,
        "version": version,
        "is_older": version.number != opened.version.number,
        "follows": link.follows,
        "follows_icon": "git-branch" if link.follows_branch else "tag",
        "document": document.read(opened_specs.spec_of(version)),
        "texts": reverse("shared-text", args=[link.pk, version.number, 0]).removesuffix("0"),
        "languages": [
            {
                "name": choice.name,
                "title": choice.title,
                "address": reverse("shared-snippet", args=[link.pk, version.number, choice.name]),
            }
            for choice in snippets.CHOICES
        ],
        "history": [opened.version, *behind] if behind else [],
        "history_more": len(behind) == histories.LISTED,
        "page": {
            "state": reverse("shared-state", args=[link.pk]),
            "watch": reverse("shared", args=[link.pk]) + "watch/",
            "version": opened.version.number,
            "following": not link.is_pinned,
            "boundS": settings.SHARING_BOUND_S,
        },
    }


@require_safe
@of_a_link
def state(request: HttpRequest, link_id: uuid.UUID) -> HttpResponse:
    """Whether the page may still be shown, and what it shows now. Open pages ask every few seconds."""
    opened = access.opened_link(request, link_id)
    return JsonResponse({"version": opened.version.number})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@of_a_link
def fork(request: HttpRequest, link_id: uuid.UUID) -> HttpResponse:
    """Copies what the link shows into one's own prompts, having asked for a name. Signing in comes back here."""
    opened = access.opened_link(request, link_id)
    person = signed_in(request.user)
    given = request.POST if request.method == "POST" else request.GET
    version = opened.numbered(_number(given.get("version", ""), opened.version.number))
    problem = None
    if request.method == "POST":
        try:
            made = playground_services.fork_prompt(
                actor=person,
                version=version,
                name=request.POST.get("name", ""),
                idempotency_key=request.POST.get("key") or None,
            )
            return redirect("prompt", made.prompt_id)
        except (InvalidInput, StorageUnavailable, IdempotencyKeyReused) as error:
            problem = error
    context = {
        "link": opened.link,
        "prompt": opened.prompt,
        "version": version,
        "problem": problem,
        "name": request.POST.get("name", opened.prompt.name),
        "key": new_id().hex,
    }
    response = render(request, "sharing/fork.html", context, status=problem.status if problem else 200)
    # A page without a referrer would send its form with `Origin: null`, which Django refuses.
    response["Referrer-Policy"] = "same-origin"
    return response


def _number(written: str, otherwise: int) -> int:
    return int(written) if written.isascii() and written.isdecimal() and len(written) < 10 else otherwise
