"""503 with the reason as soon as one thing is missing that a run needs, within the time a load balancer waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.test import Client
from pytest_django import Settings

from config import operations, readiness
from config.celery import HEARTBEAT_KEY, HEARTBEAT_TTL_S, beat
from config.readiness import OK, SILENT, Probe, Readiness
from core.redis import client

DEAD = "http://127.0.0.1:1"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def inference(settings: Settings) -> Iterator[Callable[..., list[str]]]:
    """`inference({"/readyz": 200})` answers so on a real socket and lists the requests it got."""
    servers: list[ThreadingHTTPServer] = []

    def serve(answers: dict[str, int | Callable[[str | None, str | None], int]]) -> list[str]:
        seen: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                seen.append(self.path)
                answer = answers.get(self.path, 404)
                if callable(answer):
                    answer = answer(self.headers["x-api-key"], self.headers["Authorization"])
                self.send_response(answer)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args: object) -> None:
                """Tests print nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        settings.INFERENCE_BASE_URL = f"http://127.0.0.1:{server.server_port}"
        settings.INFERENCE_API_KEY = "the-key"
        return seen

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


def test_our_backend_is_asked_whether_it_is_ready(inference: Callable[..., list[str]]) -> None:
    seen = inference({"/readyz": 200})

    assert readiness.ask_inference() == OK
    assert seen == ["/readyz"]


def test_a_backend_that_starts_is_not_ready(inference: Callable[..., list[str]]) -> None:
    inference({"/readyz": 503})

    assert readiness.ask_inference() == "is not ready"


def test_another_server_is_ready_when_it_takes_our_key(inference: Callable[..., list[str]]) -> None:
    inference({"/v1/models": lambda key, bearer: 200 if key == "the-key" and bearer is None else 401})

    assert readiness.ask_inference() == OK


def test_a_server_that_wants_a_bearer_gets_one(inference: Callable[..., list[str]]) -> None:
    inference({"/v1/models": lambda key, bearer: 200 if bearer == "Bearer the-key" else 401})

    assert readiness.ask_inference() == OK


def test_a_refused_key_is_named_and_not_shown(inference: Callable[..., list[str]]) -> None:
    inference({"/v1/models": 401})

    assert readiness.ask_inference() == "INFERENCE_API_KEY is refused"


def test_a_dead_backend_is_silent(settings: Settings) -> None:
    settings.INFERENCE_BASE_URL = DEAD

    assert readiness.ask_inference() == SILENT


@pytest.mark.django_db
def test_the_database_answers() -> None:
    assert readiness.ask_database() == OK


def test_redis_answers_and_a_dead_one_is_silent(settings: Settings) -> None:
    readiness._redis.cache_clear()
    assert readiness.ask_redis() == OK

    readiness._redis.cache_clear()
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    try:
        assert readiness.ask_redis() == SILENT
        assert readiness.ask_worker().startswith("unknown")
    finally:
        readiness._redis.cache_clear()


def test_a_worker_counts_as_long_as_its_heart_beats() -> None:
    client().delete(HEARTBEAT_KEY)
    assert readiness.ask_worker().startswith("no worker is connected")

    beat(client())
    assert readiness.ask_worker() == OK
    assert 0 < client().ttl(HEARTBEAT_KEY) <= HEARTBEAT_TTL_S
    client().delete(HEARTBEAT_KEY)


def test_one_missing_thing_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    probes = [Probe("database", lambda: OK), Probe("worker", lambda: "no worker is connected")]
    monkeypatch.setattr(operations, "readiness", Readiness(probes))

    response = Client().get("/readyz")

    assert response.status_code == 503
    assert response.json() == {
        "ready": False,
        "checks": {"database": "ok", "worker": "no worker is connected"},
    }


def test_all_is_well_when_all_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "readiness", Readiness([Probe("database", lambda: OK)]))

    response = Client().get("/readyz")

    assert response.status_code == 200
    assert response.json() == {"ready": True, "checks": {"database": "ok"}}


def test_one_that_hangs_does_not_hold_the_others_up(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(readiness, "PATIENCE_S", 1)

    def hang() -> str:
        release.wait(60)
        return OK

    asked = Readiness([Probe("storage", hang), Probe("redis", lambda: OK)], good_for_s=0)
    threads = threading.active_count()
    for _ in range(2):
        assert asked.report().checks == {"storage": SILENT, "redis": OK}, "while it still hangs"

    assert threading.active_count() <= threads + 1
    release.set()


def test_probes_are_asked_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "PATIENCE_S", 60)
    meeting = threading.Barrier(3)

    def meet() -> str:
        meeting.wait(60)
        return OK

    assert Readiness([Probe(name, meet) for name in ("a", "b", "c")]).report().ready


def test_a_probe_that_breaks_is_a_reason_and_gives_nothing_away(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> str:
        raise RuntimeError("a secret")

    assert Readiness([Probe("storage", broken)]).report().checks == {"storage": "could not be asked"}
    assert "A readiness probe broke" in caplog.text


def test_many_askers_cost_one_question_a_second() -> None:
    clock, asked = Clock(), []

    def ask() -> str:
        asked.append(1)
        return OK

    watched = Readiness([Probe("redis", ask, clock=clock)], clock=clock)
    for _ in range(10):
        watched.report()
    assert len(asked) == 1

    clock.now += 1
    watched.report()
    assert len(asked) == 2


def test_a_good_answer_may_be_kept_longer_and_a_bad_one_never() -> None:
    clock, answers = Clock(), [SILENT, OK, SILENT]
    probe = Probe("storage", lambda: answers.pop(0), good_for_s=5, clock=clock)
    watched = Readiness([probe], good_for_s=1, clock=clock)

    seen = []
    for _ in range(7):
        seen.append(watched.report().ready)
        clock.now += 1

    assert seen == [False, True, True, True, True, True, False]
