"""A worker killed with SIGKILL while it takes in a file: nothing half visible, and another goes on with what is stored.

The steps are found from outside, by a lock of the test's own connection.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from playground.models import Body, FileImport, Prompt, Version
from playground.services import file_imports, library
from tests.celery_worker import forget_messages, kill, worker
from tests.playground.importing_files import IMPORTS, history, send_file, state_of
from tests.playground.test_worker_deaths import UNWRITABLE, locked
from tests.playground.uploading import keys
from tests.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.django_db(transaction=True)]
VERSIONS = 300
FILE = history(VERSIONS, length=3000)
PROMPTS = "/api/v1/prompts"


@pytest.fixture(autouse=True)
def no_messages() -> None:
    forget_messages()


def nothing_visible(api: APIClient, queued: dict[str, Any]) -> None:
    shown = state_of(api, queued)
    assert (shown["status"], shown["prompt"]) == ("running", None)
    for state in ("active", "archived", "trashed"):
        assert api.get(PROMPTS, {"state": state}).json()["results"] == []
    assert not Version.objects.exists()


def asked_again_it_is_finished(api: APIClient, queued: dict[str, Any], log: Path) -> None:
    assert file_imports.look_after(now=timezone.now() + timedelta(minutes=4)) == 1
    with worker(log):
        wait_until(lambda: state_of(api, queued)["status"] not in ("queued", "running"))
        done = state_of(api, queued)
        assert (done["status"], done["versions_made"]) == ("done", VERSIONS), done
        staged = FileImport.objects.get().staging_key
        wait_until(lambda: not keys(staged))
    assert (Prompt.objects.count(), Version.objects.count(), Body.objects.count()) == (1, VERSIONS, VERSIONS)
    for number in (1, 150, VERSIONS):
        text = api.get(f"{PROMPTS}/{done['prompt']['id']}/versions/{number}/texts/0").content
        assert text == f"{number}: ".encode() + b"x" * 3000


def test_killed_among_the_texts_another_goes_on_with_those_that_are_stored(
    owner_api: APIClient, tmp_path: Path
) -> None:
    with worker(tmp_path / "first.log") as process:
        queued = send_file(owner_api, FILE)
        wait_until(lambda: Body.objects.count() >= 20)
        with locked(UNWRITABLE) as waited_for:
            wait_until(waited_for)
            kill(process)
    nothing_visible(owner_api, queued)
    before = set(Body.objects.values_list("pk", flat=True))
    assert 20 <= len(before) < VERSIONS
    asked_again_it_is_finished(owner_api, queued, tmp_path / "second.log")
    assert before < set(Body.objects.values_list("pk", flat=True))


def test_killed_while_it_makes_the_versions_none_is_there_and_another_makes_all(
    owner_api: APIClient, tmp_path: Path
) -> None:
    with worker(tmp_path / "first.log") as process, locked(UNWRITABLE, "playground_version") as waited_for:
        queued = send_file(owner_api, FILE)
        wait_until(waited_for)
        kill(process)
    assert Body.objects.count() == VERSIONS
    nothing_visible(owner_api, queued)
    asked_again_it_is_finished(owner_api, queued, tmp_path / "second.log")


def test_cancelled_under_a_worker_that_then_dies_it_is_cleaned_up_by_the_clock(
    owner_api: APIClient, tmp_path: Path
) -> None:
    with worker(tmp_path / "first.log") as process:
        queued = send_file(owner_api, FILE)
        wait_until(lambda: Body.objects.count() >= 20)
        with locked(UNWRITABLE) as waited_for:
            wait_until(waited_for)
            assert owner_api.delete(f"{IMPORTS}/{queued['id']}").status_code == 204
            kill(process)
    prompt = Prompt.objects.get()
    assert file_imports.look_after(now=timezone.now() + timedelta(minutes=4)) == 0
    assert not Prompt.objects.exists()
    assert not Body.objects.exists()
    library.delete_objects(prompt_id=prompt.pk)
    assert keys(f"bodies/{prompt.pk}/") == []


def test_a_message_that_was_lost_is_sent_again(owner_api: APIClient, tmp_path: Path) -> None:
    queued = send_file(owner_api, FILE)
    forget_messages()
    asked_again_it_is_finished(owner_api, queued, tmp_path / "worker.log")
