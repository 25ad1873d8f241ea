"""The pages about two versions: comparing them, merging one into a branch. Scripts call the API for the rest."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from core.errors import NotFound
from playground import access
from playground.models import DEFAULT_BRANCH, Branch, Label, Prompt, Version
from playground.services.lines import LATEST

#: How many of the newest versions are offered by name; any other is reached by its number.
OFFERED = 50


@dataclass(frozen=True, kw_only=True)
class Side:
    """A version by what was asked for: a number, a label, a branch, `latest`. `version` is None for what is unknown."""

    name: str
    asked: str
    version: Version | None
    heads: list[str]
    labels: list[str]

    @property
    def number(self) -> int | None:
        return self.version.number if self.version else None

    @property
    def branch(self) -> str:
        """The branch that this side stands for: the one asked for, else the first that ends here; "" for none."""
        return self.asked if self.asked in self.heads else next(iter(self.heads), "")

    @property
    def title(self) -> str:
        return self.branch or f"version {self.number}"


@login_required
@require_GET
def compare(request: HttpRequest, prompt_id: uuid.UUID) -> HttpResponse:
    """Two versions side by side or one under the other. By default: the newest of main with the one before it."""
    prompt = access.prompt_for(request.user, prompt_id)
    after = _side(prompt, "to", request.GET.get("to", "") or newest_named(prompt))
    parent = after.version.parent if after.version else None
    before = _side(prompt, "from", request.GET.get("from", "") or (str(parent.number) if parent else ""))
    page = {"promptId": str(prompt.pk), "from": before.number, "to": after.number}
    context = {
        "place": "prompts",
        "title": "Compare",
        "prompt": prompt,
        "sides": [before, after],
        "page": page,
        "can": access.abilities(request.user, prompt),
        **offers(prompt),
    }
    return render(request, "playground/compare.html", context)


@login_required
@require_GET
def merge(request: HttpRequest, prompt_id: uuid.UUID) -> HttpResponse:
    """What one side changed since both parted is brought into the other, which is saved as a version with two parents.

    Without a version to merge in, the page asks for one.
    """
    prompt = access.prompt_for(request.user, prompt_id, access.CHANGE)
    ours = _side(prompt, "ours", request.GET.get("ours", "") or DEFAULT_BRANCH)
    theirs = _side(prompt, "theirs", request.GET.get("theirs", ""))
    branch = ours.branch or DEFAULT_BRANCH
    page = {
        "promptId": str(prompt.pk),
        "branch": branch,
        "ours": ours.version and {"number": ours.number, "name": ours.title},
        "theirs": theirs.version and {"number": theirs.number, "name": theirs.title},
    }
    context = {
        "place": "prompts",
        "title": "Merge",
        "prompt": prompt,
        "sides": [ours, theirs],
        "branch": branch,
        "ready": ours.version is not None and theirs.version is not None,
        "message": f"Merge {theirs.title} into {branch}",
        "page": page,
        **offers(prompt),
    }
    return render(request, "playground/merge.html", context)


def newest_named(prompt: Prompt) -> str:
    """What a page shows of a prompt unless asked otherwise: the head of main, or the newest version without one."""
    has_main = Branch.objects.filter(prompt=prompt, name=DEFAULT_BRANCH).exists()
    return DEFAULT_BRANCH if has_main else LATEST


def _side(prompt: Prompt, name: str, asked: str) -> Side:
    try:
        version = access.version_of(prompt, asked) if asked else None
    except NotFound:
        version = None
    if version is None:
        return Side(name=name, asked=asked, version=None, heads=[], labels=[])
    heads = Branch.objects.filter(prompt=prompt, head=version).values_list("name", flat=True)
    return Side(
        name=name,
        asked=asked,
        version=version,
        heads=sorted(heads, key=lambda head: (head != DEFAULT_BRANCH, head)),
        labels=list(
            Label.objects.filter(prompt=prompt, version=version).values_list("name", flat=True).order_by("name")
        ),
    )


def offers(prompt: Prompt) -> dict[str, object]:
    """What the pickers propose."""
    newest = Version.objects.filter(prompt=prompt).recent_first().values("number", "message")[:OFFERED]
    return {
        "branches": Branch.objects.filter(prompt=prompt).values("name", "head__number").order_by("name"),
        "labels": Label.objects.filter(prompt=prompt, version__isnull=False)
        .values("name", "version__number")
        .order_by("name"),
        "versions": newest,
    }
