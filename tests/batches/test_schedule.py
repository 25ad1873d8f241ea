"""What celery beat is told to run exists, and what goes on between runs has a queue that some worker serves."""

from __future__ import annotations

from django.conf import settings

from batches import tasks
from batches.schedule import BEAT_SCHEDULE
from config.celery import app
from embedded.application import upkeep


def test_every_scheduled_task_exists() -> None:
    for name, entry in BEAT_SCHEDULE.items():
        assert app.conf.beat_schedule[name] == entry
        assert hasattr(tasks, entry["task"].rpartition(".")[2])


def test_the_task_that_is_told_of_the_end_of_a_run_exists() -> None:
    assert tasks.settle_run.name == settings.BATCH_RUN_ENDED


def test_a_worker_of_the_embedded_stack_serves_the_queue_of_batches() -> None:
    queue = app.amqp.router.route({}, tasks.settle_run.name)["queue"].name
    command = upkeep(environment={}, after=()).command
    assert queue in command[command.index("--queues") + 1].split(",")
