"""A short text is safe in its row when the save is answered; its object follows, whatever happens in between."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from rest_framework.test import APIClient

from accounts.models import User
from playground import freezing, services, tasks
from playground.bodies import chains, objects, unstored
from playground.bodies.held import held_texts
from playground.models import Body, Prompt, UnstoredBody, Version
from playground.services import SavedVersion
from tests.playground.store_front import Front
from tests.playground.uploading import noise

pytestmark = pytest.mark.django_db(transaction=True)
Save = Callable[..., SavedVersion]


def text_of(version: Version) -> Any:
    held_texts.forget()
    return freezing.thaw(version)["messages"][0]["content"]


def test_it_is_read_from_its_row_before_its_object_is_there(save: Save) -> None:
    version = save(text="short").version
    body = Body.objects.order_by("pk").last()
    assert body is not None
    with pytest.raises(objects.ObjectMissing):
        objects.get(body.object_key)
    assert text_of(version) == "short"


def test_the_worker_puts_each_object_into_the_store_once(save: Save) -> None:
    save(text="first")
    save(text="second")
    assert UnstoredBody.objects.count() == 3  # the system text, and both of these
    tasks.store_objects()
    assert not UnstoredBody.objects.exists()
    for body in Body.objects.all():
        assert objects.get(body.object_key) == bytes(body.inline or b"")
    assert unstored.store_objects() == 0


def test_the_row_s_copy_can_be_dropped_then(save: Save) -> None:
    version = save(text="short").version
    unstored.store_objects()
    Body.objects.update(inline=None)
    assert text_of(version) == "short"


def test_a_text_too_large_for_its_row_is_in_the_store_at_once(save: Save) -> None:
    save(text=noise(60_000).hex())
    body = Body.objects.get(inline=None)
    assert not unstored.is_due(body)
    assert objects.length(body.object_key) == body.stored_length


def test_a_silent_store_keeps_nobody_from_saving_a_short_text(save: Save, impatient: Front) -> None:
    impatient.silent = True
    version = save(text="while it is away").version
    assert unstored.store_objects() == 0
    assert UnstoredBody.objects.count() == 2
    impatient.silent = False
    impatient.hang_up()
    assert unstored.store_objects() == 2
    Body.objects.update(inline=None)
    assert text_of(version) == "while it is away"


def test_the_same_text_saved_again_is_due_once(save: Save) -> None:
    save(text="same")
    save(text="other")
    save(text="same")
    assert UnstoredBody.objects.count() == Body.objects.count() == 3


def test_two_workers_at_once_leave_every_object_there(save: Save) -> None:
    for number in range(20):
        save(text=f"text {number}")

    def work() -> None:
        unstored.store_objects()
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not UnstoredBody.objects.exists()
    for body in Body.objects.all():
        assert objects.get(body.object_key) == bytes(body.inline or b"")


def test_one_that_is_erased_while_it_is_put_leaves_no_object(
    save: Save, prompt: Prompt, owner_api: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(text="private")
    keys = [body.object_key for body in Body.objects.all()]
    put = objects.put

    def erased_meanwhile(key: str, data: bytes) -> None:
        if Prompt.objects.filter(pk=prompt.pk).exists():
            services.trash_prompt(prompt=prompt)
            assert (
                owner_api.delete(f"/api/v1/prompts/{prompt.pk}", {"name": "Greeting"}, format="json").status_code == 204
            )
            tasks.erase_objects(str(prompt.pk))
        put(key, data)

    monkeypatch.setattr(chains, "in_parallel", lambda call, items: [call(item) for item in items])
    monkeypatch.setattr(objects, "put", erased_meanwhile)
    unstored.store_objects()
    for key in keys:
        with pytest.raises(objects.ObjectMissing):
            objects.get(key)


def test_a_killed_worker_has_forgotten_nothing(save: Save, monkeypatch: pytest.MonkeyPatch) -> None:
    save(text="short")

    class Killed(BaseException):
        pass

    def killed(*given: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(unstored, "_forget", killed)
        with pytest.raises(Killed):
            unstored.store_objects()
    assert unstored.store_objects() == 2
    assert not UnstoredBody.objects.exists()


def test_what_is_still_due_is_no_damage(save: Save, capsys: pytest.CaptureFixture[str]) -> None:
    save(text="short")
    call_command("scrub_bodies")
    assert "0 damaged copies" in capsys.readouterr().out


def test_a_save_that_is_undone_leaves_nothing_due(owner: User, save: Save, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: object, **options: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("playground.services.versions.insert_version", broken)
    with pytest.raises(RuntimeError):
        save(text="never")
    assert not UnstoredBody.objects.exists()
    assert not Body.objects.exists()
