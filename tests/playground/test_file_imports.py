"""`imports`: a file too large for one request goes to the store directly, and a worker takes it in."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from core.errors import StorageUnavailable
from playground.bodies import objects, unstored
from playground.models import Body, FileImport, Prompt, Version
from playground.services import file_imports, import_work, library, sweeping
from tests.playground.importing_files import IMPORTS, announce_file, history, send_file, state_of
from tests.playground.uploading import keys, noise, put, sha256, store_down

pytestmark = pytest.mark.django_db
VERSIONS = 60
FILE = history(VERSIONS)
PROMPTS = "/api/v1/prompts"


def work(queued: dict[str, Any]) -> None:
    """What the worker does."""
    import_work.run_import(import_id=uuid.UUID(queued["id"]))


def names(api: APIClient, state: str) -> list[str]:
    return [row["name"] for row in api.get(PROMPTS, {"state": state}).json()["results"]]


def test_a_large_file_becomes_a_prompt_with_all_its_versions(
    owner_api: APIClient, django_capture_on_commit_callbacks: Any
) -> None:
    queued = send_file(owner_api, FILE)
    assert queued["status"] == "queued"
    staged = FileImport.objects.get().staging_key
    with django_capture_on_commit_callbacks(execute=True):
        work(queued)
    done = state_of(owner_api, queued)
    assert (done["status"], done["versions_made"], done["versions_read"], done["versions_total"]) == (
        "done",
        60,
        60,
        60,
    )
    prompt = done["prompt"]
    assert (prompt["name"], prompt["latest_number"]) == ("Large", VERSIONS)
    for number in (1, 31, VERSIONS):
        text = owner_api.get(f"{PROMPTS}/{prompt['id']}/versions/{number}/texts/0").content
        assert text == f"{number}: ".encode() + b"x" * 20
    assert keys(staged) == []


def test_a_file_in_a_request_that_is_too_much_for_it_is_left_to_the_worker(owner_api: APIClient) -> None:
    answer = owner_api.post(f"{PROMPTS}/import", FILE, content_type="application/zip")
    assert (answer.status_code, answer.json()["status"]) == (202, "queued")
    assert answer["Location"] == f"{IMPORTS}/{answer.json()['id']}"
    work(answer.json())
    assert owner_api.get(answer["Location"]).json()["versions_made"] == VERSIONS


def test_a_small_file_is_answered_at_once(owner_api: APIClient) -> None:
    answer = owner_api.post(f"{PROMPTS}/import", history(50), content_type="application/zip")
    assert (answer.status_code, answer.json()["versions_made"]) == (201, 50)
    assert not FileImport.objects.exists()


def test_texts_of_more_than_a_megabyte_are_left_to_the_worker(owner_api: APIClient) -> None:
    file = history(2, length=600_000)
    answer = owner_api.post(f"{PROMPTS}/import", file, content_type="application/zip")
    assert answer.status_code == 202


def test_the_same_file_announced_twice_is_one_import_until_it_is_done(owner_api: APIClient) -> None:
    first, second = (announce_file(owner_api, FILE).json()["id"] for _ in range(2))
    assert first == second
    queued = send_file(owner_api, FILE)
    assert queued["id"] == first
    assert owner_api.post(f"{IMPORTS}/{first}/complete").json()["status"] == "queued"
    work(queued)
    work(queued)
    assert Prompt.objects.count() == 1
    assert announce_file(owner_api, FILE).json()["id"] != first


def test_announced_again_while_it_is_taken_in_it_takes_no_bytes_and_is_the_same(owner_api: APIClient) -> None:
    queued = send_file(owner_api, FILE)
    answer = announce_file(owner_api, FILE)
    assert (answer.status_code, answer.json()["id"], answer.json()["status"]) == (202, queued["id"], "queued")
    assert "url" not in answer.json()
    assert "parts" not in answer.json()


def test_a_key_answers_its_import_when_that_is_long_done(owner_api: APIClient) -> None:
    queued = send_file(owner_api, FILE, HTTP_IDEMPOTENCY_KEY="k")
    work(queued)
    again = announce_file(owner_api, FILE, HTTP_IDEMPOTENCY_KEY="k").json()
    assert (again["id"], again["status"]) == (queued["id"], "done")
    assert "url" not in again


def test_a_file_in_a_request_does_not_wait_for_one_that_was_only_announced(owner_api: APIClient) -> None:
    announced = announce_file(owner_api, FILE, part_sha256=None).json()
    answer = owner_api.post(f"{PROMPTS}/import", FILE, content_type="application/zip")
    assert answer.json()["status"] == "queued"
    assert answer.json()["id"] != announced["id"]
    work(answer.json())
    assert state_of(owner_api, answer.json())["status"] == "done"


def test_one_key_is_one_import(owner_api: APIClient) -> None:
    post: Any = {"content_type": "application/zip", "HTTP_IDEMPOTENCY_KEY": "k"}
    ids = [owner_api.post(f"{PROMPTS}/import", FILE, **post).json()["id"]]
    import_work.run_import(import_id=uuid.UUID(ids[0]))
    again = owner_api.post(f"{PROMPTS}/import", FILE, **post)
    assert (again.json()["id"], again.json()["status"]) == (ids[0], "done")
    other = owner_api.post(f"{PROMPTS}/import", history(61), **post)
    assert (other.status_code, other.json()["error"]["code"]) == (409, "idempotency_key_reused")
    assert Version.objects.count() == VERSIONS


def test_a_message_that_arrives_twice_takes_in_once(owner_api: APIClient) -> None:
    queued = send_file(owner_api, FILE)
    work(queued)
    work(queued)
    assert (Prompt.objects.count(), Version.objects.count()) == (1, VERSIONS)


def test_a_prompt_that_is_being_filled_is_shown_nowhere(owner_api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    queued = send_file(owner_api, FILE)
    seen: list[Any] = []

    def look(self: import_work.Claimed, versions: int) -> None:
        if versions == 30 and not seen:
            hidden = Prompt.objects.get()
            seen.extend(names(owner_api, state) for state in ("active", "archived", "trashed"))
            seen.extend(owner_api.get(f"{PROMPTS}/{hidden.pk}{rest}").status_code for rest in ("", "/tree", "/export"))
            seen.append(owner_api.post(f"{PROMPTS}/{hidden.pk}/restore").status_code)
            self.change(versions_read=versions)
            seen.append(state_of(owner_api, queued))

    monkeypatch.setattr(import_work.Claimed, "stored", look)
    work(queued)
    *hidden, running = seen
    assert hidden == [[], [], [], 404, 404, 404, 404]
    assert (running["status"], running["name"], running["versions_read"], running["versions_total"]) == (
        "running",
        "Large",
        30,
        VERSIONS,
    )
    assert running["prompt"] is None
    assert names(owner_api, "active") == ["Large"]


def test_into_a_prompt_only_what_is_missing_is_made(owner_api: APIClient) -> None:
    queued = send_file(owner_api, FILE)
    work(queued)
    prompt = state_of(owner_api, queued)["prompt"]["id"]
    more = send_file(owner_api, history(70), prompt=prompt)
    work(more)
    assert state_of(owner_api, more)["versions_made"] == 10
    assert Version.objects.count() == 70


@pytest.mark.parametrize(
    ("file", "code"),
    [(b"no zip at all", "damaged_file"), (FILE[:-40], "damaged_file")],
    ids=["no zip", "cut off"],
)
def test_what_is_no_export_fails_with_a_sentence_and_makes_nothing(
    owner_api: APIClient, file: bytes, code: str
) -> None:
    queued = send_file(owner_api, file)
    work(queued)
    failed = state_of(owner_api, queued)
    assert (failed["status"], failed["error"]["code"]) == ("failed", code)
    assert failed["error"]["message"] == "This file is no zip file, or it is damaged."
    assert not Prompt.objects.exists()


def test_other_bytes_than_were_announced_make_nothing(owner_api: APIClient) -> None:
    """A store that takes anything is found out."""
    queued = send_file(owner_api, FILE)
    row = FileImport.objects.get()
    objects.put(row.staging_key, history(61))
    work(queued)
    assert state_of(owner_api, queued)["error"]["code"] == "wrong_hash"
    assert not Prompt.objects.exists()


def test_a_store_that_is_down_is_waited_for(owner_api: APIClient) -> None:
    queued = send_file(owner_api, FILE)
    with store_down(), pytest.raises(StorageUnavailable):
        work(queued)
    assert state_of(owner_api, queued)["status"] == "queued"
    work(queued)
    assert state_of(owner_api, queued)["status"] == "done"


def test_a_store_that_goes_away_half_way_costs_only_what_is_missing(
    owner_api: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    queued = send_file(owner_api, FILE)

    def fail(self: import_work.Claimed, versions: int) -> None:
        if versions == 30:
            raise StorageUnavailable

    with monkeypatch.context() as patch:
        patch.setattr(import_work.Claimed, "stored", fail)
        with pytest.raises(StorageUnavailable):
            work(queued)
    before = set(Body.objects.values_list("pk", flat=True))
    assert len(before) == 30
    work(queued)
    assert before < set(Body.objects.values_list("pk", flat=True))
    assert (Prompt.objects.count(), Body.objects.count(), Version.objects.count()) == (1, VERSIONS, VERSIONS)


def test_starting_before_the_bytes_are_there_is_a_conflict(owner_api: APIClient) -> None:
    announced = announce_file(owner_api, FILE).json()
    answer = owner_api.post(f"{IMPORTS}/{announced['id']}/complete")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "not_uploaded")


def test_cancelled_before_it_began_it_leaves_nothing(
    owner_api: APIClient, django_capture_on_commit_callbacks: Any
) -> None:
    queued = send_file(owner_api, FILE)
    staged = FileImport.objects.get().staging_key
    assert keys(staged) == [staged]
    with django_capture_on_commit_callbacks(execute=True):
        for _ in range(2):
            assert owner_api.delete(f"{IMPORTS}/{queued['id']}").status_code == 204
    work(queued)
    failed = state_of(owner_api, queued)
    assert (failed["status"], failed["error"]["code"]) == ("failed", "cancelled")
    assert not Prompt.objects.exists()
    assert keys(staged) == []


def _cancel_at(monkeypatch: pytest.MonkeyPatch, api: APIClient, queued: dict[str, Any], at: int) -> None:
    def cancel(self: import_work.Claimed, versions: int) -> None:
        if versions == at:
            assert api.delete(f"{IMPORTS}/{queued['id']}").status_code == 204
            self.change(versions_read=versions)

    monkeypatch.setattr(import_work.Claimed, "stored", cancel)


def test_cancelled_while_it_runs_it_stops_and_leaves_nothing(
    owner_api: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    queued = send_file(owner_api, FILE)
    _cancel_at(monkeypatch, owner_api, queued, 30)
    work(queued)
    assert state_of(owner_api, queued)["error"]["code"] == "cancelled"
    assert not Prompt.objects.exists()
    assert not Body.objects.exists()


def test_cancelled_on_its_way_into_a_prompt_its_texts_go_with_the_next_sweep(
    owner_api: APIClient,
    prompt: Prompt,
    save: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    save(text="mine")
    unstored.store_objects()
    mine = Body.objects.count()
    queued = send_file(owner_api, FILE, prompt=str(prompt.pk))
    _cancel_at(monkeypatch, owner_api, queued, 30)
    work(queued)
    assert (Version.objects.count(), Body.objects.count()) == (1, mine + 30)
    assert sweeping.sweep_bodies() == 0
    with django_capture_on_commit_callbacks(execute=True):
        assert sweeping.sweep_bodies(now=timezone.now() + library.LOOSE_FOR) == 30
    assert len(keys(f"bodies/{prompt.pk}")) == Body.objects.count() == mine
    kept = owner_api.get(f"{PROMPTS}/{prompt.pk}/versions/1/texts/1").content
    assert kept == b"mine"


def test_texts_that_another_import_left_and_the_sweep_took_are_stored_again(
    owner_api: APIClient, prompt: Prompt, save: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    save(text="mine")
    queued = send_file(owner_api, FILE, prompt=str(prompt.pk))
    swept: list[int] = []

    def lose_all(self: import_work.Claimed, versions: int) -> None:
        if versions == VERSIONS and not swept:
            library.release_unnamed(prompt_id=prompt.pk, since=self.row.created_at)
            swept.append(sweeping.sweep_bodies(now=timezone.now() + library.LOOSE_FOR))

    monkeypatch.setattr(import_work.Claimed, "stored", lose_all)
    work(queued)
    assert swept[0] > 0
    assert (state_of(owner_api, queued)["status"], Version.objects.count()) == ("done", VERSIONS + 1)
    assert not Body.objects.filter(unreferenced_since__isnull=False).exists()


def test_what_is_done_cannot_be_cancelled(owner_api: APIClient) -> None:
    queued = send_file(owner_api, FILE)
    work(queued)
    answer = owner_api.delete(f"{IMPORTS}/{queued['id']}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "import_done")
    assert Version.objects.count() == VERSIONS


def test_a_worker_taken_for_dead_changes_nothing_any_more(
    owner_api: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    queued = send_file(owner_api, FILE)

    def lose(self: import_work.Claimed, versions: int) -> None:
        if versions == 30:
            FileImport.objects.update(claim=uuid.uuid4())
            self.change(versions_read=versions)

    with monkeypatch.context() as patch:
        patch.setattr(import_work.Claimed, "stored", lose)
        work(queued)
    assert state_of(owner_api, queued)["status"] == "running"
    assert not Version.objects.exists()
    assert file_imports.look_after(now=timezone.now() + timedelta(minutes=2)) == 0
    assert file_imports.look_after(now=timezone.now() + timedelta(minutes=4)) == 1
    work(queued)
    assert (Prompt.objects.count(), Version.objects.count()) == (1, VERSIONS)


def test_a_file_that_never_comes_is_given_up(owner_api: APIClient) -> None:
    announced = announce_file(owner_api, FILE).json()
    file_imports.look_after(now=timezone.now() + timedelta(hours=2))
    assert state_of(owner_api, announced)["status"] == "pending"
    file_imports.look_after(now=timezone.now() + timedelta(hours=4))
    assert state_of(owner_api, announced)["error"]["code"] == "expired"


def test_one_that_stays_impossible_is_given_up_after_a_day(owner_api: APIClient) -> None:
    queued = send_file(owner_api, FILE)
    file_imports.look_after(now=timezone.now() + timedelta(hours=25))
    assert state_of(owner_api, queued)["error"]["code"] == "gave_up"


def test_a_sweep_leaves_the_file_of_an_import_that_waits(owner_api: APIClient) -> None:
    queued = send_file(owner_api, FILE)
    cache.delete("sweep:staging/")
    sweeping.sweep_staging(now=timezone.now() + timedelta(hours=30))
    work(queued)
    assert state_of(owner_api, queued)["status"] == "done"


def test_a_large_file_goes_in_parts(owner_api: APIClient) -> None:
    file = history(3, length=3_000_000)
    announced = announce_file(owner_api, file).json()
    assert [part["size"] for part in announced["parts"]] == [8 * 1024 * 1024, len(file) - 8 * 1024 * 1024]
    queued = send_file(owner_api, file)
    work(queued)
    assert state_of(owner_api, queued)["versions_made"] == 3


def test_an_account_has_a_share(owner_api: APIClient) -> None:
    for number in range(file_imports.MAX_OPEN):
        assert announce_file(owner_api, history(1, length=number)).status_code == 202
    answer = announce_file(owner_api, FILE)
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "too_many_imports")


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"size": 300 * 1024 * 1024}, 413, "file_too_large"),
        ({"format": "json", "size": 65 * 1024 * 1024}, 413, "file_too_large"),
        ({"format": "exe"}, 400, "invalid_input"),
        ({"sha256": "x" * 64}, 400, "invalid_input"),
    ],
)
def test_what_cannot_be_announced(owner_api: APIClient, changes: dict[str, Any], status: int, code: str) -> None:
    answer = announce_file(owner_api, FILE, **changes)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


def test_an_import_is_its_own_persons(
    owner_api: APIClient, friend_api: APIClient, stranger_api: APIClient, prompt: Prompt
) -> None:
    queued = send_file(owner_api, FILE)
    for api in (friend_api, stranger_api):
        absent = api.get(f"{IMPORTS}/{uuid.uuid4()}").json()["error"]
        place = f"{IMPORTS}/{queued['id']}"
        answers = [api.get(place), api.delete(place), api.post(f"{place}/complete")]
        assert [(answer.status_code, answer.json()["error"]) for answer in answers] == [(404, absent)] * 3
        assert announce_file(api, FILE, prompt=str(prompt.pk)).status_code == 404
        assert announce_file(api, FILE).json()["id"] != queued["id"]
    assert APIClient().get(f"{IMPORTS}/{queued['id']}").status_code == 401


def test_who_may_not_change_the_prompt_any_more_adds_nothing(
    friend_api: APIClient, shared: Prompt, stranger: User
) -> None:
    queued = send_file(friend_api, FILE, prompt=str(shared.pk))
    FileImport.objects.update(account=stranger)
    work(queued)
    assert FileImport.objects.get().error_code == "not_found"
    assert not Version.objects.exists()


def test_json_with_its_texts_inside_goes_the_same_way(owner_api: APIClient) -> None:
    text = noise(1_200_000).decode()
    name = sha256(text.encode())
    spec = {"max_tokens": 1, "messages": [{"content": {"body": name}, "role": "user"}], "model": "m"}
    digest = hashlib.sha256(json.dumps(spec, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    version = {"number": 1, "parent": None, "digest": digest, "spec": spec, "created_at": "2026-01-01T00:00:00+00:00"}
    whole = {
        "format": "prompt-playground-export",
        "version": 1,
        "prompt": {"name": "As JSON"},
        "versions": [version],
        "branches": [{"name": "main", "head": 1}],
        "bodies": {name: text},
    }
    answer = owner_api.post(f"{PROMPTS}/import", whole, format="json")
    assert answer.status_code == 202
    work(answer.json())
    made = state_of(owner_api, answer.json())
    assert made["status"] == "done", made
    assert owner_api.get(f"{PROMPTS}/{made['prompt']['id']}/versions/1/texts/0").content == text.encode()
    file = json.dumps(whole).encode()
    announced = announce_file(owner_api, file, format="json", part_sha256=None).json()
    assert put(announced, file).is_success
    assert owner_api.post(f"{IMPORTS}/{announced['id']}/complete").status_code == 202
    work(announced)
    assert state_of(owner_api, announced)["versions_made"] == 1
