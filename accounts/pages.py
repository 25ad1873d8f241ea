"""The account page and the API keys page. Keys are made and revoked by a script through the API."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from accounts.models import ApiKey, Scope, Tier, User
from core.errors import NotAuthenticated

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
    person = _person(request)
    context = {
        "place": "account",
        "tier_words": _TIER_WORDS[Tier(person.tier)],
        "key_count": ApiKey.objects.of(person).usable().count(),
    }
    return render(request, "accounts/account.html", context)


@login_required
@require_GET
def keys(request: HttpRequest) -> HttpResponse:
    mine = ApiKey.objects.of(_person(request)).usable().order_by("-created_at")
    rows = [{"key": key, "scopes": ", ".join(Scope(scope).label for scope in key.scopes)} for key in mine]
    return render(request, "accounts/keys.html", {"place": "account", "rows": rows, "scopes": list(Scope)})
