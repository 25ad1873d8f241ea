"""What becomes of a cell when one of its runs has ended: checks, another try, or a pause of the batch.

May be done twice, at once, or by a worker that dies: everything is written in one transaction under the lock of the
batch, and only if the cell still waits for this very run.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import uuid
from collections.abc import Sequence

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from batches import grading
from batches.after_failure import AWAY, BROKEN_OFF, NOT_LET_IN, After, after
from batches.judging import Judgement, judge
from batches.models import EXCERPT_LENGTH, Batch, BatchItem, BatchRun, BatchState, ItemStatus
from batches.services import judgements
from batches.services.columns import Column, columns_of
from batches.services.sending import pause
from inference_client.models import TERMINAL, Run, RunStatus

#: The end of a run is told at once; what was not settled by then was lost with a worker or a broker.
LOST_AFTER = dt.timedelta(seconds=5)
ITEMS_A_TURN = 200
_WORDS = {
    "inference_unavailable": "The inference backend did not answer for about twenty minutes.",
    "unauthorized": "The model server does not accept the key it is called with.",
    "runs_fail": "Many runs in a row failed.",
}


def settle(*, run_id: uuid.UUID) -> uuid.UUID | None:
    """Settle the cell that a run was made for; its batch, or None if there is nothing to do.

    Raises StorageUnavailable; the sweep comes again.
    """
    tied = BatchRun.objects.select_related("item__batch__prompt", "item__batch__maker", "run").filter(pk=run_id).first()
    if tied is None or not tied.run.is_terminal:
        return None
    batch = tied.item.batch
    if not _is_awaited(tied.item, tied):
        return batch.pk
    columns = columns_of(batch)
    if tied.judged is None:
        _settle_answer(tied, columns[tied.item.position])
    else:
        _settle_judgement(tied, columns[tied.item.position])
    return batch.pk


def _is_awaited(item: BatchItem, tied: BatchRun) -> bool:
    if tied.attempt != item.attempt:
        return False
    if tied.judged is None:
        return item.status == ItemStatus.RUNNING
    place = (item.judging, item.judging_attempt)
    return item.status == ItemStatus.CHECKING and place == (tied.judged, tied.judging_attempt)


def _locked(tied: BatchRun) -> tuple[Batch, BatchItem] | None:
    """The batch and the cell as they are now, if the cell still waits for this run."""
    batch = Batch.objects.select_for_update(no_key=True).select_related("prompt", "maker").get(pk=tied.item.batch_id)
    item = BatchItem.objects.select_related("run").get(pk=tied.item_id)
    return (batch, item) if _is_awaited(item, tied) else None


def _settle_answer(tied: BatchRun, column: Column) -> None:
    run, batch = tied.run, tied.item.batch
    if run.status != RunStatus.SUCCEEDED:
        _settle_failure(tied)
        return
    # Before the lock: a check may take seconds, and ask the backend for embeddings.
    answer = judgements.answer_of(batch, column, tied.item, run.output)
    verdicts = [judge(check, answer) for check in batch.check_list]
    with transaction.atomic():
        current = _locked(tied)
        if current is None:
            return
        locked, item = current
        _keep_answer(item, run)
        if locked.state == BatchState.CANCELLED:
            judgements.end(item, [each or judgements.CANCELLED for each in verdicts])
        else:
            judgements.go_on(locked, column, item, verdicts)
        _note_success(locked)


def _keep_answer(item: BatchItem, run: Run) -> None:
    text = run.output
    item.excerpt = text[:EXCERPT_LENGTH].replace("\x00", "\ufffd")
    item.output_chars = len(text)
    item.output_digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]
    item.stop_reason = run.stop_reason
    item.input_tokens, item.output_tokens = run.input_tokens, run.output_tokens
    item.ttft_ms, item.cost_usd = run.ttft_ms, run.cost_usd
    item.duration_ms = _duration_ms(run)


def _duration_ms(run: Run) -> int | None:
    if run.started_at is None or run.finished_at is None:
        return None
    return max(0, round((run.finished_at - run.started_at).total_seconds() * 1000))


def _note_success(batch: Batch) -> None:
    if batch.holds or batch.failures:
        batch.holds, batch.failures, batch.held_until = 0, 0, None
        batch.save(update_fields=["holds", "failures", "held_until"])


def _settle_failure(tied: BatchRun) -> None:
    run = tied.run
    with transaction.atomic():
        current = _locked(tied)
        if current is None:
            return
        batch, item = current
        _keep_answer(item, run)
        if run.status == RunStatus.CANCELLED:
            item.status, item.ended_at = ItemStatus.CANCELLED, timezone.now()
            item.save()
            return
        what = after(run.error_code, breaks=item.breaks, holds=batch.holds, failures=batch.failures)
        if what.item == "again" and batch.state != BatchState.CANCELLED:
            item.status, item.run = ItemStatus.WAITING, None
            item.attempt += 1
            item.breaks += run.error_code in BROKEN_OFF
        else:
            item.status, item.ended_at = ItemStatus.ERROR, timezone.now()
            item.error_code, item.error_message = run.error_code, run.error_message[:1000]
            batch.failures = min(batch.failures + 1, 1000)
            batch.save(update_fields=["failures"])
        item.save()
        _hold_or_pause(batch, what, run.error_message)


def _hold_or_pause(batch: Batch, what: After, told: str) -> None:
    """Runs that were on their way together when the backend went away count as one time."""
    now = timezone.now()
    if what.pause:
        pause(batch_id=batch.pk, code=what.pause, message=f"{_WORDS[what.pause]} {told}")
    elif what.hold_s is not None and (batch.held_until is None or batch.held_until <= now):
        batch.held_until, batch.holds = now + dt.timedelta(seconds=what.hold_s), batch.holds + 1
        batch.save(update_fields=["held_until", "holds"])


def _settle_judgement(tied: BatchRun, column: Column) -> None:
    run = tied.run
    with transaction.atomic():
        current = _locked(tied)
        if current is None:
            return
        batch, item = current
        judgements.note_cost(item, run)
        passing = (
            run.error_code in AWAY | BROKEN_OFF | NOT_LET_IN and item.judging_attempt + 1 < judgements.MOST_ATTEMPTS
        )
        if run.status == RunStatus.FAILED and passing:
            item.judging_attempt += 1
            item.save()
            _hold_or_pause(batch, after(run.error_code, breaks=0, holds=batch.holds, failures=0), run.error_message)
            return
        verdicts = judgements.read_verdicts(item)
        verdicts[tied.judged or 0] = _judgement_of(run)
        judgements.go_on(batch, column, item, verdicts)
        if run.status == RunStatus.SUCCEEDED:
            _note_success(batch)


def _judgement_of(run: Run) -> Judgement:
    if run.status == RunStatus.SUCCEEDED:
        return grading.read(run.output)
    why = run.error_message or "It was cancelled."
    return Judgement(verdict="error", reason=f"The judging model did not answer: {why}"[:500])


def unsettled(*, now: dt.datetime | None = None) -> Sequence[uuid.UUID]:
    """Runs that ended a while ago and whose cells still wait for them."""
    before = (now or timezone.now()) - LOST_AFTER
    ended = BatchRun.objects.filter(run__status__in=TERMINAL, run__finished_at__lt=before, attempt=F("item__attempt"))
    answers = ended.filter(judged=None, item__status=ItemStatus.RUNNING)
    judged = ended.filter(
        item__status=ItemStatus.CHECKING, judged=F("item__judging"), judging_attempt=F("item__judging_attempt")
    )
    return [*answers.values_list("pk", flat=True)[:ITEMS_A_TURN], *judged.values_list("pk", flat=True)[:ITEMS_A_TURN]]
