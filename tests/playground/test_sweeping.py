"""What collects remains, and what it must never take: a text that somebody is about to save, or has."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from config.celery import app
from core import effects
from playground import freezing
from playground.bodies import objects, store, unstored
from playground.models import Body, Prompt, Upload, Version
from playground.services import SavedVersion, sweeping
from playground.services.drafts import drop_draft, keep_draft
from tests.playground.beside import Halt, beside, blocked
from tests.playground.uploading import (
    announce,
    complete,
    keys,
    noise,
    pack,
    put,
    save,
    sha256,
    state,
    upload,
)
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db
Save = Callable[..., SavedVersion]

TEXT = b"uploaded, and perhaps never saved"
LONG_AGO = timedelta(days=8)


@pytest.fixture(autouse=True)
def from_the_start() -> None:
    for prefix in ("staging/", "bodies/"):
        cache.delete(f"sweep:{prefix}")


@pytest.fixture
def committing(django_capture_on_commit_callbacks: Any) -> Any:
    """Effects that wait for a commit happen at the end of the block: a test is one transaction itself."""
    return lambda: django_capture_on_commit_callbacks(execute=True)


def age(**fields: Any) -> None:
    """Every text that waits for a version has waited for longer than it may."""
    Body.objects.filter(unreferenced_since__isnull=False, **fields).update(unreferenced_since=timezone.now() - LONG_AGO)


def there(text: bytes) -> bool:
    return Body.objects.filter(sha256=bytes.fromhex(sha256(text))).exists()


def test_an_upload_whose_bytes_never_came_ends_after_an_hour_of_grace(
    owner_api: APIClient, prompt: Prompt, committing: Any
) -> None:
    started, late = announce(owner_api, prompt, b"never"), announce(owner_api, prompt, b"came, but nobody said so")
    put(late, b"came, but nobody said so")
    expires = Upload.objects.get(pk=started["id"]).expires_at
    assert sweeping.expire_uploads(now=expires + timedelta(minutes=59)) == 0
    with committing():
        assert sweeping.expire_uploads(now=expires + timedelta(minutes=61)) == 2
    assert state(owner_api, started)["error"]["code"] == "expired"
    assert keys(f"staging/{prompt.pk}/") == []
    assert complete(owner_api, late).json()["status"] == "failed"


def test_rows_of_ended_uploads_are_forgotten_after_their_texts(owner_api: APIClient, prompt: Prompt) -> None:
    upload(owner_api, prompt, TEXT)
    waiting = announce(owner_api, prompt, b"new")
    now = timezone.now()
    sweeping.expire_uploads(now=now + sweeping.ROWS_FOR - timedelta(minutes=1))
    assert Upload.objects.count() == 2
    Upload.objects.filter(pk=waiting["id"]).update(expires_at=now + timedelta(days=30))
    sweeping.expire_uploads(now=now + sweeping.ROWS_FOR + timedelta(minutes=1))
    assert list(Upload.objects.values_list("pk", flat=True)) == [uuid.UUID(waiting["id"])]


def test_a_packing_that_got_lost_is_asked_for_again_and_given_up_after_a_day(
    owner_api: APIClient, prompt: Prompt, django_capture_on_commit_callbacks: Any
) -> None:
    started = announce(owner_api, prompt, TEXT)
    put(started, TEXT)
    complete(owner_api, started)
    now = timezone.now()
    with django_capture_on_commit_callbacks() as sent:
        assert sweeping.resend_processing(now=now + timedelta(minutes=2)) == 0
        assert sweeping.resend_processing(now=now + timedelta(minutes=4)) == 1
        assert sweeping.resend_processing(now=now + timedelta(minutes=5)) == 0
    assert len(sent) == 1
    assert sweeping.expire_uploads(now=now + timedelta(hours=23)) == 0
    assert sweeping.expire_uploads(now=now + timedelta(hours=25)) == 1
    assert state(owner_api, started)["error"]["code"] == "gave_up"


def test_staged_bytes_that_nobody_awaits_go_after_a_day(owner_api: APIClient, prompt: Prompt, committing: Any) -> None:
    with committing():
        done = upload(owner_api, prompt, TEXT)
    put(done, TEXT)
    awaited = announce(owner_api, prompt, b"awaited")
    put(awaited, b"awaited")
    sweeping.sweep_staging(now=timezone.now() + timedelta(hours=23))
    assert len(keys(f"staging/{prompt.pk}/")) == 2
    assert sweeping.sweep_staging(now=timezone.now() + timedelta(hours=25)) >= 1
    assert keys(f"staging/{prompt.pk}/") == [Upload.objects.get(pk=awaited["id"]).staging_key]


def test_a_text_that_no_version_names_goes_after_a_week(owner_api: APIClient, prompt: Prompt, committing: Any) -> None:
    started = upload(owner_api, prompt, TEXT)
    assert sweeping.sweep_bodies(now=timezone.now() + timedelta(days=6)) == 0
    assert there(TEXT)
    with committing():
        assert sweeping.sweep_bodies(now=timezone.now() + LONG_AGO) == 1
    assert not there(TEXT)
    assert keys(f"bodies/{prompt.pk}/") == []
    assert save(owner_api, prompt, {"upload": started["id"]}).json()["error"]["code"] == "no_such_upload"


def test_a_text_of_a_version_stays_for_ever(owner_api: APIClient, prompt: Prompt) -> None:
    save(owner_api, prompt, {"upload": upload(owner_api, prompt, TEXT)["id"]}, "typed")
    unstored.store_objects()
    far = timezone.now() + timedelta(days=4000)
    assert (sweeping.sweep_bodies(now=far), there(TEXT), there(b"typed")) == (0, True, True)
    sweeping.sweep_objects(now=far)
    assert len(keys(f"bodies/{prompt.pk}/")) == 2


def test_saving_the_same_text_typed_in_keeps_it(owner_api: APIClient, prompt: Prompt) -> None:
    upload(owner_api, prompt, TEXT)
    save(owner_api, prompt, TEXT.decode())
    age()
    assert (sweeping.sweep_bodies(), there(TEXT)) == (0, True)


def test_a_text_that_somebody_s_draft_names_waits_with_it(owner_api: APIClient, owner: User, prompt: Prompt) -> None:
    started = upload(owner_api, prompt, TEXT)
    content = json.dumps({"spec": {"system": {"upload": started["id"]}}})
    keep_draft(person=owner, prompt=prompt, branch="main", content=content, base=None, revision=None)
    age()
    assert (sweeping.sweep_bodies(), there(TEXT)) == (0, True)
    sweeping.expire_uploads(now=timezone.now() + timedelta(days=30))
    assert save(owner_api, prompt, {"upload": started["id"]}).status_code == 201
    drop_draft(person=owner, prompt=prompt, branch="main")
    sweeping.expire_uploads(now=timezone.now() + timedelta(days=30))
    assert not Upload.objects.exists()


def test_a_second_upload_of_a_text_makes_it_wait_anew(owner_api: APIClient, prompt: Prompt) -> None:
    upload(owner_api, prompt, TEXT)
    age()
    upload(owner_api, prompt, TEXT)
    assert (sweeping.sweep_bodies(), there(TEXT)) == (0, True)


def test_a_text_that_others_rest_on_is_never_taken(save: Save, prompt: Prompt) -> None:
    text = noise(60_000)
    save(text=text.decode())
    save(text=text.decode() + "!")
    base = Body.objects.get(sha256=bytes.fromhex(sha256(text)))
    assert base.deltas.exists()
    Body.objects.filter(pk=base.pk).update(unreferenced_since=timezone.now() - LONG_AGO)
    assert (sweeping.sweep_bodies(), there(text)) == (0, True)


def test_nothing_is_ever_stored_against_a_text_that_may_go(owner_api: APIClient, prompt: Prompt) -> None:
    text = noise(60_000)
    upload(owner_api, prompt, text)
    upload(owner_api, prompt, text + b"!", near=sha256(text))
    assert not Body.objects.filter(base__isnull=False).exists()


def test_a_text_marked_by_mistake_is_kept_and_the_mark_removed(save: Save, prompt: Prompt) -> None:
    save(text="named by a version")
    Body.objects.update(unreferenced_since=timezone.now() - LONG_AGO)
    assert sweeping.sweep_bodies() == 0
    assert Body.objects.filter(unreferenced_since=None).count() == 2


def test_an_object_that_no_row_names_goes_after_a_day(save: Save, prompt: Prompt) -> None:
    save(text="named")
    unstored.store_objects()
    orphans = [f"bodies/{prompt.pk}/{uuid.uuid4()}", f"bodies/{prompt.pk}/not-an-id"]
    for key in orphans:
        objects.put(key, b"orphan")
    sweeping.sweep_objects(now=timezone.now() + timedelta(hours=23))
    assert set(orphans) < set(keys(f"bodies/{prompt.pk}/"))
    assert sweeping.sweep_objects(now=timezone.now() + timedelta(hours=25)) >= 2
    assert not set(orphans) & set(keys(f"bodies/{prompt.pk}/"))
    assert freezing.thaw(Version.objects.get())["messages"][0]["content"] == "named"


def test_a_turn_takes_a_few_and_the_next_goes_on(prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "PAGE", 2)
    monkeypatch.setattr(sweeping, "OBJECTS_A_TURN", 4)
    prefix = f"swept-{uuid.uuid4()}/"
    for number in range(7):
        objects.put(f"{prefix}{number}", b"x")

    def turn() -> int:
        return sweeping._sweep_objects(prefix, set, timezone.now() + timedelta(days=2))

    assert [turn() for _ in range(3)] == [4, 3, 0]


# --- a sweep and a save at once, on two connections ---------------------------------------------------------------

at_once = pytest.mark.django_db(transaction=True)


@at_once
def test_a_save_under_way_is_not_swept(owner_api: APIClient, prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    """The save has linked the text and not committed; the sweep looks at it now."""
    started = upload(owner_api, prompt, TEXT)
    halt, link = Halt(), store.link

    def link_and_wait(**given: Any) -> None:
        age()  # as if the hold had been long ago
        link(**given)
        halt()

    monkeypatch.setattr(store, "link", link_and_wait)
    with beside(lambda: save(owner_api, prompt, {"upload": started["id"]}).status_code) as out:
        assert halt.reached.wait(60)
        assert Body.objects.get().unreferenced_since is not None, "not committed yet"
        assert sweeping.sweep_bodies(now=timezone.now() + LONG_AGO) == 0
        halt.released.set()
    assert out == [201]
    assert sweeping.sweep_bodies(now=timezone.now() + LONG_AGO) == 0
    assert freezing.thaw(Version.objects.get())["messages"][0]["content"] == TEXT.decode()


@contextmanager
def sweep_halted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Halt]:
    """A sweep that has deleted the row and not committed."""
    halt, after_commit = Halt(), effects.after_commit

    def wait_first(*args: Any) -> None:
        halt()
        after_commit(*args)

    age()
    monkeypatch.setattr(effects, "after_commit", wait_first)
    with beside(sweeping.sweep_bodies) as out:
        assert halt.reached.wait(60)
        yield halt
        halt.released.set()
    assert out == [1]


@at_once
def test_a_save_that_meets_a_sweep_says_that_the_upload_is_gone(
    owner_api: APIClient, prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = upload(owner_api, prompt, TEXT)
    reference = {"upload": started["id"]}
    with sweep_halted(monkeypatch) as halt, beside(lambda: save(owner_api, prompt, reference)) as out:
        wait_until(blocked)
        halt.released.set()
    assert (out[0].status_code, out[0].json()["error"]["code"]) == (409, "text_gone")
    assert not Version.objects.exists()
    assert save(owner_api, prompt, {"upload": upload(owner_api, prompt, TEXT)["id"]}).status_code == 201


@at_once
def test_a_save_of_the_same_text_typed_in_stores_it_anew(
    owner_api: APIClient, prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(owner_api, prompt, TEXT)
    with sweep_halted(monkeypatch) as halt, beside(lambda: save(owner_api, prompt, TEXT.decode())) as out:
        wait_until(blocked)
        halt.released.set()
    assert out[0].status_code == 201
    assert freezing.thaw(Version.objects.get())["messages"][0]["content"] == TEXT.decode()


@at_once
def test_an_upload_of_the_same_text_that_meets_a_sweep_keeps_its_own(
    owner_api: APIClient, prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(owner_api, prompt, TEXT)
    again = announce(owner_api, prompt, TEXT)
    put(again, TEXT)
    complete(owner_api, again)
    with sweep_halted(monkeypatch) as halt, beside(lambda: pack(again)) as out:
        wait_until(blocked)
        halt.released.set()
    assert out == [None]
    assert save(owner_api, prompt, {"upload": again["id"]}).status_code == 201
    assert freezing.thaw(Version.objects.get())["messages"][0]["content"] == TEXT.decode()


@at_once
def test_a_save_between_a_sweep_s_look_and_its_lock_wins(
    owner_api: APIClient, prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = upload(owner_api, prompt, TEXT)
    age()
    sweep_one = sweeping._sweep_body

    def late(*args: Any) -> bool:
        """The row was listed as old; before it is locked, a save only begins: it holds the text."""
        store.hold(prompt_id=prompt.pk, sha256s=[sha256(TEXT)])
        return sweep_one(*args)

    monkeypatch.setattr(sweeping, "_sweep_body", late)
    assert sweeping.sweep_bodies() == 0
    assert save(owner_api, prompt, {"upload": started["id"]}).status_code == 201


@at_once
def test_two_savers_of_two_uploaded_texts_do_not_block_each_other(owner_api: APIClient, prompt: Prompt) -> None:
    first, second = (upload(owner_api, prompt, text)["id"] for text in (b"first text", b"second text"))
    orders = [({"upload": first}, {"upload": second}), ({"upload": second}, {"upload": first})]
    barrier = threading.Barrier(2)

    def go(order: Any) -> int:
        barrier.wait()
        status: int = save(owner_api, prompt, *order).status_code
        return status

    with beside(lambda: go(orders[0])) as one, beside(lambda: go(orders[1])) as other:
        pass
    assert one + other == [201, 201]


def test_the_clock_runs_every_sweep() -> None:
    app.loader.import_default_modules()
    mine = {name: entry for name, entry in app.conf.beat_schedule.items() if name.startswith("playground-")}
    assert {entry["task"] for entry in mine.values()} <= set(app.tasks)
    assert len(mine) >= 5
