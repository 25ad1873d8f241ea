"""Whether a run would work now: each thing it needs is asked at the same time, and nothing can hold the answer up.

A probe has one thread at most. One that hangs is reported as silent until it comes back, so a dead service costs a
thread and not a thread a second; the threads are daemons, so it does not delay a stop either.
"""

from __future__ import annotations

import functools
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import httpx2
import redis
from botocore.exceptions import BotoCoreError, ClientError
from django.conf import settings
from django.db import Error as DatabaseFailure
from django.db import ProgrammingError, connections
from redis.backoff import NoBackoff
from redis.retry import Retry

from accounts.models import User
from config.celery import HEARTBEAT_KEY
from playground.bodies import objects

log = logging.getLogger("playground.readiness")

OK = "ok"
SILENT = "does not answer"
PATIENCE_S = 2.0

Clock = Callable[[], float]


@dataclass(frozen=True, kw_only=True)
class Report:
    checks: dict[str, str]

    @property
    def ready(self) -> bool:
        return all(answer == OK for answer in self.checks.values())


class Probe:
    """One question with a name. `ask` answers OK or the reason in words that give no secret away."""

    def __init__(
        self, name: str, ask: Callable[[], str], *, good_for_s: float = 0, clock: Clock = time.monotonic
    ) -> None:
        self.name = name
        self._ask = ask
        self._good_for_s = good_for_s
        self._clock = clock
        self._good_until = float("-inf")
        self._answer = SILENT
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to ask, unless a good answer is still fresh or the last question still hangs."""
        if self._clock() < self._good_until or (self._thread is not None and self._thread.is_alive()):
            return
        self._answer = SILENT
        self._thread = threading.Thread(target=self._run, name=f"readyz-{self.name}", daemon=True)
        self._thread.start()

    def answer(self, *, within_s: float) -> str:
        if self._thread is not None:
            self._thread.join(max(0.0, within_s))
            if self._thread.is_alive():
                return SILENT
        return self._answer

    def _run(self) -> None:
        try:
            self._answer = self._ask()
            if self._answer == OK:
                self._good_until = self._clock() + self._good_for_s
        except Exception:
            log.exception("A readiness probe broke", extra={"probe": self.name})
            self._answer = "could not be asked"
        finally:
            connections.close_all()


class Readiness:
    """Asks all probes at once and reuses the report for a second, so that many askers cost as much as one."""

    def __init__(self, probes: Sequence[Probe], *, good_for_s: float = 1.0, clock: Clock = time.monotonic) -> None:
        self._probes = probes
        self._good_for_s = good_for_s
        self._clock = clock
        self._lock = threading.Lock()
        self._report: Report | None = None
        self._good_until = 0.0

    def report(self) -> Report:
        with self._lock:
            if self._report is None or self._clock() >= self._good_until:
                self._report = self._ask_all()
                self._good_until = self._clock() + self._good_for_s
            return self._report

    def _ask_all(self) -> Report:
        give_up_at = time.monotonic() + PATIENCE_S
        for probe in self._probes:
            probe.start()
        return Report(
            checks={probe.name: probe.answer(within_s=give_up_at - time.monotonic()) for probe in self._probes}
        )


def ask_database() -> str:
    try:
        User.objects.exists()
    except ProgrammingError:
        return "its tables are missing: run `manage.py migrate`"
    except DatabaseFailure:
        return SILENT
    return OK


def ask_redis() -> str:
    try:
        _redis().ping()
    except redis.RedisError:
        return SILENT
    return OK


def ask_worker() -> str:
    try:
        alive = _redis().exists(HEARTBEAT_KEY)
    except redis.RedisError:
        return "unknown, because Redis does not answer"
    return OK if alive else "no worker is connected: start `celery -A config worker --pool threads`"


def ask_storage() -> str:
    try:
        objects.client().head_bucket(Bucket=settings.S3_BUCKET)
    except ClientError as error:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        reasons = {404: "the bucket S3_BUCKET does not exist", 403: "the S3 credentials are refused"}
        return reasons.get(status or 0, f"answers {status}")
    except BotoCoreError:
        return SILENT
    return OK


def ask_inference() -> str:
    """Our backend has /readyz; any other server of the Messages API is ready when it lists its models for our key."""
    try:
        status = _http().get(f"{settings.INFERENCE_BASE_URL}/readyz").status_code
        if status in (401, 403, 404, 405):
            status = _list_models()
    except httpx2.HTTPError:
        return SILENT
    if status == 200:
        return OK
    reasons = {401: "INFERENCE_API_KEY is refused", 403: "INFERENCE_API_KEY is refused", 503: "is not ready"}
    return reasons.get(status, f"answers {status}")


def _list_models() -> int:
    """The status of GET /v1/models. Anthropic takes the key as `x-api-key`, vLLM as a bearer token."""
    url = f"{settings.INFERENCE_BASE_URL}/v1/models"
    key = settings.INFERENCE_API_KEY
    status = _http().get(url, headers={"x-api-key": key, "anthropic-version": "2023-06-01"}).status_code
    if status == 401:
        status = _http().get(url, headers={"Authorization": f"Bearer {key}"}).status_code
    return status


@functools.cache
def _http() -> httpx2.Client:
    return httpx2.Client(timeout=PATIENCE_S)


@functools.cache
def _redis() -> redis.Redis:
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=PATIENCE_S,
        socket_connect_timeout=PATIENCE_S,
        retry=Retry(NoBackoff(), 1),
    )


readiness = Readiness(
    [
        Probe("database", ask_database),
        Probe("redis", ask_redis),
        Probe("storage", ask_storage, good_for_s=5),
        Probe("inference", ask_inference, good_for_s=3),
        Probe("worker", ask_worker),
    ]
)
