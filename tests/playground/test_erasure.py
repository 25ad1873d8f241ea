"""Erasing a prompt: from the trash only, by its owner only, and then nothing of it is left anywhere."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from core.errors import NotFound, StorageUnavailable
from core.idempotency import IdempotencyKey
from core.redis import client
from inference_client.models import Run
from playground import services, tasks
from playground.bodies import objects, unstored
from playground.models import ErasedObjects, Prompt, Version
from playground.services import SavedVersion, drafts, library

Save = Callable[..., SavedVersion]
URL = "/api/v1/prompts"
#: Where messages of upkeep wait that may be served late.
LINE = "upkeep\x06\x166"


def stored(prompt: Prompt) -> list[str]:
    """Every object in the bucket whose key names the prompt."""
    pages = objects.client().get_paginator("list_objects_v2").paginate(Bucket=settings.S3_BUCKET)
    keys = [each["Key"] for page in pages for each in page.get("Contents", [])]
    return [key for key in keys if str(prompt.pk) in key]


def rows_left(prompt: Prompt) -> dict[str, int]:
    """By table: the rows that still name the prompt."""
    found = {}
    for model in apps.get_app_config("playground").get_models():
        names = {field.name for field in model._meta.fields}
        if "prompt" in names:
            found[model._meta.model_name or ""] = model._base_manager.filter(prompt=prompt.pk).count()
    return {name: count for name, count in found.items() if count}


@pytest.fixture
def full(owner: User, prompt: Prompt, save: Save) -> Prompt:
    """A prompt with a tree, a merge, labels, a draft, runs, uploads' and read copies' objects."""
    first = save(text="x" * 5000).version
    second = save(text="x" * 5000 + "y").version
    other = save(text="x" * 5000 + "z", parent=first, branch="idea").version
    merged = save(text="x" * 5000 + "yz", parent=second, merged=other, idempotency_key="k").version
    services.move_label(actor=owner, prompt=prompt, name="production", to=merged)
    drafts.keep_draft(person=owner, prompt=prompt, branch="main", content="{}", base=merged, revision=None)
    services.run_version(account=owner, version=merged, values={"name": "x"}, idempotency_key="r")
    unstored.store_objects()
    objects.put(f"read/{prompt.pk}/0/copy", b"read copy")
    objects.put(f"staging/{prompt.pk}/half", b"half an upload")
    return prompt


@pytest.mark.django_db(transaction=True)
def test_erasure_leaves_no_row_and_no_object(full: Prompt, owner_api: APIClient, owner: User) -> None:
    bystander = services.fork_prompt(actor=owner, version=Version.objects.get(prompt=full, number=1), name="Other")
    assert len(stored(full)) == 7
    services.trash_prompt(prompt=full)
    answer = owner_api.delete(f"{URL}/{full.pk}", {"name": "Greeting"}, format="json")
    assert answer.status_code == 204
    assert rows_left(full) == {}
    assert not Prompt.objects.filter(pk=full.pk).exists()
    assert (Run.objects.count(), IdempotencyKey.objects.filter(key="k").count()) == (0, 0)
    tasks.erase_objects(str(full.pk))
    assert stored(full) == []
    assert len(stored(bystander.prompt)) == 2
    assert owner_api.get(f"{URL}/{bystander.prompt_id}/versions/1?include=texts").status_code == 200


@pytest.mark.django_db
def test_a_store_that_is_away_is_asked_again(full: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    services.trash_prompt(prompt=full)
    services.erase_prompt(prompt=full, confirmation="Greeting")

    def away(*args: Any, **options: Any) -> None:
        raise StorageUnavailable

    with monkeypatch.context() as patched:
        patched.setattr(objects, "delete", away)
        with pytest.raises(StorageUnavailable):
            tasks.erase_objects(str(full.pk))
    assert stored(full)
    tasks.sweep_erased()
    assert stored(full) == []


@pytest.mark.django_db
def test_what_arrives_late_is_deleted_too(full: Prompt) -> None:
    services.trash_prompt(prompt=full)
    services.erase_prompt(prompt=full, confirmation="Greeting")
    tasks.sweep_erased()
    objects.put(f"bodies/{full.pk}/late", b"of a save that was on its way")
    tasks.sweep_erased()
    assert stored(full) == []
    ErasedObjects.objects.update(erased_at=timezone.now() - dt.timedelta(hours=2))
    tasks.sweep_erased()
    assert not ErasedObjects.objects.exists()
    assert library.delete_objects(prompt_id=full.pk) == 0


@pytest.mark.django_db
def test_the_trash_is_emptied_after_its_time(full: Prompt, owner: User) -> None:
    services.trash_prompt(prompt=full)
    fresh = services.trash_prompt(prompt=services.create_prompt(owner=owner, name="Fresh"))
    now = timezone.now()
    assert library.erase_expired(now=now + dt.timedelta(days=29)) == 0
    Prompt.objects.filter(pk=fresh.pk).update(trashed_at=now + dt.timedelta(days=2))
    assert library.erase_expired(now=now + dt.timedelta(days=31)) == 1
    assert list(Prompt.objects.values_list("name", flat=True)) == ["Fresh"]
    tasks.empty_trash()


@pytest.mark.django_db
def test_only_from_the_trash_and_only_by_its_name(full: Prompt, owner_api: APIClient) -> None:
    url = f"{URL}/{full.pk}"
    active = owner_api.delete(url, {"name": "Greeting"}, format="json")
    assert (active.status_code, active.json()["error"]["code"]) == (409, "not_in_trash")
    services.trash_prompt(prompt=full)
    for body in ({}, {"name": ""}, {"name": "greeting"}, {"name": "Greeting "}):
        refused = owner_api.delete(url, body, format="json")
        assert (refused.status_code, refused.json()["error"]["field"]) == (400, "name")
    assert Version.objects.filter(prompt=full).count() == 4


@pytest.mark.django_db
def test_strangers_erase_nothing(full: Prompt, stranger_api: APIClient, anonymous_api: APIClient) -> None:
    services.trash_prompt(prompt=full)
    url, body = f"{URL}/{full.pk}", {"name": "Greeting"}
    assert stranger_api.delete(url, body, format="json").status_code == 404
    assert anonymous_api.delete(url, body, format="json").status_code == 401
    assert Prompt.objects.filter(pk=full.pk).exists()


@pytest.mark.django_db
def test_a_prompt_restored_in_the_same_moment_stays(full: Prompt) -> None:
    services.trash_prompt(prompt=full)
    services.restore_prompt(prompt=Prompt.objects.get(pk=full.pk))
    assert not library.erase(prompt_id=full.pk, trashed_before=timezone.now())
    assert Version.objects.filter(prompt=full).count() == 4


@pytest.mark.django_db
def test_the_permission_to_delete_is_for_one_prompt_only(full: Prompt, owner: User) -> None:
    other = services.create_prompt(owner=owner, name="Other")
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('playground.erase_prompt', %s, true)", [str(other.pk)])
    with pytest.raises(Exception, match="never deleted"), connection.cursor() as cursor:
        cursor.execute("DELETE FROM playground_version WHERE prompt_id = %s", [full.pk])


@pytest.fixture
def busy(full: Prompt, owner: User, monkeypatch: pytest.MonkeyPatch) -> Prompt:
    """A prompt in the trash with seven runs, which are three portions."""
    monkeypatch.setattr(library, "RUNS_A_PORTION", 3)
    version = Version.objects.get(prompt=full, number=1)
    for _ in range(6):
        services.run_version(account=owner, version=version, values={"name": "x"})
    return services.trash_prompt(prompt=full)


@pytest.mark.django_db
def test_a_prompt_of_many_runs_is_gone_at_once_and_its_rows_are_deleted_by_a_worker(
    busy: Prompt, owner_api: APIClient, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        assert owner_api.delete(f"{URL}/{busy.pk}", {"name": "Greeting"}, format="json").status_code == 204
    messages = [str(each) for each in client().lrange(LINE, 0, -1)]
    assert len([each for each in messages if "erase_rows" in each and str(busy.pk) in each]) == 1
    assert Run.objects.count() == 7
    assert owner_api.get(URL, {"state": "trashed"}).json()["results"] == []
    assert owner_api.get(f"{URL}/{busy.pk}").status_code == 404
    assert owner_api.post(f"{URL}/{busy.pk}/restore").status_code == 404
    assert owner_api.delete(f"{URL}/{busy.pk}", {"name": "Greeting"}, format="json").status_code == 404
    tasks.erase_rows(str(busy.pk))
    assert (rows_left(busy), Run.objects.count()) == ({}, 0)
    assert not Prompt.objects.filter(pk=busy.pk).exists()
    tasks.erase_rows(str(busy.pk))


@pytest.mark.django_db(transaction=True)
def test_an_erasure_that_is_broken_off_keeps_what_it_did_and_goes_on(
    busy: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    services.erase_prompt(prompt=busy, confirmation="Greeting")
    portion, portions = library._delete_portion, list[Any]()

    def dies_at_the_second(prompt_id: Any) -> int | None:
        if portions:
            raise KeyboardInterrupt
        portions.append(prompt_id)
        return portion(prompt_id)

    monkeypatch.setattr(library, "_delete_portion", dies_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        tasks.erase_rows(str(busy.pk))
    assert Run.objects.count() == 4
    monkeypatch.setattr(library, "_delete_portion", portion)
    tasks.sweep_erasing()
    assert (rows_left(busy), Run.objects.count()) == ({}, 0)


@pytest.mark.django_db(transaction=True)
def test_one_worker_at_a_time_erases_a_prompt(busy: Prompt) -> None:
    services.erase_prompt(prompt=busy, confirmation="Greeting")
    with transaction.atomic():
        Prompt.objects.select_for_update(no_key=True).get(pk=busy.pk)
        other = threading.Thread(target=erase_elsewhere, args=(busy.pk,))
        other.start()
        other.join(30)
        assert not other.is_alive()
        assert Run.objects.count() == 7
    assert library.erase_rows(prompt_id=busy.pk)


def erase_elsewhere(prompt_id: Any) -> None:
    try:
        assert not library.erase_rows(prompt_id=prompt_id)
    finally:
        connection.close()


@pytest.mark.django_db
def test_a_restore_that_comes_too_late_finds_nothing(busy: Prompt) -> None:
    services.erase_prompt(prompt=busy, confirmation="Greeting")
    with pytest.raises(NotFound):
        services.restore_prompt(prompt=busy)
    busy.refresh_from_db()
    assert busy.erasing
    assert busy.trashed_at is not None
