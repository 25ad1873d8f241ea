"""The results of a batch, and the rows of a dataset, as files: a page of rows in memory at a time. Pure but for reads.

CSV is exact by default. A spreadsheet takes a cell that begins with = + - @ for a formula, and a formula may call out
of the file; for one, such cells get an apostrophe before them, and only if that was asked for: a file that programs
read must hold what the model said.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

from batches import checks
from batches.models import Batch, BatchItem, BatchVersion, RowSet
from batches.results import Filter, cell_json, pages
from batches.rows import Row
from batches.services import row_sets

PAGE_ROWS = 200
BOM = "\ufeff"
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class CsvWriter:
    """Lines of a CSV file as text, RFC 4180: CRLF, quotes doubled."""

    def __init__(self, *, spreadsheet: bool) -> None:
        self._buffer = io.StringIO(newline="")
        self._writer = csv.writer(self._buffer)
        self._spreadsheet = spreadsheet

    def add(self, cells: Sequence[Any]) -> None:
        self._writer.writerow([self._cell(each) for each in cells])

    def take(self) -> str:
        """What was added since the last time."""
        text = self._buffer.getvalue()
        self._buffer.seek(0)
        self._buffer.truncate()
        return text

    def _cell(self, value: Any) -> str:
        text = "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return f"'{text}" if self._spreadsheet and isinstance(value, str) and text.startswith(_FORMULA) else text


def results_csv(batch: Batch, wanted: Filter, *, spreadsheet: bool) -> Iterator[str]:
    """The grid as CSV, page by page."""
    writer = CsvWriter(spreadsheet=spreadsheet)
    versions = list(batch.versions.select_related("version").order_by("position"))
    names = [checks.label(each) for each in batch.check_list]
    columns: list[str] = list(batch.rows.columns)
    heads = [head for each in versions for head in _heads(each, versions, names)]
    writer.add(["row", *columns, "expected", *heads])
    yield (BOM if spreadsheet else "") + writer.take()
    for page in pages(batch, wanted, size=PAGE_ROWS):
        for number, row, cells in page:
            answers = [cell for each in versions for cell in _cells(cells.get(each.position), len(names))]
            values = [row.values.get(name) for name in columns]
            writer.add([number + 1, *values, row.expected, *answers])
        yield writer.take()


def _heads(column: BatchVersion, versions: Sequence[BatchVersion], names: Sequence[str]) -> list[str]:
    return [
        f"{title(column, versions)} {head}"
        for head in ("status", "output", *names, "input tokens", "output tokens", "ttft ms", "error")
    ]


def title(column: BatchVersion, versions: Sequence[BatchVersion]) -> str:
    """`v3`, with its model where another column is the same version, and its place where even that is the same."""
    same = [each for each in versions if each.version_id == column.version_id]
    if len(same) == 1:
        return f"v{column.version.number}"
    alike = [each for each in same if each.model == column.model]
    place = "" if len(alike) == 1 else f" #{column.position + 1}"
    return f"v{column.version.number} {column.model}{place}"


def _cells(item: BatchItem | None, check_count: int) -> list[Any]:
    if item is None:
        return ["", "", *[""] * check_count, "", "", "", ""]
    verdicts = [each[0] if each else "" for each in json.loads(item.verdicts)]
    output = item.run.output if item.run is not None else ""
    return [
        item.status,
        output,
        *(verdicts + [""] * check_count)[:check_count],
        item.input_tokens,
        item.output_tokens,
        item.ttft_ms,
        item.error_message,
    ]


def results_jsonl(batch: Batch, wanted: Filter) -> Iterator[str]:
    """The grid as JSON lines: what a row of the API has, with whole values and answers."""
    versions = list(batch.versions.select_related("version").order_by("position"))
    for page in pages(batch, wanted, size=PAGE_ROWS):
        yield "".join(f"{json.dumps(_line(*each, versions), ensure_ascii=False)}\n" for each in page)


def _line(number: int, row: Row, cells: dict[int, BatchItem], versions: Sequence[BatchVersion]) -> dict[str, Any]:
    answers = []
    for each in versions:
        item = cells.get(each.position)
        shown: dict[str, Any] = {"version": each.version.number, "model": each.model}
        if item is not None:
            cell = cell_json(item)
            del cell["id"], cell["excerpt"]
            shown |= {**cell, "output": item.run.output if item.run is not None else ""}
        answers.append(shown)
    return {"index": number, "values": dict(row.values), "expected": row.expected, "answers": answers}


def rows_csv(rows: RowSet, *, spreadsheet: bool) -> Iterator[str]:
    """The rows of a dataset as CSV; a variable that is unset is an empty cell."""
    writer = CsvWriter(spreadsheet=spreadsheet)
    columns: list[str] = list(rows.columns)
    # A column that is called so stays the variable; the texts that are expected get the longer name.
    expected = ["expected" if "expected" not in columns else "expected text"] if rows.expected_count else []
    writer.add([*columns, *expected])
    yield (BOM if spreadsheet else "") + writer.take()
    for number, row in row_sets.all_rows(rows.pk):
        writer.add([*(row.values.get(name) for name in columns), *([row.expected] if expected else [])])
        if number % PAGE_ROWS == PAGE_ROWS - 1:
            yield writer.take()
    yield writer.take()


def rows_jsonl(rows: RowSet) -> Iterator[str]:
    """The rows of a dataset as JSON lines."""
    lines: list[str] = []
    for number, row in row_sets.all_rows(rows.pk):
        lines.append(f"{json.dumps(row.as_json(), ensure_ascii=False)}\n")
        if number % PAGE_ROWS == PAGE_ROWS - 1:
            yield "".join(lines)
            lines.clear()
    yield "".join(lines)
