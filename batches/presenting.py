"""Datasets and batches as the API shows them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.db.models import prefetch_related_objects

from accounts.models import User
from batches import checks
from batches.exports import title
from batches.models import Batch, BatchState, BatchVersion, Dataset, DatasetFile
from batches.summary import counts_of, counts_of_all, pace_of, summary_of
from playground.access import OWN, RUN
from playground.models import Prompt


def dataset_json(dataset: Dataset, *, with_problems: bool = True) -> dict[str, Any]:
    rows, file = dataset.rows, file_of(dataset)
    return {
        "id": str(dataset.pk),
        "prompt": str(dataset.prompt_id),
        "name": dataset.name,
        "status": file.status if file is not None else DatasetFile.Status.READY.value,
        "columns": rows.columns if rows else [],
        "count": rows.count if rows else 0,
        "has_expected": bool(rows and rows.expected_count),
        "bytes": rows.length if rows else 0,
        "revision": dataset.revision,
        "editable": dataset.is_editable,
        "maker": person_json(dataset.maker),
        "created_at": dataset.created_at,
        "updated_at": dataset.updated_at,
        "file": _file_json(file, with_problems=with_problems) if file is not None else None,
    }


def file_of(dataset: Dataset) -> DatasetFile | None:
    """The file that a dataset was made of, None if it was typed in."""
    try:
        return dataset.file
    except ObjectDoesNotExist:
        return None


def _file_json(file: DatasetFile, *, with_problems: bool) -> dict[str, Any]:
    return {
        "format": file.format,
        "size": file.size,
        "bytes_read": file.bytes_read,
        "rows_read": file.rows_read,
        "problem_count": file.problem_count,
        **({"problems": json.loads(file.problems)} if with_problems else {}),
        "warnings": json.loads(file.warnings),
        "error": {"code": file.error_code, "message": file.error_message} if file.error_code else None,
    }


def person_json(person: User | None) -> dict[str, Any] | None:
    return {"id": str(person.pk), "name": person.label} if person is not None else None


def batch_json(batch: Batch, person: User) -> dict[str, Any]:
    """A batch with its summary."""
    shown = _batch_json(batch, person, counts_of(batch), powers_over(person, batch.prompt))
    return {**shown, "summary": summary_of(batch)}


def batch_list_json(batches: Sequence[Batch], prompt: Prompt, person: User) -> list[dict[str, Any]]:
    """Batches of one prompt in a list, without their summaries; what is asked of the database does not grow with it."""
    counts, powers = counts_of_all(batches), powers_over(person, prompt)
    prefetch_related_objects(batches, "versions__version")
    return [_batch_json(batch, person, counts[batch.pk], powers) for batch in batches]


@dataclass(frozen=True, kw_only=True)
class Powers:
    """What somebody may do with batches of a prompt, besides whose they are."""

    runs: bool
    owns: bool


def powers_over(person: User, prompt: Prompt) -> Powers:
    return Powers(runs=person.has_perm(RUN, prompt), owns=person.has_perm(OWN, prompt))


def _batch_json(batch: Batch, person: User, counts: Mapping[str, int], powers: Powers) -> dict[str, Any]:
    versions = sorted(batch.versions.all(), key=lambda each: each.position)
    return {
        "id": str(batch.pk),
        "prompt": str(batch.prompt_id),
        "name": batch.name,
        "state": batch.state,
        "paused_because": {"code": batch.paused_code, "message": batch.paused_message} if batch.paused_code else None,
        "held_until": batch.held_until,
        "dataset": {"id": str(batch.dataset.pk), "name": batch.dataset.name} if batch.dataset else None,
        "columns": batch.rows.columns,
        "has_expected": batch.rows.expected_count > 0,
        "maker": person_json(batch.maker),
        "mine": batch.maker_id == person.pk,
        "can": _abilities(batch, person, powers),
        "versions": [_version_json(each, versions) for each in versions],
        "checks": [
            {**check, "index": index, "name": check.get("name", ""), "label": checks.label(check)}
            for index, check in enumerate(batch.check_list)
        ],
        "rows": batch.rows.count,
        "counts": counts,
        **pace_of(batch, counts),
        "created_at": batch.created_at,
        "finished_at": batch.finished_at,
    }


def _abilities(batch: Batch, person: User, powers: Powers) -> dict[str, bool]:
    may_control = batch.maker_id == person.pk and powers.runs
    may_stop = may_control or powers.owns
    is_open = batch.state in (BatchState.RUNNING, BatchState.PAUSED)
    return {
        "control": may_control and batch.state != BatchState.CANCELLED,
        "cancel": may_stop and is_open,
        "delete": may_stop and not is_open,
    }


def _version_json(column: BatchVersion, versions: Iterable[BatchVersion]) -> dict[str, Any]:
    return {
        "position": column.position,
        "number": column.version.number,
        "pointer": column.pointer,
        "model": column.model,
        "provider": column.provider,
        "parameters": json.loads(column.parameters),
        "label": title(column, list(versions)),
    }
