"""Pause, go on, cancel, try again, delete: by whom, when, and what is sent then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from batches import tasks
from batches.models import Batch, BatchItem, BatchRun, RowSet
from batches.services import batches
from core.errors import NotFound
from inference_client.models import Run
from playground import services
from playground.models import Prompt, VersionRun
from playground.services import SavedVersion
from playground.spec import parse
from sharing.models import Grant
from sharing.services import revoke_grant
from tests.batches.conftest import API
from tests.batches.running import Work, replying, row, state
from tests.batches.test_running_batches import read
from tests.inference_client.upstream import Call, Wire

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., dict[str, Any]]
Save = Callable[..., SavedVersion]
ROWS = [row(str(number)) for number in range(6)]


def steer(api: APIClient, batch: dict[str, Any], verb: str, **body: Any) -> Any:
    return api.post(f"{API}/batches/{batch['id']}/{verb}", body, format="json")


@pytest.fixture(autouse=True)
def two_at_once(settings: Any) -> None:
    settings.BATCH_IN_FLIGHT = 2


def test_a_paused_batch_sends_nothing_more_and_ends_what_is_on_its_way(
    owner_api: APIClient, save: Save, start: Start, work: Work
) -> None:
    save()
    batch = start(ROWS)
    work.fill(batch)
    paused = steer(owner_api, batch, "pause").json()
    assert (paused["state"], paused["paused_because"]["code"]) == ("paused", "person")
    work.finish(batch)
    assert (len(work.generations), state(batch)) == (2, "paused")
    assert read(owner_api, batch)["counts"]["done"] == 2
    resumed = steer(owner_api, batch, "resume").json()
    assert (resumed["state"], resumed["paused_because"]) == ("running", None)
    work.finish(batch)
    assert (len(work.generations), state(batch)) == (6, "finished")


def test_a_cancelled_batch_stops_what_is_on_its_way_and_stays_as_it_is(
    owner_api: APIClient, save: Save, start: Start, work: Work
) -> None:
    save()
    batch = start(ROWS)
    work.fill(batch)
    cancelled = steer(owner_api, batch, "cancel").json()
    assert cancelled["state"] == "cancelled"
    assert list(Run.objects.values_list("status", flat=True)) == ["cancelled", "cancelled"]
    work.settle(list(Run.objects.values_list("pk", flat=True)))
    counts = read(owner_api, batch)["counts"]
    assert (counts["cancelled"], counts["not_sent"], counts["running"]) == (2, 4, 0)
    assert steer(owner_api, batch, "cancel").status_code == 200
    for verb in ("pause", "resume", "retry"):
        answer = steer(owner_api, batch, verb)
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "batch_over"), verb
    work.finish(batch)
    assert work.generations == []


def test_a_run_that_succeeds_while_its_batch_is_cancelled_keeps_its_answer(
    owner_api: APIClient, save: Save, start: Start, work: Work
) -> None:
    save()
    batch = start(ROWS[:1], checks=[{"kind": "contains", "text": "echo"}, {"kind": "model", "question": "Good?"}])
    work.fill(batch)
    sent = work.send()
    steer(owner_api, batch, "cancel")
    work.settle(sent)
    cell = read(owner_api, batch, "/results")["results"][0]["cells"][0]
    assert [each["verdict"] for each in cell["checks"]] == ["pass", "error"]
    assert len(work.generations) == 1


def test_what_failed_is_tried_again_with_another_run_and_nothing_else_is(
    owner_api: APIClient, save: Save, start: Start, work: Work
) -> None:
    save()

    async def refuse(call: Call, wire: Wire) -> None:
        if "Greet 1." in str(call.json):
            await wire.error(400, "invalid_request_error", "not this one")
        else:
            await replying(str)(call, wire)

    work.upstream.does(refuse)
    batch = start(ROWS[:3])
    work.finish(batch)
    shown = read(owner_api, batch)
    assert (shown["state"], shown["counts"]["error"], shown["counts"]["done"]) == ("finished", 1, 2)
    before = len(work.generations)
    work.says(str)
    again = steer(owner_api, batch, "retry").json()
    assert (again["state"], again["counts"]["waiting"]) == ("running", 1)
    work.finish(batch)
    assert len(work.generations) == before + 1
    keys = [call.headers["idempotency-key"] for call in work.generations]
    assert len(set(keys)) == len(keys)
    shown = read(owner_api, batch)
    assert (shown["state"], shown["counts"]["done"]) == ("finished", 3)


def test_a_retry_of_nothing_changes_nothing(owner_api: APIClient, save: Save, start: Start, work: Work) -> None:
    save()
    batch = start(ROWS[:1])
    work.finish(batch)
    assert steer(owner_api, batch, "retry").json()["state"] == "finished"
    assert steer(owner_api, batch, "retry", statuses=["done"]).status_code == 400


def test_an_editor_sees_a_batch_of_the_owner_and_does_not_steer_it(
    friend_api: APIClient, stranger_api: APIClient, shared: Prompt, save: Save, start: Start
) -> None:
    save()
    batch = start(ROWS)
    assert read(friend_api, batch)["can"] == {"control": False, "cancel": False, "delete": False}
    assert steer(friend_api, batch, "cancel").status_code == 403
    assert steer(stranger_api, batch, "cancel").status_code == 404
    assert stranger_api.get(f"{API}/batches/{batch['id']}").status_code == 404


def test_the_owner_may_cancel_the_batch_of_an_editor_and_not_go_on_with_it(
    owner_api: APIClient, friend_api: APIClient, shared: Prompt, save: Save, start: Start
) -> None:
    save()
    batch = start(ROWS, api=friend_api)
    assert steer(owner_api, batch, "pause").status_code == 403
    assert steer(owner_api, batch, "cancel").json()["state"] == "cancelled"


def test_a_batch_whose_maker_may_run_the_prompt_no_more_pauses_before_the_next_row(
    owner: Any, friend_api: APIClient, owner_api: APIClient, shared: Prompt, save: Save, start: Start, work: Work
) -> None:
    save()
    batch = start(ROWS, api=friend_api)
    work.fill(batch)
    revoke_grant(person=owner, grant=Grant.objects.get())
    work.finish(batch)
    assert len(work.generations) == 2
    assert read(owner_api, batch)["paused_because"]["code"] == "access_lost"
    assert friend_api.get(f"{API}/batches/{batch['id']}").status_code == 404


def test_a_batch_that_is_deleted_goes_with_its_runs_and_leaves_the_test_cases(
    owner_api: APIClient, prompt: Prompt, save: Save, start: Start, work: Work
) -> None:
    save()
    made = owner_api.post(f"{API}/prompts/{prompt.pk}/datasets", {"name": "Cases", "rows": ROWS}, format="json").json()
    answer = owner_api.post(
        f"{API}/prompts/{prompt.pk}/batches", {"dataset": made["id"], "versions": [1]}, format="json"
    )
    batch = answer.json()
    refused = owner_api.delete(f"{API}/batches/{batch['id']}")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "batch_open")
    work.finish(batch)
    assert owner_api.delete(f"{API}/batches/{batch['id']}").status_code == 204
    assert not any(each.objects.exists() for each in (Batch, BatchItem, BatchRun, Run, VersionRun))
    assert RowSet.objects.count() == 1


def test_a_batch_of_many_runs_is_gone_at_once_and_a_worker_deletes_its_rows(
    owner_api: APIClient, prompt: Prompt, save: Save, start: Start, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "_PORTION", 2)
    save()
    batch = start(ROWS)
    work.finish(batch)
    path = f"{API}/batches/{batch['id']}"
    assert owner_api.delete(path).status_code == 204
    assert (Run.objects.count(), len(batches.deleting())) == (6, 1)
    assert owner_api.get(f"{API}/prompts/{prompt.pk}/batches").json()["results"] == []
    answers = [owner_api.get(path), owner_api.delete(path), steer(owner_api, batch, "retry", statuses=["done"])]
    assert [answer.status_code for answer in answers] == [404, 404, 404]
    # A worker dies after its first portion: another goes on.
    assert batches._delete_portion(Batch.objects.get().pk)
    assert Run.objects.count() == 4
    tasks.sweep_deleting()
    assert not any(each.objects.exists() for each in (Batch, BatchItem, BatchRun, Run, VersionRun, RowSet))
    tasks.delete_rows(batch["id"])


def test_a_retry_that_comes_too_late_finds_no_batch(
    save: Save, start: Start, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "_PORTION", 2)
    save()
    work.finish(start(ROWS))
    found = Batch.objects.get()
    batches.delete_batch(batch=found)
    with pytest.raises(NotFound):
        batches.retry_items(batch=found, statuses=["done"])


def test_a_prompt_that_is_erased_takes_its_batches_their_runs_and_test_cases_with_it(
    owner_api: APIClient, prompt: Prompt, save: Save, start: Start, work: Work
) -> None:
    save()
    batch = start(ROWS, checks=[{"kind": "model", "question": "Good?"}])
    work.fill(batch)
    work.settle(work.send())
    services.trash_prompt(prompt=prompt)
    prompt.refresh_from_db()
    tasks.look_after_batches()
    assert state(batch) == "paused"
    services.erase_prompt(prompt=prompt, confirmation=prompt.name)
    assert not any(each.objects.exists() for each in (Batch, BatchItem, BatchRun, Run, VersionRun, RowSet, Prompt))


def test_the_same_call_twice_starts_one_batch(owner_api: APIClient, prompt: Prompt, save: Save, work: Work) -> None:
    save()
    body = {"rows": ROWS, "versions": [1]}
    first, second = (
        owner_api.post(f"{API}/prompts/{prompt.pk}/batches", body, format="json", HTTP_IDEMPOTENCY_KEY="k").json()
        for _ in range(2)
    )
    assert first["id"] == second["id"]
    work.finish(first)
    assert len(work.generations) == len(ROWS)


def test_a_call_that_is_repeated_after_its_label_moved_finds_its_batch(
    owner_api: APIClient, prompt: Prompt, save: Save
) -> None:
    save()
    path = f"{API}/prompts/{prompt.pk}"
    owner_api.put(f"{path}/labels/production", {"version": 1}, format="json")
    body = {"rows": ROWS, "versions": ["production"]}
    first = owner_api.post(f"{path}/batches", body, format="json", HTTP_IDEMPOTENCY_KEY="k")
    # The version it points at now needs a value that no row has.
    asks_more = {"model": "tiny", "max_tokens": 5, "messages": [{"role": "user", "content": "{{name}} {{more}}"}]}
    services.save_version(author=prompt.owner, prompt=prompt, spec=parse(asks_more))
    assert owner_api.put(f"{path}/labels/production", {"version": 2}, format="json").status_code == 200
    again = owner_api.post(f"{path}/batches", body, format="json", HTTP_IDEMPOTENCY_KEY="k")
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json()["id"] == first.json()["id"]
    body["versions"] = [{"version": "production", "model": "tiny"}]
    changed = owner_api.post(f"{path}/batches", body, format="json", HTTP_IDEMPOTENCY_KEY="k")
    assert (changed.status_code, changed.json()["error"]["code"]) == (409, "idempotency_key_reused")


def test_a_call_that_is_repeated_after_its_batch_was_deleted_starts_none(
    owner_api: APIClient, prompt: Prompt, save: Save, work: Work
) -> None:
    save()
    path, body = f"{API}/prompts/{prompt.pk}/batches", {"rows": ROWS, "versions": [1]}
    made = owner_api.post(path, body, format="json", HTTP_IDEMPOTENCY_KEY="k").json()
    work.finish(made)
    assert owner_api.delete(f"{API}/batches/{made['id']}").status_code == 204
    again = owner_api.post(path, body, format="json", HTTP_IDEMPOTENCY_KEY="k")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "made_and_deleted")
    assert (Batch.objects.count(), len(work.generations)) == (0, len(ROWS))
