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
from playground.models import MAX_COLUMNS, Comparison, Prompt, Version
from playground.version_pages import newest_named, offers

#: How many earlier comparisons the page names.
NAMED = 10


@login_required
@require_GET
def columns(request: HttpRequest, prompt_id: uuid.UUID) -> HttpResponse:
    """Columns to be run: `?versions=3,production` names their versions. By default: the newest of main, its parent."""
    prompt = access.prompt_for(request.user, prompt_id, access.RUN)
    names = [name.strip() for name in request.GET.get("versions", "").split(",") if name.strip()][:MAX_COLUMNS]
    found = {name: _version(prompt, name) for name in names or [newest_named(prompt)]}
    versions = [version for version in (found[name] for name in names or found) if version is not None]
    return _page(
        request,
        prompt,
        columns=[{"version": each.number, "model": None, "parameters": {}} for each in _with_another(versions)],
        unknown=[name for name in names if found[name] is None],
    )


def _with_another(versions: list[Version]) -> list[Version]:
    """A version on its own is held against its parent; the first one against itself, with another model, say."""
    if len(versions) != 1:
        return versions
    (version,) = versions
    return [version.parent or version, version]


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
