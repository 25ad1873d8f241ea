"""What goes wrong on the way of a large text: nothing that was confirmed is lost, nothing half done is visible."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from django.core.cache import cache
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from core import effects
from core.errors import StorageUnavailable
from playground import text_answers
from playground.bodies import chains, objects, recent, store
from playground.bodies.held import HeldTexts
from playground.models import Body, Prompt, Upload, Version
from playground.services import SavedVersion, packing, sweeping, uploads
from playground.tasks import pack_upload
from tests.playground.uploading import (
    API,
    announce,
    complete,
    keys,
    noise,
    pack,
    put,
    save,
    sha256,
    state,
    store_down,
    upload,
)
from tests.services_plugin import Instance

pytestmark = pytest.mark.django_db
TEXT = noise(200_000)
MB = 1024 * 1024


@pytest.fixture
def sent(owner_api: APIClient, prompt: Prompt) -> dict[str, Any]:
    """An upload whose bytes are staged and whose packing was asked for."""
    started = announce(owner_api, prompt, TEXT)
    put(started, TEXT)
    assert complete(owner_api, started).status_code == 202
    return started


@pytest.fixture
def make_version(save: Callable[..., SavedVersion]) -> Callable[..., SavedVersion]:
    """The fixture `save`, whose name is taken here."""
    return save


def nothing_visible(api: APIClient, prompt: Prompt, started: dict[str, Any]) -> None:
    assert state(api, started)["status"] == "processing"
    assert not Body.objects.filter(prompt=prompt).exists()
    for reference in ({"upload": started["id"]}, {"body": sha256(TEXT)}):
        assert save(api, prompt, reference).status_code == 400
    assert not Version.objects.exists()


def then_it_works(api: APIClient, prompt: Prompt, started: dict[str, Any]) -> None:
    pack(started)
    assert save(api, prompt, {"upload": started["id"]}).status_code == 201
    assert api.get(f"{API}/prompts/{prompt.pk}/versions/1/texts/0").content == TEXT


def test_the_store_down_during_a_save_saves_nothing_and_the_same_save_works_later(
    owner_api: APIClient, prompt: Prompt
) -> None:
    with store_down():
        answer = save(owner_api, prompt, TEXT.decode(), HTTP_IDEMPOTENCY_KEY="k")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "storage_unavailable")
    assert not Version.objects.exists()
    assert not Body.objects.exists()
    assert save(owner_api, prompt, TEXT.decode(), HTTP_IDEMPOTENCY_KEY="k").status_code == 201


def test_the_store_down_during_packing_leaves_it_to_be_done(
    owner_api: APIClient, prompt: Prompt, sent: dict[str, Any]
) -> None:
    with store_down(), pytest.raises(StorageUnavailable):
        pack(sent)
    nothing_visible(owner_api, prompt, sent)
    then_it_works(owner_api, prompt, sent)


def test_the_store_going_away_in_the_middle_of_reading_is_the_same(
    owner_api: APIClient, prompt: Prompt, sent: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(key: str, **_: Any) -> Iterator[bytes]:
        yield objects.get(key)[:1000]
        raise StorageUnavailable

    with monkeypatch.context() as patch:
        patch.setattr(objects, "chunks", cut)
        with pytest.raises(StorageUnavailable):
            pack(sent)
    nothing_visible(owner_api, prompt, sent)
    then_it_works(owner_api, prompt, sent)


class Killed(BaseException):
    """The worker ends here: no code of it runs any more."""


def kill(*_: Any, **__: Any) -> None:
    raise Killed


def test_a_worker_that_dies_between_the_object_and_its_row_leaves_what_a_sweep_collects(
    owner_api: APIClient, prompt: Prompt, sent: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(store, "commit_unreferenced", kill)
        with pytest.raises(Killed):
            pack(sent)
    (orphan,) = keys(f"bodies/{prompt.pk}/")
    nothing_visible(owner_api, prompt, sent)
    then_it_works(owner_api, prompt, sent)
    cache.delete("sweep:bodies/")
    sweeping.sweep_objects(now=timezone.now() + timedelta(hours=25))
    (kept,) = keys(f"bodies/{prompt.pk}/")
    assert kept != orphan
    assert kept == Body.objects.get().object_key


def test_a_worker_that_dies_before_it_commits_leaves_nothing_visible(
    owner_api: APIClient, prompt: Prompt, sent: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(effects, "after_commit", kill)  # the last thing inside the transaction
        with pytest.raises(Killed):
            pack(sent)
    nothing_visible(owner_api, prompt, sent)
    then_it_works(owner_api, prompt, sent)


def test_a_save_that_dies_between_the_objects_and_its_rows_leaves_nothing_visible(
    prompt: Prompt, make_version: Callable[..., SavedVersion], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(store, "commit", kill)
        with pytest.raises(Killed):
            make_version(text=TEXT.decode())
    assert len(keys(f"bodies/{prompt.pk}/")) == 1  # the short system text would only have been in its row
    assert not Body.objects.exists()
    assert not Version.objects.exists()
    cache.delete("sweep:bodies/")
    sweeping.sweep_objects(now=timezone.now() + timedelta(hours=25))
    assert keys(f"bodies/{prompt.pk}/") == []
    assert make_version(text=TEXT.decode()).version.number == 1


def test_a_task_delivered_twice_does_its_work_once(owner_api: APIClient, prompt: Prompt, sent: dict[str, Any]) -> None:
    for _ in range(2):
        pack_upload.apply(args=(sent["id"],), throw=True)
    shown = state(owner_api, sent)
    assert (shown["status"], shown["body"]) == ("complete", sha256(TEXT))
    assert Body.objects.count() == 1
    assert len(keys(f"bodies/{prompt.pk}/")) == 1


@pytest.mark.django_db(transaction=True)
def test_a_task_delivered_twice_at_once_makes_one_text(
    owner_api: APIClient, prompt: Prompt, sent: dict[str, Any]
) -> None:
    barrier = threading.Barrier(2)

    def run() -> None:
        barrier.wait()
        pack(sent)
        connection.close()

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert state(owner_api, sent)["status"] == "complete"
    assert keys(f"bodies/{prompt.pk}/") == [Body.objects.get().object_key]
    assert keys(f"staging/{prompt.pk}/") == []
    assert save(owner_api, prompt, {"upload": sent["id"]}).status_code == 201


def test_a_worker_that_packs_as_much_as_it_may_does_it_later(
    owner_api: APIClient, prompt: Prompt, sent: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(packing, "_AT_ONCE", threading.BoundedSemaphore(1))
        with packing._AT_ONCE, pytest.raises(packing.Busy):
            pack(sent)
        nothing_visible(owner_api, prompt, sent)
    then_it_works(owner_api, prompt, sent)


def test_a_task_for_nothing_does_nothing(owner_api: APIClient, prompt: Prompt) -> None:
    started = announce(owner_api, prompt, TEXT)
    pack(started)
    packing.pack_upload(upload_id=uuid.uuid4())
    assert state(owner_api, started)["status"] == "pending"


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_is_down_does_not_lose_a_completed_upload(
    owner_api: APIClient, prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = announce(owner_api, prompt, TEXT)
    put(started, TEXT)

    def refuse(**_: Any) -> None:
        raise ConnectionError

    with monkeypatch.context() as patch:
        patch.setattr(uploads.PACKING.task, "apply_async", refuse)
        assert complete(owner_api, started).status_code == 202
    assert sweeping.resend_processing(now=timezone.now() + timedelta(minutes=4)) == 1
    then_it_works(owner_api, prompt, started)


def test_bytes_that_vanish_before_they_are_read_fail_the_upload(
    owner_api: APIClient, prompt: Prompt, sent: dict[str, Any]
) -> None:
    objects.delete(Upload.objects.get(pk=sent["id"]).staging_key)
    pack(sent)
    assert state(owner_api, sent)["error"]["code"] == "not_uploaded"


def test_a_sender_that_goes_away_in_the_middle_leaves_an_upload_that_can_go_on(
    owner_api: APIClient, prompt: Prompt
) -> None:
    started = announce(owner_api, prompt, TEXT)

    def half() -> Iterator[bytes]:
        yield TEXT[:100_000]
        raise ConnectionError

    headers = {**started["headers"], "content-length": str(len(TEXT))}
    with pytest.raises(ConnectionError):
        httpx2.put(started["url"], headers=headers, content=half())
    assert complete(owner_api, started).json()["error"]["code"] == "not_uploaded"
    assert put(started, TEXT).is_success
    assert complete(owner_api, started).status_code == 202
    then_it_works(owner_api, prompt, started)


@pytest.mark.faults
def test_twenty_megabytes_go_in_and_come_back_in_windows(
    owner_api: APIClient,
    prompt: Prompt,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    monkeypatch.setattr(text_answers, "recent_texts", recent.RecentTexts(HeldTexts()))
    text = noise(20 * MB)
    started = upload(owner_api, prompt, text)
    assert save(owner_api, prompt, {"upload": started["id"]}).status_code == 201
    url = f"{API}/prompts/{prompt.pk}/versions/1/texts/0"
    unpacked: list[object] = []

    def unpack(*args: Any) -> dict[Any, bytes]:
        unpacked.append(args)
        return decode_all(*args)

    decode_all = chains.decode_all
    monkeypatch.setattr(chains, "decode_all", unpack)
    took, windows = [], []
    for start in range(0, len(text), 256 * 1024):
        began = time.perf_counter()
        answer = owner_api.get(url, headers={"Range": f"bytes={start}-{start + 256 * 1024 - 1}"})
        took.append(time.perf_counter() - began)
        windows.append(answer.content)
    assert b"".join(windows) == text
    lines = owner_api.get(f"{url}/lines").json()
    assert (lines["bytes"], lines["lines"]) == (len(text), text.count(b"\n") + 1)
    record_property("first window, ms", round(took[0] * 1000))
    assert len(unpacked) == 1, "fetched and unpacked once, not for each window"
    edited = text[: 10 * MB] + b"edit" + text[10 * MB :]
    changed = upload(owner_api, prompt, edited, near=sha256(text))
    assert save(owner_api, prompt, {"upload": changed["id"]}).status_code == 201
    assert Body.objects.get(sha256=bytes.fromhex(sha256(edited))).stored_length < 16 * 1024


@pytest.mark.faults
@pytest.mark.parametrize("piece", [b"one line only ", "👋".encode()])
def test_sixty_four_megabytes_on_one_line(owner_api: APIClient, prompt: Prompt, piece: bytes) -> None:
    text = (piece * (64 * MB // len(piece) + 1))[: 64 * MB]
    started = upload(owner_api, prompt, text)
    assert save(owner_api, prompt, {"upload": started["id"]}).status_code == 201
    url = f"{API}/prompts/{prompt.pk}/versions/1/texts/0"
    assert owner_api.get(f"{url}/lines").json()["longest_line_bytes"] == 64 * MB
    assert owner_api.get(url, headers={"Range": "bytes=-16"}).content == text[-16:]
    assert sha256(owner_api.get(url).content) == sha256(text)


@pytest.mark.faults
def test_the_running_application_takes_twenty_megabytes(
    live_stack: Instance, record_property: Callable[[str, object], None]
) -> None:
    """The worker, the store and the browser's address as they are, not as a test puts them together."""
    email = next(iter(live_stack.accounts))
    key = live_stack.manage("create_api_key", email).stdout.split()[-1]
    text = noise(20 * MB, seed=5)
    with live_stack.api(key) as http:
        prompt = http.post("prompts", json={"name": "Large"}).json()["id"]
        declared = {"size": len(text), "sha256": sha256(text)}
        started = http.post(f"prompts/{prompt}/uploads", json=declared).json()
        assert httpx2.put(started["url"], headers=started["headers"], content=text, timeout=60).is_success
        assert http.post(f"uploads/{started['id']}/complete").status_code == 202
        deadline = time.monotonic() + 60
        while (shown := http.get(f"uploads/{started['id']}").json())["status"] == "processing":
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert shown["status"] == "complete"
        messages = [{"role": "user", "content": {"upload": started["id"]}}]
        spec = {"model": "smollm2", "max_tokens": 1, "messages": messages}
        assert http.post(f"prompts/{prompt}/versions", json={"spec": spec}).status_code == 201
        url = f"prompts/{prompt}/versions/1/texts/0"
        took = []
        for _ in range(5):
            began = time.perf_counter()
            window = http.get(url, headers={"Range": "bytes=0-262143"})
            took.append((time.perf_counter() - began) * 1000)
            assert (window.status_code, window.content) == (206, text[: 256 * 1024])
        assert http.get(f"{url}/lines").json()["bytes"] == len(text)
        found: dict[str, Any] = {"matches": [], "next": 0}
        while found["next"] is not None:
            asked = {"q": "absent words", "from": found["next"]}
            found = http.get(f"{url}/search", params=asked).raise_for_status().json()
            assert found["matches"] == []
    record_property("windows, ms", [round(ms) for ms in took])
