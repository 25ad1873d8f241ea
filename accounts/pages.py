"""The account page and the API keys page. Keys are made and revoked by a script through the API."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from accounts import services
from accounts.models import ApiKey, Scope, Tier, User
from accounts.names import MAX_LENGTH
from core.errors import InvalidInput, NotAuthenticated

_TIER_WORDS = {
    Tier.FREE: "Served when there is room.",
    Tier.PRO: "Served before free accounts.",
    Tier.INTERNAL: "Served first.",
}


def _person(request: HttpRequest) -> User:
    if not isinstance(request.user, User):
        raise NotAuthenticated
    return request.user


@login_required
@require_GET
def account(request: HttpRequest) -> HttpResponse:
    return _show(request)


@login_required
@require_POST
def name(request: HttpRequest) -> HttpResponse:
    """What others call this person."""
    asked = request.POST.get("name", "")
    try:
        renamed = services.rename_account(account=_person(request), name=asked)
    except InvalidInput as error:
        return _show(request, asked=asked, problem=error)
    messages.success(request, f"Others see you as {renamed.label}.")
    return redirect("account")


def _show(request: HttpRequest, *, asked: str = "", problem: InvalidInput | None = None) -> HttpResponse:
    person = _person(request)
    context = {
        "place": "account",
        "name": asked or person.name,
        "max_name": MAX_LENGTH,
        "problem": problem,
        "tier_words": _TIER_WORDS[Tier(person.tier)],
        "key_count": ApiKey.objects.of(person).usable().count(),
    }
    return render(request, "accounts/account.html", context, status=problem.status if problem else 200)


@login_required
@require_GET
def keys(request: HttpRequest) -> HttpResponse:
    mine = ApiKey.objects.of(_person(request)).usable().order_by("-created_at")
    rows = [{"key": key, "scopes": ", ".join(Scope(scope).label for scope in key.scopes)} for key in mine]
    return render(request, "accounts/keys.html", {"place": "account", "rows": rows, "scopes": list(Scope)})
