"""The page of providers and of one's own keys for them. A script keeps, tries and removes keys through the API."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from accounts.models import User
from core.errors import NotAuthenticated
from inference_client import catalogue, providers, sealing
from inference_client.models import Provider, ProviderKey


@login_required
@require_GET
def own_providers(request: HttpRequest) -> HttpResponse:
    person = request.user
    if not isinstance(person, User):
        raise NotAuthenticated
    offer = catalogue.offer_to(person)
    context = {
        "place": "account",
        "key": ProviderKey.objects.of(person).filter(provider=Provider.ANTHROPIC).first(),
        "states": {state.id.replace("-", "_"): state for state in offer.providers},
        "counts": {name.replace("-", "_"): count for name, count in _counts(offer).items()},
        "has_operators_key": providers.may_use_operators_key(person),
        "keeps_keys": sealing.is_available(),
        "offers_self_hosted": providers.offers_self_hosted(),
    }
    return render(request, "inference_client/providers.html", context)


def _counts(offer: catalogue.Offer) -> dict[str, int]:
    found: dict[str, int] = {}
    for model in offer.models:
        found[model.provider] = found.get(model.provider, 0) + 1
    return found
