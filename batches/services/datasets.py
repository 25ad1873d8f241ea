"""Datasets: made of rows that were typed in, or announced as a file (`services.files`); changed while small."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from batches import edits
from batches.models import Dataset, DatasetFile, RowSet
from batches.rows import Row
from batches.services.row_sets import all_rows, drop_unused, make_row_set
from core import idempotency
from core.errors import Conflict, InvalidInput, RateLimited
from playground.models import Prompt
from playground.services import staging

#: Of one prompt.
MOST_DATASETS = 500


def create_dataset(
    *,
    account: User,
    prompt: Prompt,
    name: str,
    rows: Sequence[Row],
    columns: Sequence[str] = (),
    idempotency_key: str | None = None,
) -> Dataset:
    """Keep rows that were typed in. Raises InvalidInput, DatasetTooLarge, RateLimited, IdempotencyKeyReused."""
    edits.refuse_too_large(rows)
    kept_name = clean_name(name)

    def make() -> tuple[Dataset, uuid.UUID]:
        refuse_too_many(prompt)
        made = Dataset.objects.create(
            prompt=prompt,
            maker=account,
            name=kept_name,
            rows=make_row_set(prompt=prompt, rows=rows, columns=columns),
        )
        return made, made.pk

    return idempotency.once(
        account_id=account.pk,
        scope="datasets",
        key=idempotency_key,
        request=idempotency.fingerprint(prompt.pk, kept_name, list(columns), [row.as_json() for row in rows]),
        make=make,
        find=lambda pk: Dataset.objects.select_related("rows").get(pk=pk),
    )


def clean_name(raw: str) -> str:
    """Raises InvalidInput."""
    name = " ".join(raw.split())
    if not 0 < len(name) <= 200:
        raise InvalidInput("A name has 1 to 200 characters.", field="name")
    return name


def refuse_too_many(prompt: Prompt) -> None:
    if Dataset.objects.filter(prompt=prompt).count() >= MOST_DATASETS:
        raise RateLimited(
            f"A prompt may have {MOST_DATASETS} sets of test cases.",
            code="too_many_datasets",
            next_step="Delete some that nobody needs.",
            retry_after_s=60,
        )


@transaction.atomic
def rename_dataset(*, dataset: Dataset, name: str) -> Dataset:
    dataset.name = clean_name(name)
    dataset.updated_at = timezone.now()
    dataset.save(update_fields=["name", "updated_at"])
    return dataset


@transaction.atomic
def edit_rows(*, dataset: Dataset, revision: int, changes: Any, columns: object = None) -> Dataset:
    """Change rows of a small dataset, as long as it still is at `revision`; batches keep the rows that they have.

    Raises Conflict (somebody else was faster; not ready), Unprocessable (too large), InvalidInput.
    """
    # The same lock that the making of a batch takes: it gets the rows before or after, and they stay.
    locked = Dataset.objects.select_for_update(no_key=True).get(pk=dataset.pk)
    rows = ready_rows(locked)
    if locked.revision != revision:
        raise Conflict(
            "Somebody else changed these test cases meanwhile.",
            code="dataset_changed",
            data={"revision": locked.revision},
            kept="Their change is kept; yours is still in this page.",
            next_step="Load them again and repeat the change.",
        )
    if not locked.is_editable:
        raise edits.DatasetTooLarge
    changed = edits.apply([row for _, row in all_rows(rows.pk)], changes)
    names = edits.renamed(rows.columns, changes) if columns is None else edits.read_names(columns, field="columns")
    if columns is not None:
        changed = edits.keep_columns(changed, names)
    edits.refuse_too_large(changed)
    locked.rows = make_row_set(prompt=locked.prompt, rows=changed, columns=names)
    locked.revision += 1
    locked.updated_at = timezone.now()
    locked.save(update_fields=["rows", "revision", "updated_at"])
    drop_unused(rows.pk)
    return locked


def ready_rows(dataset: Dataset) -> RowSet:
    """The rows of a dataset. Raises Conflict while its file is not read, or if it could not be."""
    if dataset.rows is None:
        raise Conflict(
            "The file of these test cases is not read yet.",
            code="dataset_not_ready",
            next_step="Wait until it is, or see what is wrong with it.",
        )
    return dataset.rows


@transaction.atomic
def delete_dataset(*, dataset: Dataset) -> None:
    """Remove a dataset, with a file on its way. Batches keep the rows that they have."""
    locked = Dataset.objects.select_for_update().filter(pk=dataset.pk).first()
    if locked is None:
        return
    file = DatasetFile.objects.filter(dataset=locked).first()
    if file is not None:
        staging.drop(file)
    rows_id = locked.rows_id
    locked.delete()
    drop_unused(rows_id)
