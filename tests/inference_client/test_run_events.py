"""Following a run by server-sent events, over a real server: nothing lost, nothing twice, and always an end."""

from __future__ import annotations

import asyncio
import datetime as dt
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import httpx2
import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.utils import timezone
from redis import Redis

from accounts.models import User
from accounts.services import ALL_SCOPES, create_api_key
from inference_client.events import events_key, text_key
from inference_client.models import Run, RunStatus
from inference_client.outcomes import Ending
from inference_client.services import claim_run, fail_lost_runs, finish_run, request_cancel
from inference_client.streaming import MOST_STREAMS
from tests.inference_client.conftest import Site, Told, text_of, told
from tests.inference_client.upstream import Call, Pausing, Upstream, Wire
from tests.waiting import quickest, wait_until

pytestmark = pytest.mark.django_db(transaction=True)

MakeRun = Callable[..., Run]
Send = Callable[[Run], Run]
Sending = Callable[[Run], AbstractContextManager[None]]

WORDS = [f"{number} é🙂 " for number in range(40)]
WHOLE = "".join(WORDS)


async def speak_slowly(call: Call, wire: Wire) -> None:
    await wire.begin()
    await wire.start_message()
    for word in WORDS:
        await wire.text(word)
        await asyncio.sleep(0.05)
    await wire.stop_message()


def take(events: Any, count: int) -> list[Told]:
    return [next(events) for _ in range(count)]


def test_a_reader_of_a_running_run_sees_the_text_while_it_arrives(
    site: Site, upstream: Upstream, make_run: MakeRun, sending: Sending, owner_key: str
) -> None:
    script = Pausing("first ", "second")
    upstream.does(script)
    run = make_run()
    with site.following(run, owner_key) as events:
        assert next(events) == Told(id="", kind="status", data={"status": "queued"})
        with sending(run):
            assert next(events).data == {"status": "running"}
            assert next(events).data == {"offset": 0, "text": "first "}
            assert Run.objects.get().status == "running"
            script.go_on()
            assert next(events).data == {"offset": 6, "text": "second"}
            done = next(events)
    assert done.kind == "done"
    assert done.data["status"] == "succeeded"
    assert done.data["stop_reason"] == "end_turn"
    assert done.data["error"] is None
    assert done.data["usage"] == {"input_tokens": 7, "output_tokens": 5}
    assert done.data["ttft_ms"] >= 0


def test_the_answer_is_an_unbuffered_uncached_event_stream(site: Site, make_run: MakeRun, owner_key: str) -> None:
    run = request_cancel(run=make_run())
    answer = httpx2.get(f"{site.url}/api/v1/runs/{run.pk}/events", headers={"Authorization": f"Bearer {owner_key}"})
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-accel-buffering"] == "no"


def test_a_reader_who_comes_late_is_told_everything(
    site: Site, upstream: Upstream, make_run: MakeRun, send: Send, owner_key: str
) -> None:
    upstream.does(speak_slowly)
    run = send(make_run())
    events = site.follow(run, owner_key)
    assert text_of(events) == WHOLE
    assert [event.kind for event in events].count("done") == 1
    assert "reset" not in [event.kind for event in events]


def test_two_readers_are_told_the_same(
    site: Site, upstream: Upstream, make_run: MakeRun, sending: Sending, owner_key: str
) -> None:
    upstream.does(speak_slowly)
    run = make_run()
    seen: list[list[Told]] = []
    readers = [threading.Thread(target=lambda: seen.append(site.follow(run, owner_key))) for _ in range(2)]
    with sending(run):
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(timeout=60)
    assert [text_of(events) for events in seen] == [WHOLE, WHOLE]


def test_a_reader_who_reconnects_all_the_time_gets_every_token_once(
    site: Site, upstream: Upstream, make_run: MakeRun, sending: Sending, owner_key: str
) -> None:
    upstream.does(speak_slowly)
    run = make_run()
    shown, last, kinds = "", None, []
    with sending(run):
        while "done" not in kinds:
            with site.following(run, owner_key, last) as events:
                for event in (event for _, event in zip(range(4), events, strict=False)):
                    shown = text_of([event], shown)
                    kinds.append(event.kind)
                    last = event.id or last
    assert shown == WHOLE
    assert "reset" not in kinds
    assert len(kinds) > 20


def test_a_reader_may_name_the_last_event_in_the_query(
    site: Site, upstream: Upstream, make_run: MakeRun, send: Send, owner_key: str
) -> None:
    upstream.does(speak_slowly)
    run = send(make_run())
    events = site.follow(run, owner_key)
    place = 10
    url = f"{site.url}/api/v1/runs/{run.pk}/events?last_event_id={events[place].id}"
    answer = httpx2.get(url, headers={"Authorization": f"Bearer {owner_key}"})
    assert events[place].id not in answer.text
    assert answer.text.count("event: text") == len(events) - place - 2


@pytest.mark.parametrize("last", ["1-1", "99999999999999-0"])
def test_a_place_that_is_not_in_the_stream_is_answered_by_a_reset(
    site: Site, upstream: Upstream, make_run: MakeRun, send: Send, owner_key: str, last: str
) -> None:
    upstream.does(speak_slowly)
    events = site.follow(send(make_run()), owner_key, last)
    assert [event.kind for event in events] == ["status", "reset", "status", "done"]
    assert text_of(events, "what the reader had") == WHOLE


def test_a_place_that_is_no_event_id_starts_from_the_beginning(
    site: Site, upstream: Upstream, make_run: MakeRun, send: Send, owner_key: str
) -> None:
    upstream.does(speak_slowly)
    assert text_of(site.follow(send(make_run()), owner_key, "; drop table")) == WHOLE


def test_a_reader_behind_the_trimmed_part_is_told_the_whole_text(
    site: Site, upstream: Upstream, make_run: MakeRun, send: Send, owner_key: str, redis: Redis
) -> None:
    upstream.does(speak_slowly)
    run = send(make_run())
    redis.xtrim(events_key(run.pk), maxlen=5, approximate=False)
    events = site.follow(run, owner_key)
    assert "reset" in [event.kind for event in events]
    assert text_of(events) == WHOLE


def test_an_expired_stream_is_told_from_the_database(
    site: Site, upstream: Upstream, make_run: MakeRun, send: Send, owner_key: str, redis: Redis
) -> None:
    upstream.does(speak_slowly)
    run = send(make_run())
    redis.delete(events_key(run.pk), text_key(run.pk))

    def follow() -> float:
        asked_at = time.monotonic()
        events = site.follow(run, owner_key, "1-1")
        took_s = time.monotonic() - asked_at
        assert [event.kind for event in events[-2:]] == ["reset", "done"]
        assert text_of(events) == WHOLE
        return took_s

    assert quickest(follow, under_s=1.5) < 1.5


def test_a_nul_and_line_ends_arrive_as_they_are(
    site: Site, upstream: Upstream, make_run: MakeRun, send: Send, owner_key: str
) -> None:
    text = "a\x00b\r\n\n: x\ndata: y\u2028"

    async def script(call: Call, wire: Wire) -> None:
        await wire.whole(text)

    upstream.does(script)
    assert text_of(site.follow(send(make_run()), owner_key)) == text


def test_an_end_that_redis_was_never_told_reaches_the_reader_within_two_seconds(
    site: Site, make_run: MakeRun, owner_key: str, redis: Redis
) -> None:
    def end() -> float:
        run = make_run()
        claim_run(run_id=run.pk)
        with site.following(run, owner_key) as events:
            assert take(events, 2)[1].data == {"status": "running"}
            Run.objects.filter(pk=run.pk).update(
                status="failed",
                error_code="worker_lost",
                finished_at=timezone.now(),
                lease_expires_at=None,
                output_json='"partial"',
            )
            ended_at = time.monotonic()
            rest = list(events)
        assert [event.kind for event in rest] == ["reset", "done"]
        assert text_of(rest) == "partial"
        assert rest[-1].data["error"]["code"] == "worker_lost"
        return time.monotonic() - ended_at

    assert quickest(end, under_s=3) < 3


def test_a_run_that_the_sweep_ends_ends_for_its_reader(
    site: Site, make_run: MakeRun, owner_key: str, redis: Redis
) -> None:
    run = make_run()
    claim_run(run_id=run.pk)
    with site.following(run, owner_key) as events:
        take(events, 2)
        fail_lost_runs(now=timezone.now() + dt.timedelta(seconds=16))
        assert next(events).data["status"] == "failed"


def test_a_redis_that_lost_everything_in_the_middle_costs_the_reader_nothing(
    site: Site, upstream: Upstream, make_run: MakeRun, sending: Sending, owner_key: str, redis: Redis
) -> None:
    script = Pausing("before ", "after", " end")
    upstream.does(script)
    run = make_run()
    with site.following(run, owner_key) as events, sending(run):
        before = take(events, 3)
        redis.delete(events_key(run.pk), text_key(run.pk))
        script.go_on()
        script.go_on()
        rest = list(events)
    assert text_of(rest, text_of(before)) == "before after end"
    assert text_of(site.follow(run, owner_key)) == "before after end"


def test_a_reader_who_leaves_frees_its_connection_and_its_slot(
    site: Site, make_run: MakeRun, owner_key: str, redis: Redis
) -> None:
    run = make_run()
    claim_run(run_id=run.pk)
    database = str(redis.get_connection_kwargs()["db"])

    def reading() -> int:
        return sum("b" in each["flags"] and each["db"] == database for each in redis.client_list())

    with site.following(run, owner_key) as events:
        take(events, 2)
        assert redis.zcard(f"run-streams:{run.account_id}") == 1
        wait_until(lambda: reading() == 1)
    wait_until(lambda: redis.zcard(f"run-streams:{run.account_id}") == 0)
    wait_until(lambda: reading() == 0)


def test_a_browser_follows_with_its_session(
    site: Site, upstream: Upstream, make_run: MakeRun, send: Send, owner_browser: Client
) -> None:
    upstream.does(speak_slowly)
    run = send(make_run())
    cookie = f"{settings.SESSION_COOKIE_NAME}={owner_browser.cookies[settings.SESSION_COOKIE_NAME].value}"
    headers = {"Cookie": cookie, "Accept": "text/event-stream"}
    answer = httpx2.get(f"{site.url}/api/v1/runs/{run.pk}/events", headers=headers)
    assert answer.status_code == 200
    assert answer.text.count("event: done") == 1


def test_one_account_holds_a_bounded_number_of_streams(
    site: Site, make_run: MakeRun, owner_key: str, stranger: User, redis: Redis
) -> None:
    run = make_run()
    now = time.time()
    redis.zadd(f"run-streams:{run.account_id}", {f"dead-{n}": now - 1 for n in range(50)})
    redis.zadd(f"run-streams:{run.account_id}", {f"open-{n}": now + 30 for n in range(MOST_STREAMS - 1)})
    url = f"{site.url}/api/v1/runs/{run.pk}/events"
    headers = {"Authorization": f"Bearer {owner_key}"}
    with site.following(run, owner_key) as events:
        next(events)
        refused = httpx2.get(url, headers=headers)
        assert refused.status_code == 429
        assert refused.json()["error"]["code"] == "rate_limited"
        assert refused.headers["retry-after"]
        other = make_run(account=stranger)
        key = create_api_key(account=stranger, name="Test", scopes=ALL_SCOPES)[1]
        with site.following(other, key) as others:
            assert next(others).kind == "status"


def test_open_streams_hold_no_database_connection(site: Site, make_run: MakeRun, owner_key: str) -> None:
    run = make_run()
    claim_run(run_id=run.pk)
    with connection.cursor() as cursor:

        def connections_in_use() -> int:
            cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
            return int(cursor.fetchone()[0])

        opened = []
        for _ in range(10):
            follower = site.following(run, owner_key)
            events = follower.__enter__()
            next(events)
            opened.append(follower)
        pool: Any = connection.pool  # type: ignore[attr-defined]  # PostgreSQL's wrapper has one
        assert pool.get_stats().get("pool_size", 0) - pool.get_stats().get("pool_available", 0) <= 2
        assert connections_in_use() < 10
        for follower in opened:
            follower.__exit__(None, None, None)


def test_a_quiet_stream_is_kept_alive(
    site: Site, make_run: MakeRun, owner_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inference_client.streaming.KEEP_ALIVE_S", 0.2)
    run = make_run()
    headers = {"Authorization": f"Bearer {owner_key}"}
    with httpx2.stream("GET", f"{site.url}/api/v1/runs/{run.pk}/events", headers=headers, timeout=60) as response:
        lines = response.iter_lines()
        assert ": keep-alive" in [next(lines) for _ in range(8)]


def test_a_reader_whose_account_is_switched_off_is_told_no_more(
    site: Site, make_run: MakeRun, owner_key: str, owner: User
) -> None:
    run = make_run()
    with site.following(run, owner_key) as events:
        next(events)
        User.objects.filter(pk=owner.pk).update(is_active=False)
        assert list(events) == []


def test_a_stranger_an_unknown_id_and_a_signed_out_person_follow_nothing(
    site: Site, make_run: MakeRun, stranger: User
) -> None:
    run = make_run()
    key = create_api_key(account=stranger, name="Test", scopes=ALL_SCOPES)[1]
    mine = {"Authorization": f"Bearer {key}", "Accept": "text/event-stream"}
    foreign = httpx2.get(f"{site.url}/api/v1/runs/{run.pk}/events", headers=mine)
    absent = httpx2.get(f"{site.url}/api/v1/runs/00000000-0000-7000-8000-000000000000/events", headers=mine)
    assert (foreign.status_code, absent.status_code) == (404, 404)
    assert foreign.json()["error"] == absent.json()["error"]
    assert httpx2.get(f"{site.url}/api/v1/runs/{run.pk}/events").status_code == 401
    assert httpx2.post(f"{site.url}/api/v1/runs/{run.pk}/events", headers=mine).status_code == 405


def test_the_last_word_is_the_row_when_redis_says_less(
    site: Site, make_run: MakeRun, owner_key: str, redis: Redis
) -> None:
    run = make_run()
    claimed = claim_run(run_id=run.pk)
    assert claimed is not None
    finish_run(run=claimed, ending=Ending(status=RunStatus.SUCCEEDED, output="all of it", stop_reason="end_turn"))
    newest: Any = redis.xrevrange(events_key(run.pk), count=1)
    redis.xdel(events_key(run.pk), newest[0][0])
    events = site.follow(run, owner_key)
    assert text_of(events) == "all of it"
    assert told(run)[-1][0] == "status"
