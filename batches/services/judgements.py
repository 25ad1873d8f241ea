"""The checks of a cell that a model is asked about: one run each, one after the other, in the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from django.utils import timezone

from batches import grading
from batches.judging import Answer, Judgement
from batches.models import Batch, BatchItem, BatchRun, ItemStatus
from batches.services import row_sets
from batches.services.columns import Column
from inference_client.models import Run, RunKind
from playground.services.runs import PreparedRun, queue_run
from playground.spec import DEFAULT_API_VERSION

CANCELLED = Judgement(verdict="error", reason="The batch was cancelled before a model was asked.")
#: How often one judgement is asked for while the backend is away or breaks off.
MOST_ATTEMPTS = 6


def answer_of(batch: Batch, column: Column, item: BatchItem, text: str) -> Answer:
    row = row_sets.read_row(batch.rows_id, item.row)
    return Answer(text=text, values=column.values_of(row), expected=row.expected, schema=column.schema())


def send_missing(batch: Batch, columns: Sequence[Column]) -> None:
    """Ask again about cells whose last judgement was to be repeated."""
    for item in batch.items.filter(status=ItemStatus.CHECKING).select_related("run"):
        asked = BatchRun.objects.filter(
            item=item, attempt=item.attempt, judged=item.judging, judging_attempt=item.judging_attempt
        )
        if not asked.exists():
            ask(batch, columns[item.position], item)


def ask(batch: Batch, column: Column, item: BatchItem) -> None:
    """Send the judgement that `item.judging` names."""
    run = item.run
    check = batch.check_list[item.judging or 0]
    answer = answer_of(batch, column, item, run.output if run is not None else "")
    model = check["model"] or column.row.model
    prepared = PreparedRun(
        version=column.version,
        body=grading.request(check, answer, model=model),
        api_version=DEFAULT_API_VERSION,
        values={},
        parameters={},
        provider=column.row.provider if check["model"] is None else "",
    )
    made = queue_run(account=batch.maker, prepared=prepared, kind=RunKind.BATCH)
    BatchRun.objects.create(
        run=made,
        item=item,
        attempt=item.attempt,
        judged=item.judging,
        judging_attempt=item.judging_attempt,
    )


def go_on(batch: Batch, column: Column, item: BatchItem, verdicts: list[Judgement | None]) -> None:
    """Keep what is known, and ask about the first check that is not; end the cell if all are."""
    item.verdicts = json.dumps([None if each is None else [each.verdict, each.reason] for each in verdicts])
    open_check = next((index for index, each in enumerate(verdicts) if each is None), None)
    if open_check is None:
        end(item, [each for each in verdicts if each is not None])
        return
    item.status, item.judging, item.judging_attempt = ItemStatus.CHECKING, open_check, 0
    item.save()
    ask(batch, column, item)


def end(item: BatchItem, verdicts: Sequence[Judgement]) -> None:
    """A cell with all its judgements: a fail outweighs an error, and an error a pass."""
    found = {each.verdict for each in verdicts}
    item.status = next((status for verdict, status in _BY_WEIGHT if verdict in found), ItemStatus.DONE)
    item.verdicts = json.dumps([[each.verdict, each.reason] for each in verdicts])
    item.marks = "".join(each.verdict[0] for each in verdicts)
    item.judging, item.ended_at = None, timezone.now()
    item.save()


_BY_WEIGHT = (("fail", ItemStatus.FAILED), ("error", ItemStatus.ERROR), ("pass", ItemStatus.PASSED))


def read_verdicts(item: BatchItem) -> list[Judgement | None]:
    kept: list[Any] = json.loads(item.verdicts)
    return [None if each is None else Judgement(verdict=each[0], reason=each[1]) for each in kept]


def note_cost(item: BatchItem, run: Run) -> None:
    """Add what a judgement used to its cell."""
    item.judging_runs += 1
    item.judging_input_tokens += run.input_tokens or 0
    item.judging_output_tokens += run.output_tokens or 0
