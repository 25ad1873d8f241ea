"""What is sent again, when, and how often."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest
from django.utils import timezone

from inference_client.models import Run
from tests.inference_client.upstream import Call, Upstream, Wire

pytestmark = pytest.mark.django_db(transaction=True)

Send = Callable[[Run], Run]
MakeRun = Callable[..., Run]


async def answer_hello(call: Call, wire: Wire) -> None:
    await wire.whole("Hel", "lo")


def test_an_overload_before_the_first_token_is_sent_again_under_the_same_key(
    upstream: Upstream, make_run: MakeRun, send: Send
) -> None:
    async def overloaded(call: Call, wire: Wire) -> None:
        await wire.error(529, "overloaded_error", "Overloaded", retry_after="7")

    upstream.does(overloaded, answer_hello)
    run = send(make_run())
    assert (run.status, run.attempt) == ("queued", 1)
    assert dt.timedelta(seconds=5) < run.next_try_at - timezone.now() <= dt.timedelta(seconds=7)
    assert send(run).status == "queued", "not before the time that the upstream named"
    Run.objects.update(next_try_at=timezone.now())
    run = send(run)
    assert (run.status, run.attempt, run.output) == ("succeeded", 2, "Hello")
    assert [call.headers["idempotency-key"] for call in upstream.calls] == [str(run.pk)] * 2


def test_an_overload_of_a_minute_fails_the_run(upstream: Upstream, make_run: MakeRun, send: Send) -> None:
    async def overloaded(call: Call, wire: Wire) -> None:
        await wire.error(529, "overloaded_error", "Overloaded", retry_after="1")

    upstream.does(overloaded)
    run = make_run()
    for _ in range(12):
        run = send(run)
        Run.objects.filter(status="queued").update(next_try_at=timezone.now())
    assert (run.status, run.error_code) == ("failed", "upstream_overloaded")
    assert len(upstream.calls) == 12


def test_an_overload_that_says_not_to_come_back_fails_at_once(
    upstream: Upstream, make_run: MakeRun, send: Send
) -> None:
    async def starting(call: Call, wire: Wire) -> None:
        details = {"error_code": "capacity_starting"}
        error = {"type": "overloaded_error", "message": "Starting", "details": details}
        await wire.answer(529, {"type": "error", "error": error}, x_should_retry="false")

    upstream.does(starting)
    run = send(make_run())
    assert (run.status, run.error_code, len(upstream.calls)) == ("failed", "upstream_overloaded", 1)
    assert "starting" in run.error_message


def test_a_wait_of_over_a_minute_is_not_waited_for(upstream: Upstream, make_run: MakeRun, send: Send) -> None:
    async def limited(call: Call, wire: Wire) -> None:
        await wire.error(429, "rate_limit_error", "Slow down", retry_after="3600")

    upstream.does(limited)
    run = send(make_run())
    assert (run.status, run.error_code) == ("failed", "rate_limited")


def test_a_connection_closed_before_the_answer_is_tried_again(
    upstream: Upstream, make_run: MakeRun, send: Send
) -> None:
    async def slam(call: Call, wire: Wire) -> None:
        wire.cut()

    upstream.does(slam, answer_hello)
    run = send(make_run())
    assert run.status == "queued"
    Run.objects.update(next_try_at=timezone.now())
    assert send(run).status == "succeeded"
