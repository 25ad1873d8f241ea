"""Stops are looked for once for all runs of a process, and found in time."""

from __future__ import annotations

import threading
import uuid

import pytest
from redis import Redis, RedisError

from inference_client import events
from inference_client.stop_flags import StopFlags


@pytest.fixture
def questions(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many runs each question was about."""
    asked: list[int] = []
    ask = events.cancels_flagged

    def count(run_ids: list[uuid.UUID]) -> frozenset[uuid.UUID]:
        asked.append(len(run_ids))
        return ask(run_ids)

    monkeypatch.setattr(events, "cancels_flagged", count)
    return asked


def test_only_the_run_that_was_flagged_is_to_be_stopped(redis: Redis) -> None:
    del redis
    one, other = uuid.uuid4(), uuid.uuid4()
    flags = StopFlags(0.0)
    with flags.watched(one), flags.watched(other):
        assert not flags.asked(one)
        events.flag_cancel(one)
        assert flags.asked(one)
        assert not flags.asked(other)


def test_thirty_runs_are_one_question(redis: Redis, questions: list[int]) -> None:
    del redis
    flags = StopFlags(60.0)
    runs = [uuid.uuid4() for _ in range(30)]
    everybody = threading.Barrier(30)

    def watch(run: uuid.UUID) -> None:
        with flags.watched(run):
            everybody.wait(60)
            flags.asked(run)
            everybody.wait(60)

    threads = [threading.Thread(target=watch, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert questions == [30]
    assert not flags._watched, "a run that is over is asked about no more"


def test_a_redis_that_is_away_is_asked_by_one_thread_at_a_time_and_not_by_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(run_ids: list[uuid.UUID]) -> frozenset[uuid.UUID]:
        raise RedisError

    monkeypatch.setattr(events, "cancels_flagged", fail)
    flags, run = StopFlags(60.0), uuid.uuid4()
    with flags.watched(run):
        with pytest.raises(RedisError):
            flags.asked(run)
        assert not flags.asked(run), "known no better than before, and not waited for again"
