"""The Celery application: `celery -A config worker --pool threads`, `celery -A config beat`."""

from __future__ import annotations

import os
import time
from typing import Any

from celery import Celery, bootsteps
from celery.worker.components import Pool
from celery.worker.consumer import Tasks
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

import batches.schedule
import chat.schedule
import inference_client.schedule
import playground.schedule
import sharing.schedule
from core import threads

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("playground")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

#: Written by a worker that can run runs, read by /readyz. It expires when nobody writes it any more.
HEARTBEAT_KEY = "worker:heartbeat"
HEARTBEAT_EVERY_S = 5.0
HEARTBEAT_TTL_S = 15


class Heartbeat(bootsteps.StartStopStep):
    """Says that this worker is connected and its loop turns, as long as both are true.

    A step of the consumer and not of the worker: it starts anew with each connection to the broker. It beats on the
    worker's own loop, so a loop that hangs beats no more; a thread of its own would go on beating for the dead. A
    worker for other queues alone (body packing) stays silent: it runs no runs.
    """

    requires = (Tasks,)

    def __init__(self, consumer: Any, **options: Any) -> None:
        super().__init__(consumer, **options)
        self._entry: Any = None

    def start(self, consumer: Any) -> None:
        if consumer.app.conf.task_default_queue not in consumer.app.amqp.queues.consume_from:
            return
        redis = Redis.from_url(
            consumer.app.conf.broker_url,
            socket_timeout=1,
            socket_connect_timeout=1,
            retry=Retry(NoBackoff(), 0),
        )
        beat(redis)
        self._entry = consumer.timer.call_repeatedly(HEARTBEAT_EVERY_S, beat, (redis,))

    def stop(self, consumer: Any) -> None:
        del consumer
        if self._entry is not None:
            self._entry.cancel()
            self._entry = None

    shutdown = stop


class MirrorKeys(bootsteps.StartStopStep):
    """Asks for the mirror of API keys on each connection to the broker: it is Redis, and may have come back empty."""

    requires = (Tasks,)

    def start(self, consumer: Any) -> None:
        consumer.app.send_task("accounts.tasks.mirror_api_keys")


class Settle(bootsteps.StartStopStep):
    """A step of the worker and not of its consumer: once, and not again with each connection to the broker.

    Then it would spare the collector whatever happens to be alive at that moment.
    """

    requires = (Pool,)

    def start(self, parent: Any) -> None:
        del parent
        threads.settle()


def beat(redis: Redis) -> None:
    """One heartbeat. A Redis that does not answer is no reason to end the worker: the key then expires by itself."""
    try:
        redis.set(HEARTBEAT_KEY, str(time.time()), ex=HEARTBEAT_TTL_S)
    except RedisError:
        return


app.steps["consumer"].add(Heartbeat)
app.steps["consumer"].add(MirrorKeys)
app.steps["worker"].add(Settle)

#: What happens by the clock. A missed turn does no harm: each task finds what it has to do in the database.
app.conf.beat_schedule = {
    **batches.schedule.BEAT_SCHEDULE,
    **chat.schedule.BEAT_SCHEDULE,
    **inference_client.schedule.BEAT_SCHEDULE,
    **playground.schedule.BEAT_SCHEDULE,
    **sharing.schedule.BEAT_SCHEDULE,
    "mirror-api-keys": {"task": "accounts.tasks.mirror_api_keys", "schedule": 60.0, "options": {"expires": 60}},
    "forget-idempotency-keys": {"task": "core.tasks.forget_idempotency_keys", "schedule": 86400.0},
}
