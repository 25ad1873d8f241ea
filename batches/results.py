"""The grid of a batch, a window of rows at a time: filtered, searched, with the cells of each row. Reads only."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, Q
from django.db.models.functions import Concat

from batches.models import OPEN_ITEM, Batch, BatchItem, ItemStatus
from batches.rows import Row, search_text
from batches.services import row_sets
from core.errors import InvalidInput

ONLY = ("different", "different_output", "failed", "error", "passed", "open")
#: What the grid shows of a value and of an answer; the rest is one call away.
SHOWN_VALUE = 500
SHOWN_ANSWER = 300
#: A search looks through the rows for so long, and says how far it came.
SEARCH_WITHIN_S = 3.0
SEARCHED_AT_ONCE = 2000

_BAD = (ItemStatus.FAILED, ItemStatus.ERROR)


@dataclass(frozen=True, kw_only=True)
class Filter:
    """`only`: of ONLY. `status`: a cell has it; with `version` (a position), the cell of that version has it."""

    only: str | None = None
    status: str | None = None
    version: int | None = None
    search: str = ""

    @property
    def is_empty(self) -> bool:
        return not (self.only or self.status or self.search)


def read_filter(only: str | None, status: str | None, version: str | None, search: str | None) -> Filter:
    """Raises InvalidInput."""
    if only is not None and only not in ONLY:
        raise InvalidInput(f"One of {', '.join(ONLY)}.", field="only")
    if status is not None and status not in ItemStatus.values:
        raise InvalidInput(f"A status is one of {', '.join(ItemStatus.values)}.", field="status")
    if version is not None and version not in ("0", "1", "2", "3"):
        raise InvalidInput("A position is 0 to 3.", field="version")
    if search is not None and len(search) > 500:
        raise InvalidInput("At most 500 characters are searched for.", field="q")
    return Filter(only=only, status=status, version=int(version) if version else None, search=(search or "").strip())


@dataclass(frozen=True, kw_only=True)
class Window:
    """`count`: rows that match; `searched`: rows that a search has looked through, None without one."""

    count: int
    offset: int
    rows: Sequence[tuple[int, Row]]
    searched: int | None = None


def window_of(batch: Batch, wanted: Filter, *, offset: int, limit: int) -> Window:
    """A window of the rows of a batch that match."""
    if wanted.is_empty:
        rows = row_sets.read_window(batch.rows_id, offset=offset, limit=limit)
        return Window(count=batch.rows.count, offset=offset, rows=rows)
    numbers, searched = matching(batch, wanted)
    chosen = numbers[offset : offset + limit]
    found = row_sets.read_numbers(batch.rows_id, chosen)
    return Window(
        count=len(numbers),
        offset=offset,
        rows=[(number, found[number]) for number in chosen],
        searched=searched,
    )


def matching(batch: Batch, wanted: Filter) -> tuple[list[int], int | None]:
    """The numbers of the rows that match, in order, and how many rows were searched for a text."""
    numbers = _by_cells(batch, wanted) if wanted.only or wanted.status else None
    if not wanted.search:
        return numbers or [], None
    return _searched(batch, wanted.search, numbers)


def _by_cells(batch: Batch, wanted: Filter) -> list[int]:
    items = BatchItem.objects.filter(batch=batch)
    if wanted.version is not None:
        items = items.filter(position=wanted.version)
    if wanted.status:
        items = items.filter(status=wanted.status)
    if wanted.only in ("different", "different_output"):
        return list(_differing(items, wanted.only).order_by("row"))
    items = items.filter(_CONDITIONS[wanted.only]) if wanted.only else items
    return list(items.order_by("row").values_list("row", flat=True).distinct())


_CONDITIONS: Mapping[str, Q] = {
    "failed": Q(status__in=_BAD),
    "error": Q(status=ItemStatus.ERROR),
    "passed": Q(status=ItemStatus.PASSED),
    "open": Q(status__in=OPEN_ITEM),
}


def _differing(items: Any, only: str) -> Any:
    """Rows whose versions disagree: in status or a check, or in what they answered. Cells to come say nothing yet."""
    ended = items.exclude(status__in=OPEN_ITEM)
    told = Concat(F("status"), F("marks")) if only == "different" else F("output_digest")
    rows = ended.values("row").annotate(kinds=Count(told, distinct=True)).filter(kinds__gt=1)
    return rows.values_list("row", flat=True)


def _searched(batch: Batch, search: str, numbers: list[int] | None) -> tuple[list[int], int]:
    """Rows whose values, expected text or answers hold `search`, whatever their case, as far as there is time."""
    found, among = set[int](), None if numbers is None else set(numbers)
    give_up_at = time.monotonic() + SEARCH_WITHIN_S
    needle, searched = search.casefold(), 0
    while searched < batch.rows.count and time.monotonic() < give_up_at:
        stretch = range(searched, searched + SEARCHED_AT_ONCE)
        cells = BatchItem.objects.filter(batch=batch, row__gte=stretch.start, row__lt=stretch.stop)
        found.update(cells.filter(excerpt__icontains=search).values_list("row", flat=True))
        rows = row_sets.read_window(batch.rows_id, offset=stretch.start, limit=SEARCHED_AT_ONCE)
        found.update(number for number, row in rows if needle in search_text(row))
        searched = min(stretch.stop, batch.rows.count)
    return sorted(found if among is None else found & among), searched


def cells_of(batch: Batch, numbers: Sequence[int]) -> dict[int, dict[int, BatchItem]]:
    """The cells of some rows, by row and position."""
    found: dict[int, dict[int, BatchItem]] = {}
    for item in BatchItem.objects.filter(batch=batch, row__in=list(numbers)):
        found.setdefault(item.row, {})[item.position] = item
    return found


def row_json(number: int, row: Row, cells: Mapping[int, BatchItem], versions: int) -> dict[str, Any]:
    """A row of the grid."""
    values, cut = {}, False
    for name, value in row.values.items():
        values[name], was_cut = _shortened(value)
        cut = cut or was_cut
    expected, was_cut = _shortened(row.expected)
    return {
        "index": number,
        "values": values,
        "expected": expected,
        "cut": cut or was_cut,
        "different": is_different(cells),
        "cells": [cell_json(cells[place]) if place in cells else None for place in range(versions)],
    }


def _shortened(value: Any) -> tuple[Any, bool]:
    text = value if isinstance(value, str | None) else json.dumps(value, ensure_ascii=False)
    if text is None or len(text) <= SHOWN_VALUE:
        return value, False
    return text[:SHOWN_VALUE], True


def is_different(cells: Mapping[int, BatchItem]) -> bool:
    """Whether the versions disagree on a row."""
    return len({(item.status, item.marks) for item in cells.values() if item.status not in OPEN_ITEM}) > 1


def cell_json(item: BatchItem) -> dict[str, Any]:
    """A cell of the grid."""
    return {
        "id": str(item.pk),
        "status": item.status,
        "run": str(item.run_id) if item.run_id else None,
        "attempt": item.attempt,
        "excerpt": item.excerpt[:SHOWN_ANSWER],
        "output_chars": item.output_chars,
        "stop_reason": item.stop_reason or None,
        "checks": [_verdict(each) for each in json.loads(item.verdicts)],
        "error": {"code": item.error_code, "message": item.error_message} if item.error_code else None,
        "ttft_ms": item.ttft_ms,
        "duration_ms": item.duration_ms,
        "input_tokens": item.input_tokens,
        "output_tokens": item.output_tokens,
    }


def _verdict(kept: Any) -> dict[str, str] | None:
    return None if kept is None else {"verdict": kept[0], "reason": kept[1]}


def full_row(batch: Batch, number: int, person_id: uuid.UUID) -> dict[str, Any]:
    """A row with whole values and whole answers. `run_visible`: whether the run's own page opens for this person."""
    row = row_sets.read_row(batch.rows_id, number)
    items = BatchItem.objects.filter(batch=batch, row=number).select_related("run")
    cells = {item.position: item for item in items.defer("run__request", "run__wire_request", "run__response_json")}
    shown = row_json(number, row, cells, batch.versions.count())
    for place, cell in enumerate(shown["cells"]):
        if cell is not None:
            run = cells[place].run
            cell["output"] = run.output if run is not None and run.is_terminal else ""
            cell["run_visible"] = run is not None and run.account_id == person_id
    return {**shown, "values": dict(row.values), "expected": row.expected, "cut": False}


def pages(batch: Batch, wanted: Filter, *, size: int) -> Iterator[list[tuple[int, Row, dict[int, BatchItem]]]]:
    """All matching rows with their cells and whole answers, `size` rows in memory at a time."""
    numbers = None if wanted.is_empty else matching(batch, wanted)[0]
    offset = 0
    while True:
        if numbers is None:
            rows = row_sets.read_window(batch.rows_id, offset=offset, limit=size)
        else:
            chosen = numbers[offset : offset + size]
            found = row_sets.read_numbers(batch.rows_id, chosen)
            rows = [(number, found[number]) for number in chosen]
        if not rows:
            return
        cells = _cells_with_answers(batch, [number for number, _ in rows])
        yield [(number, row, cells.get(number, {})) for number, row in rows]
        offset += size


def _cells_with_answers(batch: Batch, numbers: Sequence[int]) -> dict[int, dict[int, BatchItem]]:
    items = BatchItem.objects.filter(batch=batch, row__in=list(numbers)).select_related("run")
    found: dict[int, dict[int, BatchItem]] = {}
    for item in items.defer("run__request", "run__wire_request", "run__response_json"):
        found.setdefault(item.row, {})[item.position] = item
    return found
