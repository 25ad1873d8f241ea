"""`DELETE uploads/{id}`: what is not wanted any more ends on the server, too, and counts against nobody's share."""

from __future__ import annotations

import threading
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from playground.models import Body, Prompt, Upload
from playground.services import sweeping, uploads
from tests.playground.uploading import (
    API,
    announce,
    announce_parts,
    complete,
    keys,
    noise,
    pack,
    put,
    put_part,
    save,
    state,
    unfinished,
    upload,
)

pytestmark = pytest.mark.django_db
MB = 1024 * 1024


def cancel(api: APIClient, started: dict[str, Any]) -> Any:
    return api.delete(f"{API}/uploads/{started['id']}")


def error_of(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def test_an_upload_that_is_awaited_ends_and_its_bytes_go(
    owner_api: APIClient, prompt: Prompt, django_capture_on_commit_callbacks: Any
) -> None:
    started = announce(owner_api, prompt, b"a text")
    assert put(started, b"a text").is_success
    with django_capture_on_commit_callbacks(execute=True):
        assert cancel(owner_api, started).status_code == 204
    assert keys(f"staging/{prompt.pk}/") == []
    shown = state(owner_api, started)
    assert (shown["status"], shown["error"]["code"]) == ("failed", "cancelled")
    assert save(owner_api, prompt, {"upload": started["id"]}).status_code == 400


def test_parts_that_have_arrived_go(
    owner_api: APIClient, prompt: Prompt, django_capture_on_commit_callbacks: Any
) -> None:
    text = noise(17 * MB)
    started = announce_parts(owner_api, prompt, text)
    assert put_part(started["parts"][0], text).is_success
    assert len(unfinished(prompt)) == 1
    with django_capture_on_commit_callbacks(execute=True):
        assert cancel(owner_api, started).status_code == 204
    assert unfinished(prompt) == []
    assert not put_part(started["parts"][1], text).is_success
    again = announce_parts(owner_api, prompt, text)
    assert again["id"] != started["id"]
    assert [part["received"] for part in again["parts"]] == [False, False, False]


def test_a_cancelled_upload_makes_room_at_once(
    owner_api: APIClient, prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "MAX_OPEN", 2)
    first, _ = (announce(owner_api, prompt, text) for text in (b"first", b"second"))
    declared = {"size": 5, "sha256": "0" * 64}
    assert owner_api.post(f"{API}/prompts/{prompt.pk}/uploads", declared, format="json").status_code == 429
    assert cancel(owner_api, first).status_code == 204
    assert owner_api.post(f"{API}/prompts/{prompt.pk}/uploads", declared, format="json").status_code == 201


def test_bytes_that_wait_for_a_version_make_room_and_are_swept(
    owner_api: APIClient, prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = noise(100_000)
    monkeypatch.setattr(uploads, "MAX_WAITING_BYTES", 150_000)
    started = upload(owner_api, prompt, text)
    declared = {"size": len(text), "sha256": "0" * 64}
    assert owner_api.post(f"{API}/prompts/{prompt.pk}/uploads", declared, format="json").status_code == 429
    assert cancel(owner_api, started).status_code == 204
    assert owner_api.post(f"{API}/prompts/{prompt.pk}/uploads", declared, format="json").status_code == 201
    assert sweeping.sweep_bodies(now=timezone.now() + timedelta(seconds=1)) == 1
    assert not Body.objects.exists()


def test_a_text_that_another_upload_brought_too_stays_for_that_one(owner_api: APIClient, prompt: Prompt) -> None:
    first, second = (upload(owner_api, prompt, b"the same") for _ in range(2))
    assert cancel(owner_api, first).status_code == 204
    assert sweeping.sweep_bodies(now=timezone.now() + timedelta(days=1)) == 0
    assert save(owner_api, prompt, {"upload": second["id"]}).status_code == 201


def test_cancelling_again_changes_nothing(owner_api: APIClient, prompt: Prompt) -> None:
    started = announce(owner_api, prompt, b"a text")
    assert cancel(owner_api, started).status_code == 204
    ended = Upload.objects.get().completed_at
    assert cancel(owner_api, started).status_code == 204
    assert Upload.objects.get().completed_at == ended


def test_completing_what_was_cancelled_says_so_and_packs_nothing(owner_api: APIClient, prompt: Prompt) -> None:
    started = announce(owner_api, prompt, b"a text")
    put(started, b"a text")
    assert cancel(owner_api, started).status_code == 204
    answer = complete(owner_api, started)
    assert (answer.status_code, answer.json()["error"]["code"]) == (200, "cancelled")
    pack(started)
    assert not Body.objects.exists()


def test_announcing_again_with_the_same_key_says_that_it_is_over(owner_api: APIClient, prompt: Prompt) -> None:
    text = noise(9 * MB)
    started = announce_parts(owner_api, prompt, text, HTTP_IDEMPOTENCY_KEY="k")
    assert cancel(owner_api, started).status_code == 204
    with pytest.raises(AssertionError, match="upload_closed"):
        announce_parts(owner_api, prompt, text, HTTP_IDEMPOTENCY_KEY="k")
    assert announce_parts(owner_api, prompt, text, HTTP_IDEMPOTENCY_KEY="k2")["id"] != started["id"]


def test_while_its_bytes_are_read_it_cannot_be_cancelled_and_afterwards_it_can(
    owner_api: APIClient, prompt: Prompt
) -> None:
    started = announce(owner_api, prompt, b"a text")
    put(started, b"a text")
    complete(owner_api, started)
    assert error_of(cancel(owner_api, started)) == (409, "upload_processing")
    pack(started)
    assert cancel(owner_api, started).status_code == 204


def test_what_is_part_of_a_version_cannot_be_cancelled(owner_api: APIClient, prompt: Prompt) -> None:
    started = upload(owner_api, prompt, b"kept")
    assert save(owner_api, prompt, {"upload": started["id"]}).status_code == 201
    answer = cancel(owner_api, started)
    assert error_of(answer) == (409, "upload_in_version")
    assert answer.json()["error"]["message"] == "The text of this upload is part of a version."
    assert owner_api.get(f"{API}/prompts/{prompt.pk}/versions/1/texts/0").content == b"kept"
    assert state(owner_api, started)["status"] == "complete"


def test_nobody_cancels_what_another_person_sends(
    owner_api: APIClient, friend_api: APIClient, stranger_api: APIClient, shared: Prompt
) -> None:
    """The friend may change the same prompt; it is the sender's upload all the same."""
    started = announce(owner_api, shared, b"a text")
    absent = stranger_api.delete(f"{API}/uploads/{uuid.uuid4()}")
    for api in (friend_api, stranger_api):
        answer = cancel(api, started)
        assert (answer.status_code, answer.json()["error"]) == (404, absent.json()["error"])
    assert APIClient().delete(f"{API}/uploads/{started['id']}").status_code == 401
    assert state(owner_api, started)["status"] == "pending"


@pytest.mark.django_db(transaction=True)
def test_of_a_cancel_and_a_complete_at_once_one_wins(owner_api: APIClient, prompt: Prompt) -> None:
    for turn in range(4):
        text = noise(1000, seed=turn)
        started = announce(owner_api, prompt, text)
        put(started, text)
        barrier = threading.Barrier(2)
        answers: dict[str, Any] = {}

        def run(name: str, call: Any, started: dict[str, Any] = started, met: Any = barrier, to: Any = answers) -> None:
            met.wait()
            to[name] = call(owner_api, started)
            connection.close()

        calls = [("cancel", cancel), ("complete", complete)]
        threads = [threading.Thread(target=run, args=each) for each in calls]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        row = Upload.objects.get(pk=started["id"])
        if answers["cancel"].status_code == 204:
            assert (row.status, row.error_code) == ("failed", "cancelled")
            assert keys(row.staging_key) == []
        else:
            assert error_of(answers["cancel"]) == (409, "upload_processing")
            assert (answers["complete"].status_code, row.status) == (202, "processing")
            pack(started)
            assert Upload.objects.get(pk=started["id"]).status == "complete"
