from __future__ import annotations

import contextlib
import dataclasses
import json
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import httpx2
import pytest
import uvicorn
from django.db import connections
from pytest_django import Settings
from redis import Redis

from accounts.models import User
from accounts.services import ALL_SCOPES, create_api_key
from core.redis import client
from inference_client import tasks
from inference_client.events import events_key, from_fields
from inference_client.models import Run
from inference_client.services import create_run
from tests.inference_client.upstream import Upstream
from tests.waiting import wait_until

API_VERSION = "2023-06-01"
#: Where messages for runs wait: behind the tasks that have no priority of their own.
LINE = "celery\x06\x166"


def hello(**changes: Any) -> dict[str, Any]:
    """A small request."""
    return {"model": "tiny", "max_tokens": 32, "messages": [{"role": "user", "content": "Hi"}], **changes}


@pytest.fixture(autouse=True)
def redis() -> Redis:
    """Redis without the runs, streams, models and queued messages of other tests."""
    connection = client()
    for pattern in ("run:*", "run-streams:*", "celery*", "unacked*", "cache:*:inference-models*"):
        names = list(connection.scan_iter(pattern, count=1000))
        if names:
            connection.delete(*names)
    return connection


@pytest.fixture
def upstream(settings: Settings) -> Iterator[Upstream]:
    """The scripted model server, as the one that runs are sent to."""
    server = Upstream()
    settings.INFERENCE_BASE_URL = server.url
    settings.INFERENCE_API_KEY = "sk-test"
    yield server
    server.close()


@pytest.fixture
def make_run(owner: User) -> Callable[..., Run]:
    """`make_run(**changes to the request)`: queued, the owner's."""

    def make(*, account: User = owner, api_version: str = API_VERSION, **changes: Any) -> Run:
        return create_run(account=account, body=hello(**changes), api_version=api_version)

    return make


@pytest.fixture
def send() -> Iterator[Callable[[Run], Run]]:
    """`send(run)`: do in this thread what the worker does with the run's message; the run afterwards.

    Each run that was sent must have put on the wire exactly what its row says.
    """
    sent: list[uuid.UUID] = []

    def act(run: Run) -> Run:
        sent.append(run.pk)
        tasks.send_run(str(run.pk))
        return Run.objects.get(pk=run.pk)

    yield act
    assert not Run.objects.filter(pk__in=sent, wire_request__isnull=False).exists()


@pytest.fixture
def sending() -> Callable[[Run], contextlib.AbstractContextManager[None]]:
    """`with sending(run):` the worker's work goes on in another thread, and is over after the block."""

    @contextlib.contextmanager
    def act(run: Run) -> Iterator[None]:
        def work() -> None:
            try:
                tasks.send_run(str(run.pk))
            finally:
                connections.close_all()

        worker = threading.Thread(target=work)
        worker.start()
        try:
            yield
        finally:
            worker.join(timeout=60)
            assert not worker.is_alive()

    return act


def told(run: Run) -> list[tuple[str, dict[str, Any]]]:
    """What readers of a run are told: (kind, data) of each entry in its stream."""
    entries: Any = client().xrange(events_key(run.pk))
    return [(event.kind, dict(event.data)) for event in (from_fields(fields) for _, fields in entries)]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Told:
    """One server-sent event as a reader received it."""

    id: str
    kind: str
    data: dict[str, Any]


class Site:
    """The web application on a real port: only there does a stream really stream."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    @contextlib.contextmanager
    def following(self, run: Run, key: str, last_event_id: str | None = None) -> Iterator[Iterator[Told]]:
        """`with site.following(run, key) as events:` an open stream of `run`."""
        headers = {"Authorization": f"Bearer {key}", "Accept": "text/event-stream"}
        if last_event_id is not None:
            headers["Last-Event-ID"] = last_event_id
        url = f"{self.url}/api/v1/runs/{run.pk}/events"
        with httpx2.stream("GET", url, headers=headers, timeout=60) as response:
            assert response.status_code == 200, response.read()
            yield _events(response.iter_lines())

    def follow(self, run: Run, key: str, last_event_id: str | None = None) -> list[Told]:
        """All events of `run` until the stream ends."""
        with self.following(run, key, last_event_id) as events:
            return list(events)


def _events(lines: Iterator[str]) -> Iterator[Told]:
    fields: dict[str, str] = {}
    for line in lines:
        if line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value
        elif fields and not line:
            yield Told(id=fields.get("id", ""), kind=fields["event"], data=json.loads(fields["data"]))
            fields = {}


def text_of(events: Iterable[Told], before: str = "") -> str:
    """What a reader shows after these events: pieces appended, a reset in the place of everything."""
    shown = before
    for event in events:
        if event.kind == "text":
            assert event.data["offset"] == len(shown), "a piece twice, or one missing"
            shown += event.data["text"]
        elif event.kind == "reset":
            shown = event.data["text"]
    return shown


@pytest.fixture
def site() -> Iterator[Site]:
    from config.asgi import application

    server = uvicorn.Server(uvicorn.Config(application, port=0, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    wait_until(lambda: server.started)
    yield Site(server.servers[0].sockets[0].getsockname()[1])
    server.should_exit = True
    server.force_exit = True
    thread.join(timeout=60)
    assert not thread.is_alive()


@pytest.fixture
def owner_key(owner: User) -> str:
    """An API key of the owner."""
    return create_api_key(account=owner, name="Test", scopes=ALL_SCOPES)[1]
