"""The pages of who shares: the Share dialog, all shares, the access log. Changes are calls of the API."""

from __future__ import annotations

import uuid
from typing import Any
from urllib.parse import urlencode, urlsplit

import segno
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from accounts.models import User
from core.errors import InvalidInput
from playground import access as prompts
from playground.models import DEFAULT_BRANCH, Branch, Label, Prompt, Version
from sharing import access, lists, log_words, readers, rows, tokens
from sharing.models import AccessLogEntry, AccessRequest, Grant, OwnershipTransfer, Role

#: Versions that a link can be pinned to by name; the one that is open is always among them.
OFFERED = 20


@login_required
@require_GET
def share_body(request: HttpRequest, prompt_id: uuid.UUID) -> HttpResponse:
    """What is in the Share dialog: a fragment. `?version=`: the one that is open, which a link shows unless told so."""
    person = prompts.signed_in(request.user)
    prompt = prompts.prompt_for(person, prompt_id, prompts.SHARE)
    found = access.overview(person, prompt)
    now = timezone.now()
    grants, links = rows.grant_rows(found.grants, now), rows.link_rows(found.links, now)
    versions = _versions(prompt, request.GET.get("version", ""))
    context = {
        "prompt": prompt,
        "owns": prompt.owner_id == person.pk,
        "sentence": readers.sentence(prompt, versions[0] if versions else 0, grants, links),
        "grants": grants,
        "links": links,
        "roles": Role,
        "requests": AccessRequest.objects.open().filter(prompt=prompt).select_related("account").order_by("pk"),
        "transfers": OwnershipTransfer.objects.open().filter(prompt=prompt).select_related("to_account"),
        "targets": _targets(prompt, versions),
    }
    return render(request, "sharing/share_body.html", context)


def _versions(prompt: Prompt, wanted: str) -> list[int]:
    """The numbers that are offered: the one that is open first, then the newest."""
    newest = list(Version.objects.filter(prompt=prompt).recent_first().values_list("number", flat=True)[:OFFERED])
    number = int(wanted) if wanted.isascii() and wanted.isdecimal() and len(wanted) < 10 else 0
    if number and Version.objects.filter(prompt=prompt, number=number).exists():
        return [number, *(each for each in newest if each != number)]
    return newest


def _targets(prompt: Prompt, versions: list[int]) -> list[dict[str, str]]:
    """What a link can show: the open version first, then what can be followed, then the newest versions."""
    pinned = [_pinned(each) for each in versions]
    branches = Branch.objects.filter(prompt=prompt).values_list("name", "head__number")
    followed = [
        _followed("branch", name, at) for name, at in sorted(branches, key=lambda row: (row[0] != DEFAULT_BRANCH, row))
    ]
    labels = Label.objects.filter(prompt=prompt, version__isnull=False).order_by("name")
    followed += [_followed("label", name, at) for name, at in labels.values_list("name", "version__number")]
    return [*pinned[:1], *followed, *pinned[1:]]


def _pinned(number: int) -> dict[str, str]:
    return {"value": f"version:{number}", "words": f"Version {number}, frozen for ever"}


def _followed(kind: str, name: str, number: int) -> dict[str, str]:
    return {"value": f"{kind}:{name}", "words": f"Whatever the {kind} {name} points at, now version {number}"}


@login_required
@require_GET
def shares(request: HttpRequest) -> HttpResponse:
    """All that I share, by prompt, with what became of it."""
    found = lists.my_shares(prompts.signed_in(request.user), cursor=request.GET.get("cursor", ""))
    words = lists.count_words(found.people, found.links)
    context = {
        "place": "prompts",
        "groups": found.groups,
        "roles": Role,
        "count": found.people + found.links,
        "sentence": f"{words} can read something of yours." if words else "",
        **found.part.links(),
    }
    return render(request, "sharing/shares.html", context)


@login_required
@require_POST
def qr_code(request: HttpRequest) -> HttpResponse:
    """The address of a link as a picture, SVG. It comes in the body: what is in an address ends up in logs.

    Only addresses of links on this server are drawn.
    """
    url = request.POST.get("url", "")
    token = urlsplit(url).path.rpartition("/")[2]
    if len(url) > 500 or not tokens.PATTERN.fullmatch(token) or url != f"{settings.PUBLIC_URL}{_landing(token)}":
        raise InvalidInput("This is not the address of a link here.", field="url")
    # Error correction M: a photograph of a screen loses little, and the code stays coarse.
    drawing = segno.make(url, error="m", micro=False).svg_inline(scale=4, border=4, dark="#000", light="#fff")
    return HttpResponse(
        drawing.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1), content_type="image/svg+xml"
    )


def _landing(token: str) -> str:
    return reverse("share-landing", args=[token])


@login_required
@require_GET
def access_log(request: HttpRequest, prompt_id: uuid.UUID) -> HttpResponse:
    """Who looked at a prompt, or tried to: for its owner."""
    person = prompts.signed_in(request.user)
    prompt = prompts.prompt_for(person, prompt_id, prompts.OWN)
    chosen = log_words.Filter(who=request.GET.get("who", ""), outcome=request.GET.get("outcome", ""))
    entries = AccessLogEntry.objects.filter(prompt=prompt).select_related("account", "link")
    part = lists.part_of(chosen.select(entries), request.GET.get("cursor", ""), read=int)
    context = {
        "place": "prompts",
        "prompt": prompt,
        "filter": chosen,
        "rows": [log_words.line(entry) for entry in part.rows],
        "people": _people(prompt),
        "links": log_words.link_choices(prompt),
        "kept_days": settings.SHARING_LOG_KEPT_DAYS,
        "export": _export(prompt, chosen),
        **part.links(who=chosen.who, outcome=chosen.outcome),
    }
    return render(request, "sharing/access_log.html", context)


def _people(prompt: Prompt) -> list[dict[str, Any]]:
    """Everybody who ever had a role on it."""
    accounts = User.objects.filter(pk__in=Grant.objects.filter(prompt=prompt).values("account"))
    return [{"pk": each.pk, "key": f"person:{each.pk}", "label": each.label} for each in accounts.order_by("name")]


def _export(prompt: Prompt, chosen: log_words.Filter) -> str:
    given = {"who": chosen.who} if chosen.who else {}
    if chosen.outcome:
        given["allowed"] = "true" if chosen.outcome == "allowed" else "false"
    return reverse("api-access-log-csv", args=[prompt.pk]) + (f"?{urlencode(given)}" if given else "")
