"""Workers that are processes: killed, stopped, failing, and left behind by whoever started them."""

import asyncio
import contextlib
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from inference_backend.errors import EngineConnectionError, EngineFailedError
from inference_backend.pools.batch_pool import BatchPool
from inference_backend.pools.process_worker import ProcessWorker
from inference_backend.pools.submission import Ticket
from inference_backend.scheduling.batch import BatchScheduler
from tests.waiting import until

MODEL = "tests.inference_backend.journal_model:Journal"
Worker = ProcessWorker[str, str]


def worker(folder: Path, target: str = MODEL) -> Worker:
    return ProcessWorker(target, golden=f"{folder / 'golden'}|golden", read=str)


@contextlib.asynccontextmanager
async def running(*workers: Worker) -> AsyncIterator[BatchPool[str, str]]:
    scheduler: BatchScheduler[Ticket[str, str]] = BatchScheduler(
        max_size=20, call_s=0.4, watchdog_factor=100, gate=None
    )
    pool = BatchPool(scheduler, {str(number): one for number, one in enumerate(workers)}, watchdog_s=40)
    pool.start()
    try:
        await until(lambda: pool.snapshot().healthy == len(workers))
        yield pool
    finally:
        await pool.aclose()


async def test_a_worker_killed_in_the_middle_of_a_call_costs_no_answer_and_repeats_none(tmp_path: Path) -> None:
    first, second = worker(tmp_path), worker(tmp_path)
    journal = tmp_path / "journal"
    async with running(first, second) as pool:
        words = [f"word{number}" for number in range(40)]
        asked = [pool.submit(f"{journal}|{word}", tier="pro", deadline_s=60) for word in words]
        waiting = asyncio.gather(*asked)
        # It has begun a call, and cannot come to the end of it.
        os.kill(first.pid or 0, signal.SIGSTOP)
        await until(lambda: pool.snapshot().in_flight == len(words))
        os.kill(first.pid or 0, signal.SIGKILL)
        assert await waiting == [word.upper() for word in words]
        assert Counter(journal.read_text(encoding="utf-8").split()) == Counter(words)
        state = pool.snapshot()
        assert (state.completed, state.given_up, state.cancelled) == (40, 0, 0)


async def test_one_failing_input_fails_alone_and_its_text_is_not_told(tmp_path: Path) -> None:
    async with running(worker(tmp_path)) as pool:
        words = ["a", "raise", "b"]
        answers = await asyncio.gather(
            *(pool.submit(f"{tmp_path / 'journal'}|{word}", tier="pro", deadline_s=60) for word in words),
            return_exceptions=True,
        )
        assert answers[::2] == ["A", "B"]
        assert isinstance(answers[1], Exception)
        assert "must not be told" not in str(answers[1].__cause__)


async def test_a_call_on_a_killed_process_fails_and_the_next_probe_starts_another(tmp_path: Path) -> None:
    one = worker(tmp_path)
    await one.probe()
    before = one.pid
    os.kill(before or 0, signal.SIGSTOP)
    calling = asyncio.create_task(one.call([f"{tmp_path / 'journal'}|x"]))
    await asyncio.sleep(0.1)
    os.kill(before or 0, signal.SIGKILL)
    with pytest.raises(EngineConnectionError):
        await calling
    await one.probe()
    assert one.pid != before
    await one.aclose()


async def test_a_cancelled_call_leaves_no_answer_behind_for_the_next_one(tmp_path: Path) -> None:
    one = worker(tmp_path)
    await one.probe()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.05):
            await one.call([f"{tmp_path / 'journal'}|first"])
    assert await one.call([f"{tmp_path / 'journal'}|second"]) == ["SECOND"]
    await one.aclose()


async def test_a_process_that_cannot_start_says_why(tmp_path: Path) -> None:
    one = worker(tmp_path, "tests.inference_backend.journal_model:Unable")
    with pytest.raises(EngineFailedError, match="a package is missing"):
        await one.probe()
    await one.aclose()


async def test_the_process_gets_none_of_the_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFERENCE_SERVICE_KEY", "secret")
    one = worker(tmp_path)
    await one.probe()
    assert "PATH" in one.about["variables"]
    assert "INFERENCE_SERVICE_KEY" not in one.about["variables"]
    await one.aclose()


async def test_the_process_ends_with_whoever_started_it(tmp_path: Path) -> None:
    """Only the socket closes, as it does when the service is killed."""
    one = worker(tmp_path)
    await one.probe()
    process = psutil.Process(one.pid)
    assert one._streams
    one._streams[1].close()
    await asyncio.to_thread(process.wait, 20)
    await one.aclose()
