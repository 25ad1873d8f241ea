"""Comments on large texts: a list never waits for them, a worker does; and it reads no text that did not change."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from core.errors import StorageUnavailable
from embedded.ports import free_port
from playground.bodies import objects
from playground.bodies.held import held_texts
from playground.models import Prompt, Version
from review import carrying
from review.models import Placement, Thread
from review.tasks import carry_threads
from tests.celery_worker import forget_messages, worker
from tests.review.conftest import Shown, Start
from tests.waiting import wait_until

LINES = [f"Line {number}: the customer was told to wait for an answer.\n" for number in range(25_000)]
TEXT = "".join(LINES)
COMMENTED = [LINES[number].strip() for number in range(500, 25_000, 1500)]
Save = Callable[..., Version]


@pytest.fixture
def version(prompt: Prompt, save: Save, start: Start) -> Version:
    made = save(TEXT)
    for words in COMMENTED:
        start(made, words, text=TEXT)
    return made


@pytest.fixture
def later(version: Version, save: Save) -> Version:
    return save("A new first line.\n" + TEXT.replace("Line 2000:", "Row 2000:"), parent=version)


@pytest.mark.django_db
def test_a_list_says_that_they_are_being_worked_out_and_then_where_they_are(later: Version, shown: Shown) -> None:
    listed = shown(later)
    assert listed["pending"] == len(COMMENTED)
    assert {row["placement"]["state"] for row in listed["results"]} == {"pending"}
    assert Placement.objects.filter(version=later).count() == 0
    carry_threads(str(later.pk))
    listed = shown(later)
    assert listed["pending"] == 0
    states = sorted(row["placement"]["state"] for row in listed["results"])
    assert states == ["carried"] * (len(COMMENTED) - 1) + ["suggested"]
    assert all(row["placement"]["quote"] == row["quote"] for row in listed["results"] if row["quote"] in TEXT[200_000:])


@pytest.mark.django_db
def test_a_text_that_did_not_change_is_carried_at_once_however_large(
    version: Version, save: Save, shown: Shown
) -> None:
    later = save(TEXT, parent=version, system="Be brief.")
    listed = shown(later)
    assert listed["pending"] == 0
    assert {row["placement"]["method"] for row in listed["results"]} == {"same_text"}


@pytest.mark.django_db
def test_a_reader_who_asks_for_one_thread_gets_it_at_once(later: Version, owner_api: object) -> None:
    thread = Thread.objects.order_by("-pk").first()
    assert thread is not None
    assert carrying.carry_threads(later, [thread]) == 0
    assert Placement.objects.get(version=later).state == "carried"


@pytest.mark.django_db
def test_without_the_store_the_comments_are_there_and_only_their_places_are_not(
    save: Save, start: Start, shown: Shown, settings: Settings
) -> None:
    rolled = random.Random(5)
    text = "\n".join(f"{number}: {rolled.randbytes(40).hex()}" for number in range(1000))
    version = save(text)
    start(version, text[5000:5080], text=text, body="Still here")
    later = save("First.\n" + text[::-1], parent=version)
    settings.S3_ENDPOINT_URL = f"http://127.0.0.1:{free_port()}"
    objects.forget_connections()
    held_texts.forget()
    listed = shown(later)
    assert listed["pending"] == 1
    assert listed["results"][0]["comments"][0]["body"] == "Still here"
    with pytest.raises(StorageUnavailable):
        carrying.carry_threads(later, carrying.threads_of(later), most=None)


@pytest.fixture(autouse=True)
def own_connections() -> Iterator[None]:
    yield
    objects.forget_connections()


@pytest.mark.django_db(transaction=True)
def test_a_worker_does_it_when_somebody_looks(later: Version, shown: Shown, tmp_path: Path) -> None:
    forget_messages()
    with worker(tmp_path / "worker.log"):
        assert shown(later)["pending"] > 0
        wait_until(lambda: shown(later)["pending"] == 0)
    assert Placement.objects.filter(version=later).count() == len(COMMENTED)
