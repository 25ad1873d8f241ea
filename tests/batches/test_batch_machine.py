"""Whatever is done to a batch in whatever order: no cell is sent twice for one attempt, none is lost, counts agree."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from accounts.models import User
from batches.models import Batch, BatchItem, BatchRun, BatchState, ItemStatus
from batches.rows import Row
from batches.services import batches, sending, settling
from batches.services.batches import AskedVersion, Plan
from core.errors import Conflict
from inference_client.models import OPEN, Run, RunStatus
from inference_client.outcomes import Ending
from inference_client.services import claim_run, finish_run
from playground import services
from playground.spec import parse

pytestmark = [pytest.mark.django_db, pytest.mark.long]
CELLS = 6
SAID = st.sampled_from(['{"verdict": "yes"}', '{"verdict": "no"}', "echo", ""])
FAILURES = st.sampled_from(["inference_unavailable", "stream_cut", "invalid_request", "worker_lost", "unauthorized"])


#: Drawn whole before anything is done: what a step does may not change what the next one is.
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("refill")),
        st.tuples(st.just("model_answers"), SAID),
        st.tuples(st.just("model_answers"), SAID),
        st.tuples(st.just("model_fails"), FAILURES),
        st.tuples(st.just("end_is_told"), st.integers(0, 50)),
        st.tuples(st.just("end_is_told"), st.integers(0, 50)),
        st.tuples(st.just("clock_sweeps")),
        st.tuples(st.just("person_steers"), st.sampled_from(["pause", "resume", "retry", "retry", "cancel"])),
    ),
    min_size=5,
    max_size=40,
)


class BatchMachine:
    """Steps of people, workers, the model and the clock in any order; ends of runs are told late, twice or never."""

    def __init__(self, owner: User, *, judged: bool) -> None:
        prompt = services.create_prompt(owner=owner, name="Machine")
        spec = parse({"model": "tiny", "max_tokens": 4, "messages": [{"role": "user", "content": "{{name}}"}]})
        version = services.save_version(author=owner, prompt=prompt, spec=spec).version
        column = AskedVersion(version=version, pointer="1", model="tiny", provider="self-hosted")
        checks: list[dict[str, Any]] = [{"kind": "contains", "text": "e", "ignore_case": False}]
        if judged:
            checks.append({"kind": "model", "question": "Well?", "model": None})
        rows = [Row(values={"name": str(number)}) for number in range(2)] + [Row()]
        plan = Plan(prompt=prompt, versions=[column, column], checks=checks, rows=rows)
        self.batch = batches.start_batch(account=owner, plan=plan)
        self.told: list[Any] = []

    def refill(self) -> None:
        sending.refill(batch_id=self.batch.pk)

    def model_answers(self, said: str) -> None:
        self._end(Ending(status=RunStatus.SUCCEEDED, output=said, stop_reason="end_turn"))

    def model_fails(self, code: str) -> None:
        self._end(Ending(status=RunStatus.FAILED, error_code=code, error_message="no"))

    def _end(self, ending: Ending) -> None:
        run = Run.objects.filter(status=RunStatus.QUEUED).order_by("pk").first()
        claimed = claim_run(run_id=run.pk) if run is not None else None
        if claimed is not None:
            assert finish_run(run=claimed, ending=ending)
            self.told.append(claimed.pk)

    def end_is_told(self, which: int) -> None:
        if self.told:
            settling.settle(run_id=self.told[which % len(self.told)])

    def clock_sweeps(self) -> None:
        Batch.objects.update(held_until=None)
        for run_id in settling.unsettled(now=timezone.now() + settling.LOST_AFTER * 2):
            settling.settle(run_id=run_id)
        for batch_id in batches.look_after():
            sending.refill(batch_id=batch_id)

    def person_steers(self, verb: str) -> None:
        try:
            if verb == "retry":
                batches.retry_items(batch=self.batch, statuses=["error", "cancelled", "failed"])
            else:
                _STEERING[verb](batch=self.batch)
        except Conflict:
            self.batch.refresh_from_db()
            assert self.batch.is_over

    def check(self) -> None:
        """What holds after each step."""
        ties = list(BatchRun.objects.values_list("item", "attempt", "judged", "judging_attempt"))
        assert len(set(ties)) == len(ties) == Run.objects.count(), "no run is made twice for one purpose"
        batch = Batch.objects.get()
        places = list(BatchItem.objects.values_list("row", "position").order_by("row", "position"))
        assert places == [divmod(number, 2) for number in range(batch.sent)], "each cell that was sent is there once"
        for item in BatchItem.objects.all():
            assert item.run_id is not None or item.status in _WITHOUT_A_RUN
        if batch.state == BatchState.FINISHED:
            assert batch.sent == CELLS
            assert not BatchItem.objects.filter(ended_at=None).exists()
            assert not Run.objects.filter(status__in=OPEN).exists()

    def finish(self) -> None:
        """From wherever it is: with a good model and the clock, it ends."""
        if Batch.objects.get().state == BatchState.PAUSED:
            batches.resume_batch(batch=self.batch)
        for _ in range(60):
            self.clock_sweeps()
            self.check()
            if Batch.objects.get().is_over:
                return
            self.model_answers('{"verdict": "yes"}')
        raise AssertionError("it did not end")


_STEERING = {"pause": batches.pause_batch, "resume": batches.resume_batch, "cancel": batches.cancel_batch}
_WITHOUT_A_RUN = (ItemStatus.WAITING, ItemStatus.ERROR, ItemStatus.CANCELLED)


@given(judged=st.booleans(), steps=STEPS)
@hypothesis_settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_order_of_steps_loses_a_cell_or_makes_one_twice(
    owner: User, settings: Any, judged: bool, steps: list[tuple[Any, ...]]
) -> None:
    settings.BATCH_IN_FLIGHT = 2
    savepoint = transaction.savepoint()
    try:
        machine = BatchMachine(owner, judged=judged)
        for name, *arguments in steps:
            getattr(machine, name)(*arguments)
            machine.check()
        machine.finish()
    finally:
        transaction.savepoint_rollback(savepoint)
