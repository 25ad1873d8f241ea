"""The pages of test cases and batches. Thin: reach through the person asking, render; scripts call the API for rows."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from batches import access
from core.errors import NotFound
from playground import access as prompts
from playground import freezing, wire
from playground.models import DEFAULT_BRANCH, Branch, Label, Prompt, Version

#: A longer text is not read for the names in it: the page is not worth the wait.
READ_BYTES = 2_000_000
#: How many of the newest versions are offered by number; any other is reached by the address.
OFFERED = 50


@login_required
@require_GET
def tests(request: HttpRequest, prompt_id: uuid.UUID) -> HttpResponse:
    """The test cases of a prompt, and the batches that ran with them."""
    prompt = prompts.prompt_for(request.user, prompt_id, prompts.RUN)
    page = {"promptId": str(prompt.pk), **_columns(_version(prompt))}
    return render(request, "batches/tests.html", {"place": "prompts", "prompt": prompt, "page": page})


@login_required
@require_GET
def dataset(request: HttpRequest, prompt_id: uuid.UUID, dataset_id: uuid.UUID) -> HttpResponse:
    """Test cases as a table: one column for each variable of the newest version, and the expected text."""
    found = access.dataset_for(request.user, dataset_id)
    prompt = _prompt_of(found.prompt, prompt_id)
    context = {
        "place": "prompts",
        "prompt": prompt,
        "place_title": found.name,
        "dataset_id": found.pk,
        "page": {"promptId": str(prompt.pk), "datasetId": str(found.pk), **_columns(_version(prompt))},
    }
    return render(request, "batches/dataset.html", context)


@login_required
@require_GET
def new_batch(request: HttpRequest, prompt_id: uuid.UUID) -> HttpResponse:
    """What is to run: test cases, versions, checks; and what that will take."""
    prompt = prompts.prompt_for(request.user, prompt_id, prompts.RUN)
    context = {
        "place": "prompts",
        "prompt": prompt,
        "place_title": "New batch",
        "page": {"promptId": str(prompt.pk), "offers": _offers(prompt), **_columns(_version(prompt))},
    }
    return render(request, "batches/new_batch.html", context)


@login_required
@require_GET
def batch(request: HttpRequest, prompt_id: uuid.UUID, batch_id: uuid.UUID) -> HttpResponse:
    """How far a batch is, and what every version answered to every case."""
    found = access.batch_for(request.user, batch_id)
    prompt = _prompt_of(found.prompt, prompt_id)
    context = {
        "place": "prompts",
        "prompt": prompt,
        "place_title": found.name or (found.dataset.name if found.dataset else "Batch"),
        "batch_id": found.pk,
        "page": {"promptId": str(prompt.pk), "batchId": str(found.pk)},
    }
    return render(request, "batches/batch.html", context)


def _prompt_of(prompt: Prompt, prompt_id: uuid.UUID) -> Prompt:
    """Raises NotFound if the address names another prompt, or one in the trash."""
    if prompt.pk != prompt_id or prompt.trashed_at is not None:
        raise NotFound
    return prompt


def _version(prompt: Prompt) -> Version | None:
    """The head of the main branch, else the newest version."""
    heads = Branch.objects.filter(prompt=prompt, name=DEFAULT_BRANCH).values("head_id")
    versions = Version.objects.filter(prompt=prompt)
    return versions.filter(pk__in=heads).first() or versions.recent_first().first()


def _columns(version: Version | None) -> dict[str, Any]:
    """The variables of a version, with what their cards say of them. Raises StorageUnavailable."""
    if version is None:
        return {"version": None, "variables": []}
    spec = freezing.thaw_small(version, most=READ_BYTES)
    cards = {card["name"]: card for card in spec.get("variables", [])}
    return {"version": version.number, "variables": [cards.get(name, {"name": name}) for name in wire.used_names(spec)]}


def _offers(prompt: Prompt) -> dict[str, list[dict[str, Any]]]:
    """What a batch may run: heads of branches and labels before numbers."""
    heads = Branch.objects.filter(prompt=prompt).order_by("name").values_list("name", "head__number")
    labels = Label.objects.filter(prompt=prompt, version__isnull=False).order_by("name")
    newest = Version.objects.filter(prompt=prompt).recent_first().values_list("number", "message")[:OFFERED]
    return {
        "branches": [{"name": name, "number": number} for name, number in heads],
        "labels": [{"name": name, "number": number} for name, number in labels.values_list("name", "version__number")],
        "versions": [{"number": number, "message": message[:200]} for number, message in newest],
    }
