"""The pages of prompts and runs. Thin: reach through the person asking, render; scripts call the API for the rest."""

from __future__ import annotations

import uuid

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from accounts.models import User
from core.errors import DomainError
from playground import access, freezing, services, snippets
from playground.drawn_tree import is_part, tree_around
from playground.library_page import library
from playground.models import DEFAULT_BRANCH, Branch, Prompt, Version

#: A larger text is not part of the page: the page shows it through a window.
INLINE_BYTES = 200_000


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """My prompts; an invitation for who is not signed in."""
    if not isinstance(request.user, User):
        return render(request, "playground/landing.html")
    return render(request, "playground/home.html", library(request, request.user))


@login_required
@require_POST
def create_prompt(request: HttpRequest) -> HttpResponse:
    person = access.signed_in(request.user)
    try:
        prompt = services.create_prompt(
            owner=person,
            name=request.POST.get("name", ""),
            description=request.POST.get("description", ""),
            idempotency_key=request.POST.get("key") or None,
        )
    except DomainError as error:
        if error.field not in ("name", "description"):
            raise
        context = {**library(request, person), "problem": error, "posted": request.POST}
        return render(request, "playground/home.html", context, status=error.status)
    return redirect("prompt", prompt.pk)


@login_required
@require_GET
def import_prompt(request: HttpRequest) -> HttpResponse:
    """Takes in a prompt from a file or something pasted: scripts show what it would become, then create it."""
    return render(request, "playground/import.html", {"place": "prompts"})


@login_required
@require_GET
def workbench(request: HttpRequest, prompt_id: uuid.UUID, number: int | None = None) -> HttpResponse:
    """A prompt opened for writing: one version of it (default: the head of its main branch), or none yet."""
    prompt = access.prompt_for(request.user, prompt_id)
    version = _opened(prompt, number)
    page = {
        "prompt": {"id": str(prompt.pk), "name": prompt.name, "description": prompt.description},
        "version": version and {"id": str(version.pk), "number": version.number, "message": version.message},
        "spec": version and freezing.thaw_small(version, most=INLINE_BYTES),
        "branch": _branch_of(version, request.GET.get("branch", "")),
        "canChange": request.user.has_perm(access.CHANGE, prompt),
        "can": access.abilities(request.user, prompt),
    }
    number = version.number if version else 0
    tree = tree_around(prompt, number, person=access.signed_in(request.user))
    context = {
        "place": "prompts",
        "prompt": prompt,
        "version": version,
        "page": page,
        "can": page["can"],
        "code_languages": [*snippets.CHOICES, snippets.OWN_API_CHOICE],
        "history": {"promptId": str(prompt.pk), "number": number, "tree": tree, "isPart": is_part(tree)},
    }
    return render(request, "playground/workbench.html", context)


def _opened(prompt: Prompt, number: int | None) -> Version | None:
    if number is not None:
        return access.version_of(prompt, number)
    heads = Branch.objects.filter(prompt=prompt, name=DEFAULT_BRANCH).values("head_id")
    versions = Version.objects.filter(prompt=prompt)
    return versions.filter(pk__in=heads).first() or versions.recent_first().first()


def _branch_of(version: Version | None, asked: str) -> str:
    """The branch that a save would go on with: the one asked for, or one whose head it is; "" for none."""
    if asked or version is None:
        return asked
    names = sorted(version.heads.values_list("name", flat=True))
    return DEFAULT_BRANCH if DEFAULT_BRANCH in names else next(iter(names), "")
