"""The pages of runs: all of mine, those of one prompt, and the address of a single one."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from accounts.models import User
from core.errors import InvalidInput, NotFound
from inference_client.models import OPEN, Provider, Run, RunKind, RunStatus
from playground import access
from playground.models import Prompt, VersionRun
from playground.page_lists import ROWS
from playground.run_history import ALL_KINDS, ListedRun, RunFilter, listed, recent_models

_KIND_WORDS = (
    ("", "Not in batches"),
    (RunKind.SINGLE, "Single"),
    (RunKind.COMPARISON, "In comparisons"),
    (RunKind.BATCH, "In batches"),
    (ALL_KINDS, "All"),
)
_STATUS_WORDS = (
    ("", "Any state"),
    (RunStatus.QUEUED, "Queued"),
    (RunStatus.RUNNING, "Running"),
    (RunStatus.SUCCEEDED, "Done"),
    (RunStatus.FAILED, "Failed"),
    (RunStatus.CANCELLED, "Stopped"),
)


@dataclass(frozen=True, kw_only=True)
class RunRow:
    """What a row shows of a run. `excerpt`: the first words of the answer, or of what went wrong (`is_problem`)."""

    id: uuid.UUID
    status: str
    is_open: bool
    model: str
    is_elsewhere: bool
    prompt: Prompt | None
    version_number: int | None
    kind: str
    comparison_id: uuid.UUID | None
    excerpt: str
    is_problem: bool
    first_token: str
    cost: str
    created_at: dt.datetime


@login_required
@require_GET
def runs(request: HttpRequest) -> HttpResponse:
    """All of mine; of one prompt where the address names it, as links from elsewhere do."""
    person = access.signed_in(request.user)
    shown = RunFilter.read(request.GET.dict())
    if shown.prompt is not None:
        # One page lists the runs of a prompt; its address says the rest.
        access.prompt_for(person, shown.prompt)
        return redirect(reverse("prompt-runs", args=[shown.prompt]) + shown.address().removeprefix("./"))
    return render(request, "playground/runs.html", _context(request, person, shown))


@login_required
@require_GET
def prompt_runs(request: HttpRequest, prompt_id: uuid.UUID) -> HttpResponse:
    """Mine of one prompt, or of one of its versions."""
    prompt = access.prompt_for(request.user, prompt_id)
    shown = RunFilter.read({**request.GET.dict(), "prompt": str(prompt_id)})
    context = _context(request, access.signed_in(request.user), shown)
    return render(request, "playground/runs.html", {**context, "place": "prompts", "prompt": prompt})


@login_required
@require_http_methods(["GET", "HEAD"])
def run(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """Opens the workbench on the version that was run, with the run beside it."""
    mine = VersionRun.objects.visible_to(access.signed_in(request.user)).select_related("version")
    found = mine.filter(pk=run_id).first()
    if found is None:
        raise NotFound
    response = redirect("prompt-version", found.version.prompt_id, found.version.number)
    response["Location"] += f"?run={run_id}"
    return response


def _context(request: HttpRequest, person: User, shown: RunFilter) -> dict[str, Any]:
    cursor = request.GET.get("cursor", "")
    found = shown.select(person).order_by("-pk")
    if cursor:
        found = found.filter(pk__lt=_read_id(cursor))
    page = list(found[: ROWS + 1])
    following = str(page[ROWS - 1].pk) if len(page) > ROWS else ""
    rows = [_row(each) for each in listed(page[:ROWS])]
    return {
        "place": "runs",
        "shown": shown,
        "runs": rows,
        "prompts": [row.prompt for row in rows if row.prompt is not None],
        "any_open": any(row.is_open for row in rows),
        # Of the moment at which it ends, the day that still counts: what a date field shows without scripts.
        "last_day": shown.until and shown.until - dt.timedelta(microseconds=1),
        "statuses": _STATUS_WORDS,
        "kinds": _KIND_WORDS,
        "models": recent_models(person),
        "unfiltered": RunFilter().address(),
        "more": shown.address(cursor=following) if following else "",
        "first": shown.address() if cursor else "",
    }


def _row(found: ListedRun) -> RunRow:
    run, version = found.run, found.version
    return RunRow(
        id=run.pk,
        status=run.status,
        is_open=run.status in OPEN,
        model=run.model,
        is_elsewhere=run.provider == Provider.ANTHROPIC,
        prompt=version.prompt if version else None,
        version_number=version.number if version else None,
        kind=run.kind,
        comparison_id=found.comparison_id,
        excerpt=run.excerpt or run.error_message,
        is_problem=not run.excerpt and bool(run.error_message),
        first_token=_duration(run),
        cost=money(run.cost_usd),
        created_at=run.queued_at,
    )


def _duration(run: Run) -> str:
    if run.ttft_ms is None:
        return ""
    return f"{run.ttft_ms} ms" if run.ttft_ms < 1000 else f"{run.ttft_ms / 1000:.1f} s"


def money(usd: Decimal | None) -> str:
    """US dollars for a row: cents, or the first two digits that say something; "" where nobody knows."""
    if usd is None:
        return ""
    if usd == 0 or usd >= 1:
        return f"${usd:,.2f}"
    digits = 1 - usd.adjusted()
    return f"${usd:.{min(digits, 8)}f}"


def _read_id(cursor: str) -> uuid.UUID:
    try:
        return uuid.UUID(cursor)
    except ValueError as error:
        raise InvalidInput("This address does not lead to a page of the list.", field="cursor") from error
