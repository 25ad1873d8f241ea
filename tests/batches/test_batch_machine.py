"""Whatever is done to a batch in whatever order: no cell is sent twice for one attempt, none is lost, counts agree."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

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


class BatchMachine(RuleBasedStateMachine):
    """Steps of people, workers, the model and the clock in any order; ends of runs are told late, twice or never."""

    owner: User

    @initialize(judged=st.booleans())
    def begin(self, judged: bool) -> None:
        self.savepoint = transaction.savepoint()
        prompt = services.create_prompt(owner=self.owner, name="Machine")
        spec = parse({"model": "tiny", "max_tokens": 4, "messages": [{"role": "user", "content": "{{name}}"}]})
        version = services.save_version(author=self.owner, prompt=prompt, spec=spec).version
        column = AskedVersion(version=version, pointer="1", model="tiny", provider="self-hosted")
        checks: list[dict[str, Any]] = [{"kind": "contains", "text": "e", "ignore_case": False}]
        if judged:
            checks.append({"kind": "model", "question": "Well?", "model": None})
        rows = [Row(values={"name": str(number)}) for number in range(2)] + [Row()]
        plan = Plan(prompt=prompt, versions=[column, column], checks=checks, rows=rows)
        self.batch = batches.start_batch(account=self.owner, plan=plan)
        self.told: list[Any] = []

    def teardown(self) -> None:
        if hasattr(self, "batch"):
            transaction.savepoint_rollback(self.savepoint)

    @rule()
    def refill(self) -> None:
        sending.refill(batch_id=self.batch.pk)

    @rule(said=SAID)
    def model_answers(self, said: str) -> None:
        self._end(Ending(status=RunStatus.SUCCEEDED, output=said, stop_reason="end_turn"))

    @rule(code=FAILURES)
    def model_fails(self, code: str) -> None:
        self._end(Ending(status=RunStatus.FAILED, error_code=code, error_message="no"))

    def _end(self, ending: Ending) -> None:
        run = Run.objects.filter(status=RunStatus.QUEUED).order_by("pk").first()
        claimed = claim_run(run_id=run.pk) if run is not None else None
        if claimed is not None:
            assert finish_run(run=claimed, ending=ending)
            self.told.append(claimed.pk)

    @rule(which=st.integers(0, 50))
    def end_is_told(self, which: int) -> None:
        if self.told:
            settling.settle(run_id=self.told[which % len(self.told)])

    @rule()
    def clock_sweeps(self) -> None:
        Batch.objects.update(held_until=None)
        for run_id in settling.unsettled(now=timezone.now() + settling.LOST_AFTER * 2):
            settling.settle(run_id=run_id)
        for batch_id in batches.look_after():
            sending.refill(batch_id=batch_id)

    @rule(verb=st.sampled_from(["pause", "resume", "retry"]))
    def person_steers(self, verb: str) -> None:
        try:
            if verb == "pause":
                batches.pause_batch(batch=self.batch)
            elif verb == "resume":
                batches.resume_batch(batch=self.batch)
            else:
                batches.retry_items(batch=self.batch, statuses=["error", "cancelled", "failed"])
        except Conflict:
            self.batch.refresh_from_db()
            assert self.batch.is_over

    @rule(really=st.integers(0, 9))
    def person_cancels(self, really: int) -> None:
        if really == 0:
            try:
                batches.cancel_batch(batch=self.batch)
            except Conflict:
                assert Batch.objects.get().state == BatchState.FINISHED

    @invariant()
    def no_run_is_made_twice_for_one_purpose(self) -> None:
        ties = list(BatchRun.objects.values_list("item", "attempt", "judged", "judging_attempt"))
        assert len(set(ties)) == len(ties) == Run.objects.count()

    @invariant()
    def every_cell_that_was_sent_is_there_once(self) -> None:
        batch = Batch.objects.get()
        places = list(BatchItem.objects.values_list("row", "position").order_by("row", "position"))
        assert places == [divmod(number, 2) for number in range(batch.sent)]

    @invariant()
    def what_waits_for_a_run_has_one_and_a_finished_batch_has_nothing_open(self) -> None:
        batch = Batch.objects.get()
        for item in BatchItem.objects.select_related("run"):
            assert (item.run is not None) or item.status in (ItemStatus.WAITING, ItemStatus.ERROR)
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
            if Batch.objects.get().is_over:
                break
            self.model_answers('{"verdict": "yes"}')
        assert Batch.objects.get().is_over


@pytest.fixture
def two_at_once(settings: Any) -> None:
    settings.BATCH_IN_FLIGHT = 2


def test_no_order_of_steps_loses_a_cell_or_makes_one_twice(owner: User, two_at_once: None) -> None:
    class Machine(BatchMachine):
        def teardown(self) -> None:
            if hasattr(self, "batch"):
                self.finish()
            super().teardown()

    Machine.owner = owner
    run_state_machine_as_test(
        Machine, settings=hypothesis_settings(max_examples=20, stateful_step_count=40, deadline=None)
    )
