"""What celery beat is told to run exists."""

from __future__ import annotations

from config.celery import app
from playground import tasks
from playground.schedule import BEAT_SCHEDULE


def test_every_scheduled_task_exists() -> None:
    for name, entry in BEAT_SCHEDULE.items():
        assert app.conf.beat_schedule[name] == entry
        assert hasattr(tasks, entry["task"].rpartition(".")[2])


def test_the_trash_is_emptied_and_the_erased_swept_by_the_clock() -> None:
    scheduled = {entry["task"].rpartition(".")[2] for entry in BEAT_SCHEDULE.values()}
    assert {"empty_trash", "sweep_erased", "sweep_erasing", "index_late"} <= scheduled
