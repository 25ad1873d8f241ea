"""Running versions, models or parameters side by side: many runs that one call makes, stops, or tries again."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from accounts.models import User
from core import idempotency
from core.errors import InvalidInput, Unprocessable
from inference_client.models import HEAVY_FIELDS, OPEN, RunKind, RunStatus
from inference_client.services import request_cancel
from playground import freezing
from playground.models import MAX_COLUMNS, MAX_REPETITIONS, MIN_COLUMNS, Comparison, Prompt, Version, VersionRun
from playground.services.runs import PreparedRun, prepare_run, queue_run

#: All its requests together: each run keeps its own, so that it stands alone.
MAX_REQUEST_BYTES = 64 * 1024 * 1024
#: Of idempotency keys.
_SCOPE = "comparisons"
#: What is run again on demand.
BROKEN = (RunStatus.FAILED, RunStatus.CANCELLED)


@dataclass(frozen=True, kw_only=True)
class Column:
    """`model` None: the version's own. `parameters`: overrides, checked. `asked`: how the caller named the version."""

    version: Version
    model: str | None
    parameters: Mapping[str, Any]
    asked: str = ""

    def plain(self) -> dict[str, Any]:
        return {"version": self.version.number, "model": self.model, "parameters": dict(self.parameters)}


def start_comparison(
    *,
    account: User,
    prompt: Prompt,
    columns: Sequence[Column],
    values: Mapping[str, str],
    repetitions: int,
    idempotency_key: str | None = None,
) -> Comparison:
    """Queue each column `repetitions` times, all of them in one transaction: a replayed call finds what the first made.

    A call that is repeated after a label moved is still the same call.
    Raises InvalidInput, Unprocessable (as a single run does; or all requests together are too large), Conflict,
    StorageUnavailable.
    """
    _refuse_shape(columns, repetitions)
    asked = [[column.asked or str(column.version.number), column.model, dict(column.parameters)] for column in columns]
    request = idempotency.fingerprint(prompt.pk, asked, dict(values), repetitions)
    earlier = idempotency.found_before(
        account_id=account.pk, scope=_SCOPE, key=idempotency_key, request=request, find=_comparison
    )
    if earlier is not None:
        return earlier
    prepared = _prepare(columns, values)
    _refuse_too_large(prepared, repetitions)

    def make() -> tuple[Comparison, uuid.UUID]:
        comparison = Comparison.objects.create(
            prompt=prompt,
            account=account,
            columns_json=json.dumps([column.plain() for column in columns], ensure_ascii=False),
            variables=json.dumps(dict(values)),
            repetitions=repetitions,
        )
        # Repetition by repetition, so that every column has its first answer early.
        for repetition in range(repetitions):
            for column, each in enumerate(prepared):
                _queue(account, comparison, each, column=column, repetition=repetition, attempt=1)
        return comparison, comparison.pk

    return idempotency.once(
        account_id=account.pk, scope=_SCOPE, key=idempotency_key, request=request, make=make, find=_comparison
    )


def _comparison(made: uuid.UUID) -> Comparison:
    return Comparison.objects.get(pk=made)


def cancel_comparison(*, comparison: Comparison, column: int | None = None) -> int:
    """Stop its runs, or those of one column, and say how many were asked to. What had arrived is kept."""
    rows = VersionRun.objects.in_column(comparison, column).filter(run__status__in=OPEN)
    # From the end: a queued run is not to start just because one before it was stopped.
    found = [
        row.run
        for row in rows.select_related("run").defer(*(f"run__{name}" for name in HEAVY_FIELDS)).order_by("-run_id")
    ]
    for run in found:
        request_cancel(run=run)
    return len(found)


def retry_comparison(*, comparison: Comparison, column: int | None = None) -> int:
    """Run again what failed or was stopped, and say how many runs that makes. The earlier ones stay as they are.

    Two calls at once make one set of runs: the second waits, and finds nothing broken. Raises StorageUnavailable.
    """
    broken = VersionRun.objects.newest_of(comparison).in_column(comparison, column)
    affected = {row.column for row in broken if row.run.status in BROKEN}
    if not affected:
        return 0
    columns = columns_of(comparison)
    values = json.loads(comparison.variables)
    ready = {index: each for index, each in enumerate(_prepare(columns, values)) if index in affected}
    with transaction.atomic():
        locked = Comparison.objects.select_for_update(of=("self",)).select_related("account").get(pk=comparison.pk)
        places = [row for row in VersionRun.objects.newest_of(locked) if row.run.status in BROKEN]
        again = [(row, ready[row.column]) for row in places if row.column in ready]
        for row, each in again:
            place = {"column": row.column, "repetition": row.repetition, "attempt": (row.attempt or 0) + 1}
            _queue(locked.account, locked, each, **place)
    return len(again)


def columns_of(comparison: Comparison) -> list[Column]:
    """Its columns with their versions read."""
    plain = comparison.columns
    numbers = {column["version"] for column in plain}
    versions = {each.number: each for each in Version.objects.filter(prompt=comparison.prompt_id, number__in=numbers)}
    return [Column(**{**column, "version": versions[column["version"]]}) for column in plain]


def _refuse_shape(columns: Sequence[Column], repetitions: int) -> None:
    if not MIN_COLUMNS <= len(columns) <= MAX_COLUMNS:
        raise InvalidInput(f"A comparison has {MIN_COLUMNS} to {MAX_COLUMNS} columns.", field="columns")
    if not 1 <= repetitions <= MAX_REPETITIONS:
        raise InvalidInput(f"Each column is run 1 to {MAX_REPETITIONS} times.", field="repetitions")


def _prepare(columns: Sequence[Column], values: Mapping[str, str]) -> list[PreparedRun]:
    """The request of each column. The texts of a version are read once, however many columns show it."""
    specs = {version.pk: freezing.thaw(version) for version in {column.version for column in columns}}
    return [
        prepare_run(
            version=column.version,
            spec=specs[column.version.pk],
            values=values,
            model=column.model,
            parameters=column.parameters,
            field=f"columns.{index}.parameters",
        )
        for index, column in enumerate(columns)
    ]


def _refuse_too_large(prepared: Sequence[PreparedRun], repetitions: int) -> None:
    size = sum(len(json.dumps(each.body, ensure_ascii=False).encode()) for each in prepared) * repetitions
    if size > MAX_REQUEST_BYTES:
        raise Unprocessable(
            f"All these requests together have {size:,} bytes; a comparison may have {MAX_REQUEST_BYTES:,}.",
            code="comparison_too_large",
            field="repetitions",
            kept="Nothing was run.",
            next_step="Take fewer repetitions or columns.",
        )


def _queue(account: User, comparison: Comparison, prepared: PreparedRun, **place: Any) -> None:
    queue_run(account=account, prepared=prepared, kind=RunKind.COMPARISON, comparison=comparison, **place)
