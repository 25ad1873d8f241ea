"""The work behind a file of test cases in the worker: fetch it, read it row by row, keep its rows.

May run any number of times for one file, also at once, and die anywhere: rows are kept in a set that nothing names
until the last change, which names it and ends the file in one transaction. What a dead worker left of one is dropped by
the next.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from typing import IO, Any

from django.db import transaction
from django.utils import timezone

from batches.models import Dataset, DatasetFile, RowSet
from batches.parsing import CsvRows, FileRefused, JsonRows, Layout, Problem
from batches.rows import MOST_BYTES, MOST_COLUMNS, MOST_ROWS, Row, Totals, pack
from batches.services import files, row_sets
from core.errors import StorageUnavailable
from playground.bodies import objects
from playground.services import staging

#: A file takes a thread of the worker for seconds; the others are for batches that run.
_AT_ONCE = threading.BoundedSemaphore(1)
_SPOOLED = 16 * 1024 * 1024
#: How often a worker says how far it is, at most.
STEP_S = 0.5
TOLD_PROBLEMS = 100


class Busy(Exception):
    """Another file is being read by this worker. Try later."""


class _Lost(Exception):
    """The file is somebody else's now, or its dataset was deleted."""


def read_file(*, dataset_id: uuid.UUID) -> None:
    """Make a dataset of a queued file, or say why not. Raises StorageUnavailable, Busy: try later."""
    if not _AT_ONCE.acquire(blocking=False):
        raise Busy
    try:
        claim = uuid.uuid4()
        queued = DatasetFile.objects.filter(pk=dataset_id, status=DatasetFile.Status.QUEUED)
        if queued.update(status=DatasetFile.Status.READING, claim=claim, seen_at=timezone.now()):
            _run(_Claimed(DatasetFile.objects.select_related("dataset__prompt").get(pk=dataset_id), claim))
    finally:
        _AT_ONCE.release()


class _Claimed:
    """A file as the worker that has it sees it: every change names the claim."""

    def __init__(self, row: DatasetFile, claim: uuid.UUID) -> None:
        self.row = row
        self.claim = claim
        self.problems: list[Problem] = []
        self.problem_count = 0
        self._said_at = time.monotonic()

    def change(self, **values: Any) -> None:
        """Raises _Lost if it is no longer ours."""
        mine = DatasetFile.objects.filter(pk=self.row.pk, claim=self.claim)
        if not mine.update(seen_at=timezone.now(), **values):
            raise _Lost

    def note(self, problem: Problem) -> None:
        self.problem_count += 1
        if len(self.problems) < TOLD_PROBLEMS:
            self.problems.append(problem)

    def tell(self, reader: CsvRows | JsonRows, rows: int, *, now: bool = False) -> None:
        """Say how far it is, now and then."""
        if now or time.monotonic() - self._said_at >= STEP_S:
            self._said_at = time.monotonic()
            self.change(
                bytes_read=reader.lines.bytes_read,
                rows_read=rows,
                problem_count=self.problem_count,
                problems=json.dumps([vars(each) for each in self.problems]),
                warnings=json.dumps(reader.warnings),
            )


def _run(work: _Claimed) -> None:
    try:
        with tempfile.SpooledTemporaryFile(max_size=_SPOOLED) as file:
            _fetch(work.row, file)
            _take_in(work, file)
    except StorageUnavailable:
        mine = DatasetFile.objects.filter(pk=work.row.pk, claim=work.claim)
        mine.update(status=DatasetFile.Status.QUEUED, claim=None, seen_at=timezone.now())
        raise
    except FileRefused as refused:
        files.end(work.row, refused.code, refused.message, claim=work.claim)
    except _Lost:
        return
    except Exception:
        files.end(work.row, "unexpected", "Something went wrong here. Nothing was kept.", claim=work.claim)
        raise


def _fetch(row: DatasetFile, file: IO[bytes]) -> None:
    """The staged bytes, if they are what was declared: the store is not believed. Raises FileRefused."""
    digest, length = hashlib.sha256(), 0
    try:
        for piece in objects.chunks(row.staging_key):
            digest.update(piece)
            length += file.write(piece)
            if length > row.size:
                break
    except objects.ObjectMissing as error:
        raise FileRefused("not_uploaded", "The file was gone before it was read. Send it again.") from error
    if length != row.size or digest.digest() != bytes(row.sha256):
        raise FileRefused("wrong_hash", "What arrived is not the file that was announced. Send it again.")
    file.seek(0)


def _take_in(work: _Claimed, file: IO[bytes]) -> None:
    layout = Layout(columns=json.loads(work.row.columns), expected=json.loads(work.row.expected))
    kind = CsvRows if work.row.format == DatasetFile.Format.CSV else JsonRows
    reader: CsvRows | JsonRows = kind(file, layout)
    totals = Totals()
    made = RowSet.objects.create(prompt=work.row.dataset.prompt)
    try:
        for chunk in pack(_good_rows(work, reader, totals), totals):
            _refuse_too_much(totals)
            row_sets.add_chunks(made, [chunk])
        totals.columns = list(dict.fromkeys([*reader.columns, *totals.columns]))
        work.tell(reader, totals.count, now=True)
        _refuse_bad(work, totals)
        row_sets.complete(made, totals)
        _seal(work, made)
    except BaseException:
        made.delete()
        raise


def _good_rows(work: _Claimed, reader: CsvRows | JsonRows, totals: Totals) -> Iterator[Row]:
    for found in reader:
        if isinstance(found, Problem):
            work.note(found)
        else:
            yield found
        work.tell(reader, totals.count)


def _refuse_too_much(totals: Totals) -> None:
    if totals.count > MOST_ROWS:
        raise FileRefused("too_many_rows", f"A file may have {MOST_ROWS:,} test cases. Split it.")
    if len(totals.columns) > MOST_COLUMNS:
        raise FileRefused("too_many_columns", f"Test cases may have {MOST_COLUMNS} variables.")
    if totals.length > MOST_BYTES:
        raise FileRefused("too_large", f"The test cases are more than {MOST_BYTES:,} bytes. Split the file.")


def _refuse_bad(work: _Claimed, totals: Totals) -> None:
    """A file is taken in whole or not at all, unless whoever sent it wants to go on without its bad rows."""
    if work.problem_count and not work.row.skips_bad_rows:
        noun = "row" if work.problem_count == 1 else "rows"
        raise FileRefused(
            "bad_rows",
            f"{work.problem_count:,} {noun} cannot be read, so nothing was taken in. Mend them and import the file"
            " again, or import it without them.",
        )
    if totals.count == 0:
        raise FileRefused("no_rows", "There is no test case in this file.")


def _seal(work: _Claimed, made: RowSet) -> None:
    """The rows and the end of the file come together."""
    with transaction.atomic():
        work.change(status=DatasetFile.Status.READY, claim=None, ended_at=timezone.now())
        Dataset.objects.filter(pk=work.row.pk).update(rows=made, updated_at=timezone.now())
        staging.drop(work.row)
