"""Stopping a run: while it waits, before its first token, in the middle, and too late."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from django.utils import timezone

from inference_client.models import Run
from inference_client.services import claim_run, request_cancel
from tests.inference_client.conftest import told
from tests.inference_client.upstream import Call, Upstream, Wire
from tests.waiting import quickest, wait_until

pytestmark = pytest.mark.django_db(transaction=True)

MakeRun = Callable[..., Run]
Sending = Callable[[Run], AbstractContextManager[None]]


async def talk_on(call: Call, wire: Wire) -> None:
    await wire.begin()
    await wire.start_message()
    await wire.text("So far")
    await wire.until_left()


async def think(call: Call, wire: Wire) -> None:
    await wire.until_left()


def test_a_queued_run_is_cancelled_at_once_and_never_sent(
    upstream: Upstream, make_run: MakeRun, send: Callable[[Run], Run]
) -> None:
    upstream.does(talk_on)
    run = make_run()
    assert request_cancel(run=run).status == "cancelled"
    assert told(run)[-1][1]["status"] == "cancelled"
    assert send(run).status == "cancelled"
    assert upstream.calls == []


def closed_after_s(upstream: Upstream, run: Run, sending: Sending, *, begun: Callable[[], object]) -> float:
    """Seconds from the stop to the closed connection, by the clock of the server."""
    call = len(upstream.calls)
    with sending(run):
        wait_until(lambda: len(upstream.calls) > call and begun())
        asked_at = time.monotonic()
        assert request_cancel(run=run).status == "running"
        wait_until(lambda: upstream.calls[call].left_at)
    return (upstream.calls[call].left_at or float("inf")) - asked_at


def test_a_stop_in_the_middle_closes_the_connection_within_a_second_and_keeps_the_text(
    upstream: Upstream, make_run: MakeRun, sending: Sending
) -> None:
    upstream.does(talk_on)

    def stop() -> float:
        run = make_run()
        took_s = closed_after_s(upstream, run, sending, begun=lambda: any(kind == "text" for kind, _ in told(run)))
        run.refresh_from_db()
        assert (run.status, run.output, run.error_code, run.stop_reason) == ("cancelled", "So far", "", "")
        assert run.cancel_requested_at is not None
        assert told(run)[-1][1]["status"] == "cancelled"
        return took_s

    assert quickest(stop, under_s=1) < 1


def test_a_stop_before_the_first_token_closes_the_connection_within_a_second(
    upstream: Upstream, make_run: MakeRun, sending: Sending
) -> None:
    upstream.does(think)

    def stop() -> float:
        run = make_run()
        took_s = closed_after_s(upstream, run, sending, begun=lambda: True)
        run.refresh_from_db()
        assert (run.status, run.output) == ("cancelled", "")
        return took_s

    assert quickest(stop, under_s=1) < 1


def test_a_stop_reaches_the_worker_without_redis(
    upstream: Upstream, make_run: MakeRun, sending: Sending, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inference_client.relay.RENEW_EVERY_S", 0.3)
    upstream.does(talk_on)
    run = make_run()
    with sending(run):
        wait_until(lambda: any(kind == "text" for kind, _ in told(run)))
        Run.objects.filter(pk=run.pk).update(cancel_requested_at=timezone.now())
        wait_until(lambda: upstream.calls[0].left_at)
    assert Run.objects.get().status == "cancelled"


def test_a_stop_while_waiting_for_a_retry_ends_the_run(
    upstream: Upstream, make_run: MakeRun, send: Callable[[Run], Run]
) -> None:
    async def overloaded(call: Call, wire: Wire) -> None:
        await wire.error(529, "overloaded_error", "Overloaded")

    upstream.does(overloaded)
    run = send(make_run())
    assert run.status == "queued"
    assert request_cancel(run=run).status == "cancelled"


def test_a_stop_that_meets_an_overload_cancels_and_does_not_queue_again(
    upstream: Upstream, make_run: MakeRun, send: Callable[[Run], Run]
) -> None:
    run = make_run()

    async def overloaded(call: Call, wire: Wire) -> None:
        await wire.error(529, "overloaded_error", "Overloaded")

    upstream.does(overloaded)
    Run.objects.update(cancel_requested_at=timezone.now())
    run = send(run)
    assert (run.status, run.error_code) == ("cancelled", "")


def test_a_stop_that_comes_too_late_changes_nothing(
    upstream: Upstream, make_run: MakeRun, send: Callable[[Run], Run]
) -> None:
    async def hello(call: Call, wire: Wire) -> None:
        await wire.whole("Hello")

    upstream.does(hello)
    run = send(make_run())
    assert request_cancel(run=run).status == "succeeded"
    run.refresh_from_db()
    assert run.cancel_requested_at is None


def test_a_second_stop_keeps_the_time_of_the_first(make_run: MakeRun) -> None:
    run = make_run()
    claim_run(run_id=run.pk)
    first = request_cancel(run=run).cancel_requested_at
    assert request_cancel(run=run).cancel_requested_at == first


def test_a_worker_that_lost_its_run_stops_receiving(
    upstream: Upstream, make_run: MakeRun, sending: Sending, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inference_client.relay.RENEW_EVERY_S", 0.3)
    upstream.does(talk_on)
    run = make_run()
    with sending(run):
        wait_until(lambda: any(kind == "text" for kind, _ in told(run)))
        Run.objects.filter(pk=run.pk).update(
            status="failed", error_code="worker_lost", finished_at=timezone.now(), lease_expires_at=None
        )
        wait_until(lambda: upstream.calls[0].left_at)
    run.refresh_from_db()
    assert (run.status, run.error_code) == ("failed", "worker_lost")
