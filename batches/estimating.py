"""What a batch would take, as far as that can be known before it runs. Reads only."""

from __future__ import annotations

import contextlib
import datetime as dt
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import Avg, Count, ExpressionWrapper, F, FloatField
from django.db.models.functions import Extract
from django.utils import timezone

from accounts.models import User
from batches import window
from batches.models import Batch
from batches.rows import Row, Totals
from batches.services import row_sets
from batches.services.batches import AskedVersion, Plan
from batches.services.columns import unset_names
from batches.services.datasets import ready_rows
from core.errors import DomainError
from core.ids import first_id_at
from inference_client import prices
from inference_client.models import Run, RunStatus
from playground import freezing, overrides, wire
from playground.counting import remembered_count
from playground.services.runs import PreparedRun, prepare_run

#: Rows whose requests are looked at, and those of them that the model server counts. Where it cannot, a token has about
#: four characters, as in English text.
SAMPLED_ROWS = 20
COUNTED_ROWS = 5
CHARACTERS_A_TOKEN = 4
#: Of one version, and for all of them together.
MOST_COUNTED_CHARACTERS = 1_000_000
COUNTED_WITHIN_S = 6.0
#: Of runs of the same model; older ones tell of another machine.
RECENT = dt.timedelta(days=2)
LEAST_RUNS = 3
#: Runs that are looked at, of all models: where a model was not run lately, no more are walked through.
LOOKED_AT = 2000


def estimate(*, account: User, plan: Plan) -> dict[str, Any]:
    """The answer of the API. Raises Conflict for a dataset that is not read, StorageUnavailable."""
    count, missing, sample = _rows_of(plan)
    runs = count * len(plan.versions)
    specs = [overrides.applied(freezing.thaw(each.version), each.parameters) for each in plan.versions]
    until = time.monotonic() + COUNTED_WITHIN_S
    readings = [
        _reading(account, each, spec, sample, until=until) for each, spec in zip(plan.versions, specs, strict=True)
    ]
    read = [each.tokens for each in readings]
    written = [int(spec["max_tokens"]) for spec in specs]
    at_once = _places(account)
    return {
        "rows": count,
        "runs": runs,
        "grading_runs": runs * sum(1 for check in plan.checks if check["kind"] == "model"),
        "input_tokens": None if None in read else sum(round(each * count) for each in read if each is not None),
        "counted_rows": min(each.counted for each in readings),
        "output_tokens_most": count * sum(written),
        "cost_usd": _cost(plan.versions, read, [0] * len(read), count),
        "cost_usd_most": _cost(plan.versions, read, written, count),
        "seconds": _seconds(plan.versions, count, at_once),
        "in_flight": at_once,
        "waiting_batches": Batch.objects.running().count(),
        "unset": _unset(specs, count, missing),
    }


def _rows_of(plan: Plan) -> tuple[int, Mapping[str, int], Sequence[Row]]:
    if plan.dataset is not None:
        rows = ready_rows(plan.dataset)
        step = max(1, rows.count // SAMPLED_ROWS)
        numbers = (
            range(0, rows.count, step) if rows.count <= SAMPLED_ROWS * 50 else range(min(rows.count, SAMPLED_ROWS))
        )
        return rows.count, rows.missing, list(row_sets.read_numbers(rows.pk, list(numbers)).values())
    totals = Totals()
    for row in plan.rows:
        totals.add(row)
    return totals.count, totals.missing, plan.rows[:SAMPLED_ROWS]


@dataclass(frozen=True, kw_only=True)
class _Reading:
    """Tokens a request of one version has in the mean, None if no sampled row can be sent; by how many counted rows."""

    tokens: float | None
    counted: int = 0


def _reading(
    account: User, asked: AskedVersion, spec: Mapping[str, Any], sample: Sequence[Row], *, until: float
) -> _Reading:
    """The mean length of all sampled requests, in the tokens that some of them have by the model server's own count."""
    prepared = [(_characters(each.body), each) for each in _prepared(asked, spec, sample)]
    if not prepared:
        return _Reading(tokens=None)
    mean = sum(length for length, _ in prepared) / len(prepared)
    lengths: list[int] = []
    tokens: list[int] = []
    for length, each in prepared[:: math.ceil(len(prepared) / COUNTED_ROWS)]:
        # Who cannot count once is not asked again, and nobody waits for the counts of very long texts.
        if time.monotonic() >= until or sum(lengths) + length > MOST_COUNTED_CHARACTERS:
            break
        count = remembered_count(account, asked.provider, {**each.body, "stream": False}, each.api_version).tokens
        if count is None:
            break
        lengths.append(length)
        tokens.append(count)
    if not sum(lengths):
        return _Reading(tokens=mean / CHARACTERS_A_TOKEN)
    return _Reading(tokens=mean * sum(tokens) / sum(lengths), counted=len(lengths))


def _prepared(asked: AskedVersion, spec: Mapping[str, Any], sample: Sequence[Row]) -> Iterator[PreparedRun]:
    for row in sample:
        with contextlib.suppress(DomainError):
            yield prepare_run(
                version=asked.version, spec=spec, values=wire.variable_values(dict(row.values)), model=asked.model
            )


def _characters(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(_characters(each) for name, each in value.items() if name not in ("model", "role", "type"))
    if isinstance(value, list | tuple):
        return sum(_characters(each) for each in value)
    return 0


def _cost(
    versions: Sequence[AskedVersion], read: Sequence[float | None], written: Sequence[int], count: int
) -> float | None:
    total = 0.0
    for each, tokens, answer in zip(versions, read, written, strict=True):
        price = prices.price_of(each.model, each.provider)
        if price is None or tokens is None:
            return None
        total += count * (tokens * float(price.input_per_mtok) + answer * float(price.output_per_mtok)) / 1e6
    return round(total, 6)


def _places(account: User) -> int:
    """How many runs one more batch of this person would have on their way."""
    running = list(Batch.objects.running().order_by("pk").values_list("pk", "maker_id"))
    share = window.shares([*running, ("new", account.pk)], settings.BATCH_IN_FLIGHT).get("new", 0)
    own = int(settings.RUN_PLACES.get(account.tier, 1))
    return max(1, min(share, max(1, own - 1)))


def _seconds(versions: Sequence[AskedVersion], count: int, at_once: int) -> int | None:
    """By the mean of recent runs of each model; None if one was not run lately."""
    total = 0.0
    for each in versions:
        mean = _recent_mean_s(each.model)
        if mean is None:
            return None
        total += mean * count
    return round(total / at_once)


def _recent_mean_s(model: str) -> float | None:
    took = ExpressionWrapper(Extract(F("finished_at") - F("started_at"), "epoch"), output_field=FloatField())
    newest = Run.objects.filter(pk__gte=first_id_at(timezone.now() - RECENT)).order_by("-pk").values("pk")[:LOOKED_AT]
    alike = Run.objects.filter(pk__in=newest, model=model, status=RunStatus.SUCCEEDED, started_at__isnull=False)
    found = alike.aggregate(mean=Avg(took), count=Count("pk"))
    return found["mean"] if found["count"] >= LEAST_RUNS else None


def _unset(specs: Sequence[Mapping[str, Any]], count: int, missing: Mapping[str, int]) -> dict[str, int]:
    """By variable that a version needs, how many rows lack it."""
    needed = dict.fromkeys(name for spec in specs for name in unset_names(spec, set()))
    lacking = {name: missing.get(name, count) for name in needed}
    return {name: rows for name, rows in lacking.items() if rows}
