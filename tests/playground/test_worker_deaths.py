"""A worker killed with SIGKILL while it packs an upload, at each of its steps, and a store that is killed or hangs.

The steps are found from outside: a lock of the test's own connection lets the worker come to the next access of a
table and no further; the store is an own one, which can be stopped.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from django.core.cache import cache
from django.db import connection
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from core.errors import StorageUnavailable
from playground.bodies import objects
from playground.models import Body, Prompt, Upload
from playground.services import sweeping
from playground.tasks import pack_upload
from tests.celery_worker import forget_messages, kill, worker
from tests.playground.uploading import (
    API,
    announce,
    announce_parts,
    complete,
    keys,
    noise,
    put,
    put_parts,
    save,
    sha256,
    state,
    unfinished,
)
from tests.services_plugin import ALONE, Instance, shared
from tests.waiting import PATIENCE_S, wait_until

pytestmark = [pytest.mark.faults, pytest.mark.django_db(transaction=True)]

MB = 1024 * 1024
OLD = noise(300_000)
TEXT = OLD[:100_000] + b"an edit" + OLD[100_000:]
#: From when on supervisord takes a process for started (`startsecs` is 3).
SETTLED_S = 4


@pytest.fixture(scope="session")
def own_store() -> Instance:
    """A SeaweedFS that no other test uses: these stop and kill it."""
    name = f"store-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"
    return shared(name, "--only", "seaweedfs", environment=ALONE)


@pytest.fixture(autouse=True)
def on_own_store(own_store: Instance, settings: Settings) -> Iterator[None]:
    for name, value in own_store.environment.items():
        if name.startswith("S3_"):
            setattr(settings, name, value)
    objects.forget_connections()
    objects.signer.cache_clear()
    forget_messages()
    wait_until(answers)
    yield
    objects.forget_connections()
    objects.signer.cache_clear()


@pytest.fixture
def sent(owner_api: APIClient, prompt: Prompt) -> dict[str, Any]:
    """An edited text whose bytes are staged; a version has the text it was edited from."""
    assert save(owner_api, prompt, OLD.decode()).status_code == 201
    started = announce(owner_api, prompt, TEXT, near=sha256(OLD))
    assert put(started, TEXT).is_success
    return started


@contextlib.contextmanager
def locked(mode: str, table: str = "playground_body") -> Iterator[Callable[[], bool]]:
    """Lock a table, that of texts, on a connection of its own. Answers whether anybody waits for it."""
    at = connection.settings_dict
    address = {"user": at["USER"], "password": at["PASSWORD"], "host": at["HOST"], "port": at["PORT"]}
    with (
        psycopg.connect(**address, dbname=at["NAME"]) as holder,
        psycopg.connect(**address, dbname=at["NAME"], autocommit=True) as watcher,
    ):
        holder.execute(f"LOCK TABLE {table} IN {mode} MODE")

        def waited_for() -> bool:
            waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = %s::regclass"
            row = watcher.execute(waiting, [table]).fetchone()
            return bool(row and row[0])

        yield waited_for


#: Not even read: the worker stops at choosing a base, after reading the staged bytes and before it stores a thing.
UNREADABLE = "ACCESS EXCLUSIVE"
#: Read but not written: the worker stops at inserting its row, after its object is stored.
UNWRITABLE = "SHARE"


def objects_of(prompt: Prompt) -> list[str]:
    return keys(f"bodies/{prompt.pk}/")


def nothing_visible(api: APIClient, prompt: Prompt, started: dict[str, Any]) -> None:
    assert state(api, started)["status"] == "processing"
    assert Body.objects.filter(prompt=prompt).count() == 1
    for reference in ({"upload": started["id"]}, {"body": sha256(TEXT)}):
        assert save(api, prompt, reference).status_code == 400
    assert api.get(f"{API}/prompts/{prompt.pk}/versions/1/texts/0").content == OLD


def sent_again_it_is_finished(api: APIClient, prompt: Prompt, started: dict[str, Any], log: Path) -> None:
    """The schedule asks again for what got lost; another worker does it; the text is byte for byte what was sent."""
    assert sweeping.resend_processing(now=timezone.now() + timedelta(minutes=4)) == 1
    with worker(log):
        wait_until(lambda: state(api, started)["status"] == "complete")
        wait_until(lambda: not keys(f"staging/{prompt.pk}/"))
    assert save(api, prompt, {"upload": started["id"]}).status_code == 201
    assert api.get(f"{API}/prompts/{prompt.pk}/versions/latest/texts/0").content == TEXT


def swept(prompt: Prompt) -> list[str]:
    """What the store has of texts after the sweep of a day later."""
    cache.delete("sweep:bodies/")
    sweeping.sweep_objects(now=timezone.now() + timedelta(hours=25))
    return sorted(objects_of(prompt))


def named(prompt: Prompt) -> list[str]:
    return sorted(body.object_key for body in Body.objects.filter(prompt=prompt))


def test_a_worker_killed_before_it_stores_anything_leaves_nothing_and_another_finishes(
    owner_api: APIClient, prompt: Prompt, sent: dict[str, Any], tmp_path: Path
) -> None:
    with worker(tmp_path / "first.log") as process:
        with locked(UNREADABLE) as waited_for:
            assert complete(owner_api, sent).status_code == 202
            wait_until(waited_for)
            kill(process)
        assert len(objects_of(prompt)) == 1
    nothing_visible(owner_api, prompt, sent)
    sent_again_it_is_finished(owner_api, prompt, sent, tmp_path / "second.log")
    assert swept(prompt) == named(prompt)


def test_a_worker_killed_between_the_object_and_its_row_leaves_an_orphan_that_the_sweep_collects(
    owner_api: APIClient, prompt: Prompt, sent: dict[str, Any], tmp_path: Path
) -> None:
    (old,) = objects_of(prompt)
    with worker(tmp_path / "first.log") as process, locked(UNWRITABLE) as waited_for:
        assert complete(owner_api, sent).status_code == 202
        wait_until(waited_for)
        (orphan,) = set(objects_of(prompt)) - {old}
        kill(process)
    nothing_visible(owner_api, prompt, sent)
    assert orphan in objects_of(prompt)
    sent_again_it_is_finished(owner_api, prompt, sent, tmp_path / "second.log")
    assert len(objects_of(prompt)) == 3
    assert swept(prompt) == named(prompt)
    assert orphan not in objects_of(prompt)


def kill_store(store: Instance) -> int:
    """Its process, now dead; another is started. One that died in its first seconds would soon be given up."""
    process = psutil.Process(store.pid("seaweedfs"))
    wait_until(lambda: time.time() - process.create_time() > SETTLED_S)
    process.kill()
    return process.pid


def killed_and_back(store: Instance) -> None:
    before = kill_store(store)
    wait_until(lambda: store.pid("seaweedfs") != before and answers())


def answers() -> bool:
    """Whether the store takes and gives objects."""
    try:
        objects.put("canary/here", b"here")
    except StorageUnavailable:
        return False
    return True


def test_a_worker_killed_after_the_commit_leaves_a_usable_text_and_bytes_that_the_sweep_collects(
    owner_api: APIClient, prompt: Prompt, sent: dict[str, Any], tmp_path: Path, own_store: Instance
) -> None:
    with worker(tmp_path / "first.log") as process:
        with locked(UNWRITABLE) as waited_for:
            assert complete(owner_api, sent).status_code == 202
            wait_until(waited_for)
            os.kill(own_store.pid("seaweedfs"), signal.SIGSTOP)
        wait_until(lambda: Upload.objects.get(pk=sent["id"]).status == "complete")
        kill(process)
    killed_and_back(own_store)  # else it would read on, and find the worker's last words
    assert keys(f"staging/{prompt.pk}/") == [Upload.objects.get(pk=sent["id"]).staging_key]
    assert save(owner_api, prompt, {"upload": sent["id"]}).status_code == 201
    assert owner_api.get(f"{API}/prompts/{prompt.pk}/versions/latest/texts/0").content == TEXT
    pack_upload.apply(args=(sent["id"],), throw=True)  # what the broker delivers again, as the task was not acked
    cache.delete("sweep:staging/")
    assert sweeping.sweep_staging(now=timezone.now() + timedelta(hours=25)) == 1
    assert keys(f"staging/{prompt.pk}/") == []
    assert swept(prompt) == named(prompt)


def test_a_sweep_while_a_worker_waits_to_commit_takes_nothing_of_it(
    owner_api: APIClient, prompt: Prompt, sent: dict[str, Any], tmp_path: Path
) -> None:
    """An object without a row is no orphan yet: it is the age that tells."""
    with worker(tmp_path / "worker.log"):
        with locked(UNWRITABLE) as waited_for:
            assert complete(owner_api, sent).status_code == 202
            wait_until(waited_for)
            cache.delete("sweep:bodies/")
            assert sweeping.sweep_objects() == 0
            assert sweeping.sweep_objects(now=timezone.now() + timedelta(hours=23)) == 0
        wait_until(lambda: state(owner_api, sent)["status"] == "complete")
    assert save(owner_api, prompt, {"upload": sent["id"]}).status_code == 201
    assert owner_api.get(f"{API}/prompts/{prompt.pk}/versions/latest/texts/0").content == TEXT


def test_a_store_killed_under_a_worker_is_waited_for(
    owner_api: APIClient, prompt: Prompt, sent: dict[str, Any], tmp_path: Path, own_store: Instance
) -> None:
    with worker(tmp_path / "worker.log"):
        with locked(UNREADABLE) as waited_for:
            assert complete(owner_api, sent).status_code == 202
            wait_until(waited_for)
            kill_store(own_store)
        assert state(owner_api, sent)["status"] == "processing"
        wait_until(lambda: Upload.objects.get(pk=sent["id"]).status == "complete")
    assert save(owner_api, prompt, {"upload": sent["id"]}).status_code == 201
    assert owner_api.get(f"{API}/prompts/{prompt.pk}/versions/latest/texts/0").content == TEXT


def test_a_store_killed_during_a_save_saves_nothing_and_the_same_save_works_when_it_is_back(
    owner_api: APIClient, prompt: Prompt, own_store: Instance
) -> None:
    kill_store(own_store)
    answer = save(owner_api, prompt, TEXT.decode(), HTTP_IDEMPOTENCY_KEY="k")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "storage_unavailable")
    assert not Body.objects.exists()
    wait_until(lambda: save(owner_api, prompt, TEXT.decode(), HTTP_IDEMPOTENCY_KEY="k").status_code == 201)
    assert owner_api.get(f"{API}/prompts/{prompt.pk}/versions").json()["results"][0]["number"] == 1
    assert owner_api.get(f"{API}/prompts/{prompt.pk}/versions/1/texts/0").content == TEXT


def test_a_store_that_hangs_during_a_save_is_given_up_and_the_same_save_works_when_it_goes_on(
    owner_api: APIClient, prompt: Prompt, own_store: Instance
) -> None:
    """It takes connections and answers nobody: only our own timeouts end that."""
    pid = own_store.pid("seaweedfs")
    os.kill(pid, signal.SIGSTOP)
    try:
        answer = save(owner_api, prompt, TEXT.decode(), HTTP_IDEMPOTENCY_KEY="k")
    finally:
        os.kill(pid, signal.SIGCONT)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "storage_unavailable")
    assert not Body.objects.exists()
    wait_until(answers)
    assert save(owner_api, prompt, TEXT.decode(), HTTP_IDEMPOTENCY_KEY="k").status_code == 201
    assert owner_api.get(f"{API}/prompts/{prompt.pk}/versions/1/texts/0").content == TEXT
    assert swept(prompt) == named(prompt)


def test_parts_outlive_the_death_of_the_store(owner_api: APIClient, prompt: Prompt, own_store: Instance) -> None:
    text = noise(17 * MB)
    started = announce_parts(owner_api, prompt, text)
    assert put_parts({"parts": started["parts"][:2]}, text) == [1, 2]
    killed_and_back(own_store)
    wait_until(lambda: owner_api.get(f"{API}/uploads/{started['id']}").status_code == 200)
    assert put_parts(state(owner_api, started), text) == [3]
    assert complete(owner_api, started).status_code == 202
    assert unfinished(prompt) == []


def test_completing_many_times_at_once_packs_once(owner_api: APIClient, prompt: Prompt, tmp_path: Path) -> None:
    text = noise(17 * MB)
    started = announce_parts(owner_api, prompt, text)
    put_parts(started, text)
    barrier, answers = threading.Barrier(6), []

    def run() -> None:
        barrier.wait()
        answers.append(complete(owner_api, started).status_code)
        connection.close()

    with worker(tmp_path / "worker.log"):
        threads = [threading.Thread(target=run) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
        wait_until(lambda: state(owner_api, started)["status"] == "complete")
        wait_until(lambda: not keys(f"staging/{prompt.pk}/"))
    assert len(answers) == 6
    assert set(answers) <= {200, 202}
    assert objects_of(prompt) == named(prompt)
    assert unfinished(prompt) == []
