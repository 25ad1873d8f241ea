"""A batch while the backend is away, breaks off, or refuses: nothing is lost, nothing is burnt, and it goes on."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from batches import tasks
from batches.after_failure import MOST_FAILURES, MOST_HOLDS, after
from batches.models import Batch, RowChunk
from batches.services import sending
from inference_client.models import Run
from playground.services import SavedVersion
from tests.batches.running import Work, replying, row, state
from tests.batches.test_running_batches import read
from tests.inference_client.upstream import Call, Wire

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., dict[str, Any]]
Save = Callable[..., SavedVersion]
ROWS = [row(str(number)) for number in range(6)]
JUDGED = [{"kind": "model", "question": "Is it good?"}]


@pytest.fixture(autouse=True)
def three_at_once(settings: Any) -> None:
    settings.BATCH_IN_FLIGHT = 3


async def overloaded(call: Call, wire: Wire) -> None:
    del call
    await wire.error(529, "overloaded_error", "later", x_should_retry="false")


async def broken_off(call: Call, wire: Wire) -> None:
    del call
    await wire.begin()
    await wire.start_message()
    await wire.text("half")
    wire.cut()


def let_time_pass(batch: dict[str, Any]) -> None:
    Batch.objects.filter(pk=batch["id"]).update(held_until=timezone.now())


def test_a_backend_that_is_away_holds_the_batch_and_one_cell_sees_whether_it_is_back(
    owner_api: APIClient, save: Save, start: Start, work: Work
) -> None:
    save()
    work.goes_through(overloaded)
    batch = start(ROWS)
    work.finish(batch)
    shown = read(owner_api, batch)
    assert (shown["state"], shown["counts"]["waiting"], shown["counts"]["error"]) == ("running", 3, 0)
    assert shown["held_until"] is not None
    assert len(work.generations) == 3
    let_time_pass(batch)
    work.finish(batch)
    assert len(work.generations) == 4, "one, to see"
    work.says(str)
    let_time_pass(batch)
    work.finish(batch)
    shown = read(owner_api, batch)
    assert (shown["state"], shown["counts"]["done"], shown["held_until"]) == ("finished", 6, None)
    keys = [call.headers["idempotency-key"] for call in work.generations]
    assert len(set(keys)) == len(keys) == 4 + 6


def test_a_backend_that_stays_away_pauses_the_batch_which_then_goes_on_where_it_was(
    owner_api: APIClient, save: Save, start: Start, work: Work
) -> None:
    save()
    work.goes_through(overloaded)
    batch = start(ROWS)
    Batch.objects.update(holds=MOST_HOLDS)
    work.finish(batch)
    shown = read(owner_api, batch)
    assert (shown["state"], shown["paused_because"]["code"]) == ("paused", "inference_unavailable")
    work.says(str)
    owner_api.post(f"/api/v1/batches/{batch['id']}/resume")
    work.finish(batch)
    assert read(owner_api, batch)["counts"]["done"] == 6


def test_an_answer_that_breaks_off_is_asked_for_twice_more(
    owner_api: APIClient, save: Save, start: Start, work: Work
) -> None:
    save()
    work.goes_through(broken_off, broken_off, replying(lambda prompt: "whole"))
    batch = start(ROWS[:1])
    work.finish(batch)
    cell = read(owner_api, batch, "/results")["results"][0]["cells"][0]
    assert (cell["status"], cell["excerpt"], cell["attempt"]) == ("done", "whole", 2)


def test_an_answer_that_always_breaks_off_is_an_error_with_what_arrived(
    owner_api: APIClient, save: Save, start: Start, work: Work
) -> None:
    save()
    work.goes_through(broken_off)
    batch = start(ROWS[:1])
    work.finish(batch)
    cell = read(owner_api, batch, "/results")["results"][0]["cells"][0]
    assert (cell["status"], cell["error"]["code"], cell["excerpt"]) == ("error", "stream_cut", "half")
    assert (len(work.generations), state(batch)) == (3, "finished")


def test_a_key_that_is_not_accepted_pauses_at_once(owner_api: APIClient, save: Save, start: Start, work: Work) -> None:
    save()

    async def refuse(call: Call, wire: Wire) -> None:
        del call
        await wire.error(401, "authentication_error", "who are you")

    work.goes_through(refuse)
    batch = start(ROWS)
    work.finish(batch)
    shown = read(owner_api, batch)
    assert (shown["state"], shown["paused_because"]["code"]) == ("paused", "unauthorized")
    assert (shown["counts"]["error"], len(work.generations)) == (0, 3)


def test_a_prompt_that_every_run_is_refused_for_is_not_sent_a_hundred_thousand_times(
    owner_api: APIClient, save: Save, start: Start, work: Work
) -> None:
    save()

    async def refuse(call: Call, wire: Wire) -> None:
        del call
        await wire.error(400, "invalid_request_error", "no such thing")

    work.goes_through(refuse)
    batch = start([row(str(number)) for number in range(200)])
    work.finish(batch)
    shown = read(owner_api, batch)
    assert (shown["state"], shown["paused_because"]["code"]) == ("paused", "runs_fail")
    assert MOST_FAILURES <= len(work.generations) < MOST_FAILURES + 3
    assert "no such thing" in shown["paused_because"]["message"]


def test_a_judge_that_is_away_is_asked_again_and_the_answer_is_not_generated_anew(
    owner_api: APIClient, save: Save, start: Start, work: Work
) -> None:
    save()
    work.goes_through(replying(lambda prompt: "answer"), overloaded, replying(lambda prompt: '{"verdict": "yes"}'))
    batch = start(ROWS[:1], checks=JUDGED)
    work.finish(batch)
    assert read(owner_api, batch)["counts"]["checking"] == 1
    let_time_pass(batch)
    work.finish(batch)
    cell = read(owner_api, batch, "/results")["results"][0]["cells"][0]
    assert (cell["status"], cell["excerpt"], len(work.generations)) == ("passed", "answer", 3)


def test_a_judge_whose_key_is_not_accepted_pauses_the_batch_instead_of_spoiling_every_cell(
    owner_api: APIClient, save: Save, start: Start, work: Work
) -> None:
    save()

    async def refuse(call: Call, wire: Wire) -> None:
        del call
        await wire.error(401, "authentication_error", "who are you")

    answered = replying(lambda prompt: "answer")
    work.goes_through(answered, refuse, replying(lambda prompt: '{"verdict": "yes"}'))
    batch = start(ROWS[:1], checks=JUDGED)
    work.finish(batch)
    shown = read(owner_api, batch)
    assert (shown["state"], shown["counts"]["error"], shown["counts"]["checking"]) == ("paused", 0, 1)
    assert owner_api.post(f"/api/v1/batches/{batch['id']}/resume").status_code == 200
    work.finish(batch)
    cell = read(owner_api, batch, "/results")["results"][0]["cells"][0]
    assert (cell["status"], cell["excerpt"], len(work.generations)) == ("passed", "answer", 3)


@pytest.mark.parametrize("code", ["unauthorized", "provider_key_missing", "provider_key_refused"])
def test_no_cell_is_spent_on_a_key_that_is_missing_or_refused(code: str) -> None:
    what = after(code, breaks=0, holds=0, failures=0)
    assert (what.item, what.pause) == ("again", "unauthorized")


def test_a_batch_that_cannot_go_on_holds_up_no_other(
    owner_api: APIClient, save: Save, start: Start, work: Work
) -> None:
    save()
    broken, whole = start(ROWS), start(ROWS)
    RowChunk.objects.filter(rows__batches=broken["id"]).update(data=b"not a chunk")
    tasks.look_after_batches()
    assert read(owner_api, whole)["counts"]["running"] > 0
    assert len(work.send()) > 0


def test_messages_that_are_lost_are_made_up_for_by_the_sweep(
    owner_api: APIClient, save: Save, start: Start, work: Work
) -> None:
    save()
    batch = start(ROWS)
    tasks.look_after_batches()
    sent = work.send()
    assert len(sent) == 3
    tasks.look_after_batches()
    assert read(owner_api, batch)["counts"]["running"] == 3, "their ends may still be told"
    Run.objects.update(finished_at=timezone.now() - dt.timedelta(seconds=6))
    tasks.look_after_batches()
    counts = read(owner_api, batch)["counts"]
    assert (counts["done"], counts["running"]) == (3, 3)


def test_what_is_told_twice_or_late_changes_nothing(owner_api: APIClient, save: Save, start: Start, work: Work) -> None:
    save()
    batch = start(ROWS, checks=[{"kind": "contains", "text": "echo"}])
    work.fill(batch)
    sent = work.send()
    work.settle([*sent, *sent])
    assert Run.objects.count() == 6
    work.finish(batch)
    work.settle(sent)
    sending.refill(batch_id=Batch.objects.get().pk)
    counts = read(owner_api, batch)["counts"]
    assert (counts["passed"], counts["total"], len(work.generations)) == (6, 6, 6)


def test_holds_double_up_to_a_minute_and_end_after_about_twenty_minutes() -> None:
    waits = [after("rate_limited", breaks=0, holds=holds, failures=0).hold_s for holds in range(MOST_HOLDS)]
    assert waits[:7] == [1, 2, 4, 8, 16, 32, 60]
    assert 15 * 60 < sum(each or 0 for each in waits) < 25 * 60
