"""Sets of rows, in the database: made once, read a window at a time, dropped when nothing has them."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Iterable, Iterator, Sequence

from django.db import transaction
from django.db.models import F

from batches.models import RowChunk, RowSet
from batches.rows import Chunk, Row, Totals, pack, unpack
from playground.models import Prompt


@transaction.atomic
def make_row_set(*, prompt: Prompt, rows: Iterable[Row], columns: Sequence[str] = ()) -> RowSet:
    """Keep rows. `columns` go before those that only the rows name."""
    totals = Totals(columns=list(columns))
    made = RowSet.objects.create(prompt=prompt)
    RowChunk.objects.bulk_create(_as_model(made, chunk) for chunk in pack(rows, totals))
    complete(made, totals)
    return made


def complete(made: RowSet, totals: Totals) -> None:
    """Write down what the chunks of a set hold."""
    made.columns, made.missing = totals.columns, totals.missing
    made.count, made.length, made.expected_count = totals.count, totals.length, totals.expected
    made.save(update_fields=["columns", "missing", "count", "length", "expected_count"])


def add_chunks(made: RowSet, chunks: Iterable[Chunk]) -> None:
    RowChunk.objects.bulk_create(_as_model(made, chunk) for chunk in chunks)


def _as_model(made: RowSet, chunk: Chunk) -> RowChunk:
    return RowChunk(rows=made, first=chunk.first, count=chunk.count, data=chunk.data)


def read_window(rows_id: uuid.UUID, *, offset: int, limit: int) -> list[tuple[int, Row]]:
    """Up to `limit` rows from number `offset` on, with their numbers."""
    chunks = RowChunk.objects.filter(rows_id=rows_id, first__lt=offset + limit, first__gt=offset - F("count"))
    found = []
    for chunk in chunks.order_by("first"):
        for number, row in enumerate(unpack(bytes(chunk.data)), start=chunk.first):
            if offset <= number < offset + limit:
                found.append((number, row))
    return found


def read_numbers(rows_id: uuid.UUID, numbers: Sequence[int]) -> dict[int, Row]:
    """The rows with these numbers, wherever they are; chunk by chunk, so that one is unpacked once."""
    wanted, found = set(numbers), dict[int, Row]()
    for first, data in _chunks_of(rows_id, wanted):
        for number, row in enumerate(unpack(data), start=first):
            if number in wanted:
                found[number] = row
    return found


def _chunks_of(rows_id: uuid.UUID, wanted: set[int]) -> Iterator[tuple[int, bytes]]:
    if not wanted:
        return
    places = RowChunk.objects.filter(rows_id=rows_id, first__lte=max(wanted)).values_list("pk", "first", "count")
    keys = [pk for pk, first, count in places if any(first <= number < first + count for number in wanted)]
    for first, data in RowChunk.objects.filter(pk__in=keys).order_by("first").values_list("first", "data"):
        yield first, bytes(data)


@functools.lru_cache(maxsize=16)
def _unpacked(rows_id: uuid.UUID, first: int) -> list[Row]:
    """A chunk, kept for a while: the cells of a batch come one after the other. Sets never change."""
    return unpack(bytes(RowChunk.objects.get(rows_id=rows_id, first=first).data))


def read_row(rows_id: uuid.UUID, number: int) -> Row:
    """One row of a set."""
    chunk = RowChunk.objects.filter(rows_id=rows_id, first__lte=number).order_by("-first")
    first = chunk.values_list("first", flat=True)[0]
    return _unpacked(rows_id, first)[number - first]


def all_rows(rows_id: uuid.UUID) -> Iterator[tuple[int, Row]]:
    """Every row with its number, a chunk in memory at a time."""
    after = -1
    while True:
        chunk = RowChunk.objects.filter(rows_id=rows_id, first__gt=after).order_by("first").first()
        if chunk is None:
            return
        after = chunk.first
        yield from enumerate(unpack(bytes(chunk.data)), start=chunk.first)


def drop_unused(rows_id: uuid.UUID | None) -> None:
    """Remove a set that no dataset and no batch has any more."""
    if rows_id is not None:
        RowSet.objects.filter(pk=rows_id, datasets=None, batches=None).delete()
