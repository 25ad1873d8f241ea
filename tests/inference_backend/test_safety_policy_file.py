"""A policy file that changes while the service runs."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import psutil
import pytest

from inference_backend.safety import policy_file as module
from inference_backend.safety.service import policy_file
from inference_backend.safety.stages import SafetyStages
from tests.inference_backend.inspecting import CLASSIFIER, RULES, Answer, ask, stages_for
from tests.processes import of_each
from tests.waiting import until

ANOTHER_RULE = """
[[rules]]
name = "tulips"
pattern = "tulip"
category = "flowers"
"""


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POLL_S", 0.05)


@contextlib.asynccontextmanager
async def watched(folder: Path, policy: str) -> AsyncIterator[tuple[SafetyStages, Callable[[str], None]]]:
    """The stages, and how to change their file."""
    async with stages_for(folder, policy) as stages:
        path = folder / "safety.toml"
        file = policy_file(path, stages, on_call=lambda *_: None)
        task = asyncio.create_task(file.watch())

        def change(content: str) -> None:
            draft = path.with_suffix(".new")
            draft.write_text(content, encoding="utf-8")
            draft.replace(path)

        try:
            yield stages, change
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def workers() -> list[int]:
    lines = of_each(psutil.Process().children(), lambda child: (child.pid, " ".join(child.cmdline())))
    return [pid for pid, line in lines if "worker_process" in line]


async def refused(stages: SafetyStages, text: str) -> bool:
    events = [event async for event in stages.open(ask(text), tier="free").guard(Answer(["Fine."]).events())]
    return getattr(events[-1], "reason", None) == "refusal"


async def test_a_new_rule_is_in_force_without_a_restart(tmp_path: Path) -> None:
    async with watched(tmp_path, RULES) as (stages, change):
        before = stages.policy.digest
        assert not await refused(stages, "A tulip.")
        change(RULES + ANOTHER_RULE)
        await until(lambda: stages.policy.digest != before)
        assert await refused(stages, "A tulip.")


async def test_a_file_that_is_wrong_keeps_the_old_policy_and_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with watched(tmp_path, RULES + ANOTHER_RULE) as (stages, change):
        before = stages.policy.digest
        with caplog.at_level(logging.WARNING):
            change(RULES + "[[rules]]\nname = 'half'\n")
            await until(lambda: caplog.messages)
            await asyncio.sleep(0.3)
        assert caplog.messages == ["safety policy refused; the old one stays"]
        assert "rules.2" in caplog.records[0].__dict__["reason"]
        assert stages.policy.digest == before
        assert await refused(stages, "A tulip.")


async def test_a_file_that_is_gone_for_a_moment_keeps_the_old_policy(tmp_path: Path) -> None:
    async with watched(tmp_path, RULES + ANOTHER_RULE) as (stages, change):
        before = stages.policy.digest
        (tmp_path / "safety.toml").unlink()
        await asyncio.sleep(0.2)
        assert stages.policy.digest == before
        change(RULES)
        await until(lambda: stages.policy.digest != before)


async def test_an_answer_is_judged_to_its_end_by_the_policy_it_began_with(tmp_path: Path) -> None:
    async with watched(tmp_path, RULES) as (stages, change):
        before = stages.policy.digest
        inspection = stages.open(ask("Tell me of flowers."), tier="free")
        answer = Answer(["This is about gardens and trees. ", "And here is a tulip. ", "That is all of it. "])
        guarded = inspection.guard(answer.events())
        said = [await anext(guarded)]
        change(RULES + ANOTHER_RULE)
        await until(lambda: stages.policy.digest != before)
        said += [event async for event in guarded]
        assert getattr(said[-1], "reason", None) == "end"
        assert before in inspection.headers["x-safety-verdict"]


async def test_the_worker_of_a_classifier_that_stays_is_kept(tmp_path: Path) -> None:
    async with watched(tmp_path, CLASSIFIER) as (stages, change):
        pool, before = stages.pool, stages.policy.digest
        change(CLASSIFIER + RULES)
        await until(lambda: stages.policy.digest != before)
        assert stages.pool is pool
        assert pool is not None
        assert pool.is_ready


async def test_another_classifier_is_ready_before_it_judges_and_the_old_one_ends_with_its_last_answer(
    tmp_path: Path,
) -> None:
    async with watched(tmp_path, CLASSIFIER) as (stages, change):
        old, [worker] = stages.pool, workers()
        guarded = stages.open(ask("Hello."), tier="free").guard(Answer(["One sentence is here. ", "Two. "]).events())
        await anext(guarded)
        change(CLASSIFIER.replace("[classifier]", "[classifier]\nmax_size = 7"))
        await until(lambda: stages.pool is not old)
        assert stages.pool is not None
        assert stages.pool.is_ready
        assert worker in workers(), "an answer still needs it"
        async for _ in guarded:
            pass
        await until(lambda: worker not in workers())
        assert len(workers()) == 1


async def test_where_the_new_classifier_cannot_start_the_old_one_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with watched(tmp_path, CLASSIFIER) as (stages, change):
        pool = stages.pool
        change('[classifier]\nengine = "llama_guard"\nurl = "http://127.0.0.1:1"\napi_key_env = "NO_SUCH_VARIABLE"\n')
        await until(lambda: "safety policy refused; the old one stays" in caplog.messages)
        assert stages.pool is pool
