"""The page that runs versions, models or parameters side by side: set up, or one that was run. Scripts do the rest."""

from __future__ import annotations

import json
import uuid
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from core.errors import NotFound
from playground import access
from playground.models import MAX_COLUMNS, MIN_COLUMNS, Comparison, Prompt, Version
from playground.version_pages import newest_named, offers

#: How many earlier comparisons the page names.
NAMED = 10


@login_required
@require_GET
def columns(request: HttpRequest, prompt_id: uuid.UUID) -> HttpResponse:
    """Columns to be run: `?versions=3,production` names their versions. By default: the newest of main, its parent."""
    prompt = access.prompt_for(request.user, prompt_id, access.RUN)
    asked = [name for name in request.GET.get("versions", "").split(",") if name.strip()][:MAX_COLUMNS]
    found = {name: _version(prompt, name.strip()) for name in asked}
    versions = [found[name] for name in asked if found[name] is not None] or _usual(prompt)
    plain: list[dict[str, Any]] = [
        {"version": each.number, "model": None, "parameters": {}} for each in versions if each
    ]
    # A version on its own is held against itself: with another model, say.
    plain += [dict(plain[-1]) for _ in range(MIN_COLUMNS - len(plain)) if plain]
    unknown = [name.strip() for name in asked if found[name] is None]
    return _page(request, prompt, columns=plain, unknown=unknown)


@login_required
@require_GET
def comparison(request: HttpRequest, prompt_id: uuid.UUID, comparison_id: uuid.UUID) -> HttpResponse:
    """A comparison with its results, as far as they are there."""
    found = access.comparison_for(request.user, comparison_id)
    if found.prompt_id != prompt_id:
        raise NotFound
    return _page(request, found.prompt, columns=found.columns, comparison=found)


def _page(
    request: HttpRequest,
    prompt: Prompt,
    *,
    columns: list[dict[str, Any]],
    comparison: Comparison | None = None,
    unknown: list[str] | None = None,
) -> HttpResponse:
    person = access.signed_in(request.user)
    page = {
        "promptId": str(prompt.pk),
        "comparison": str(comparison.pk) if comparison else None,
        "columns": columns,
        "values": json.loads(comparison.variables) if comparison else {},
        "repetitions": comparison.repetitions if comparison else 1,
        "can": access.abilities(person, prompt),
    }
    earlier = Comparison.objects.visible_to(person).filter(prompt=prompt).order_by("-pk")[:NAMED]
    context = {
        "place": "prompts",
        "title": "Compare runs",
        "prompt": prompt,
        "comparison": comparison,
        "earlier": earlier,
        "unknown": unknown or [],
        "page": page,
        "can": page["can"],
        **offers(prompt),
    }
    return render(request, "playground/columns.html", context)


def _version(prompt: Prompt, name: str) -> Version | None:
    try:
        return access.version_of(prompt, name)
    except NotFound:
        return None


def _usual(prompt: Prompt) -> list[Version]:
    newest = _version(prompt, newest_named(prompt))
    if newest is None:
        return []
    return [newest.parent, newest] if newest.parent else [newest]
