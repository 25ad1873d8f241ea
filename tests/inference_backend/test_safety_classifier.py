"""The real classifier in its own process: what it refuses, and what happens while it is down."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from inference_backend.engines.protocol import Stopped
from inference_backend.errors import SafetyUnavailableError
from inference_backend.pools.process_worker import ProcessWorker
from inference_backend.safety import service
from inference_backend.safety.stages import Inspection, SafetyStages
from inference_backend.tiers import Tier
from tests.inference_backend.inspecting import CLASSIFIER, TIERS, Answer, ask, stages_for, text_of, words

INSULT = "You are a stupid fucking idiot and everybody hates you"
NICE = "What a lovely day it is, please tell me about the weather"
POLICY = CLASSIFIER + TIERS


async def see(
    stages: SafetyStages, prompt: str, answer: Answer, tier: Tier = "free"
) -> tuple[Inspection, list[object]]:
    inspection = stages.open(ask(prompt), tier=tier)
    await inspection.check_input()
    return inspection, [event async for event in inspection.guard(answer.events())]


def worker_of(stages: SafetyStages) -> "ProcessWorker[object, object]":
    assert stages.pool
    (worker,) = stages.pool._workers.values()
    assert isinstance(worker, ProcessWorker)
    return worker


async def test_everyday_prompts_pass_and_insults_do_not(tmp_path: Path) -> None:
    async with stages_for(tmp_path, POLICY) as stages:
        inspection, events = await see(stages, NICE, Answer(words("It is sunny.")))
        assert (inspection.verdict, text_of(events)) == ("allowed", "It is sunny. ")  # type: ignore[arg-type]
        answer = Answer(words("Never seen."))
        inspection, events = await see(stages, INSULT, answer)
        (stopped,) = events
        assert isinstance(stopped, Stopped)
        assert stopped.refusal
        assert (stopped.reason, stopped.refusal.category) == ("refusal", "toxicity")
        assert inspection.headers["x-safety-verdict"].startswith("refused; policy=")
        assert answer.is_stopped


async def test_one_bad_sentence_in_a_long_prompt_is_found(tmp_path: Path) -> None:
    async with stages_for(tmp_path, POLICY) as stages:
        inspection, _ = await see(stages, f"{NICE}. " * 500 + INSULT + f" {NICE}. " * 500, Answer(()))
        assert inspection.verdict == "refused"


async def test_each_tier_has_its_own_threshold(tmp_path: Path) -> None:
    async with stages_for(tmp_path, CLASSIFIER + "[tiers.free]\nthresholds = { toxicity = 0.5 }\n") as stages:
        mild = "damn bug"  # the classifier's 0.66
        assert (await see(stages, mild, Answer(())))[0].verdict == "refused"
        assert (await see(stages, mild, Answer(()), "pro"))[0].verdict == "allowed"


async def test_the_engine_reads_the_prompt_while_it_is_judged(tmp_path: Path) -> None:
    """The answer has begun before the verdict is there, and none of it is seen."""
    async with stages_for(tmp_path, POLICY) as stages:
        os.kill(worker_of(stages).pid or 0, signal.SIGSTOP)
        answer = Answer(words("An answer."))
        inspection = stages.open(ask(NICE), tier="free")
        reading = asyncio.create_task(anext(inspection.guard(answer.events())))
        await asyncio.sleep(0.1)
        assert not reading.done()
        assert inspection.headers["x-safety-verdict"].startswith("pending")
        os.kill(worker_of(stages).pid or 0, signal.SIGCONT)
        await reading
        assert inspection.verdict == "allowed"


async def test_while_the_classifier_is_down_free_is_closed_and_paid_is_open_and_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "LOST_AFTER_BUDGETS", 1000)
    async with stages_for(tmp_path, POLICY.replace("10000", "200")) as stages:
        os.kill(worker_of(stages).pid or 0, signal.SIGSTOP)
        with pytest.raises(SafetyUnavailableError):
            await see(stages, NICE, Answer(words("Never seen.")))
        inspection, events = await see(stages, NICE, Answer(words("It is sunny.")), "pro")
        assert (inspection.verdict, text_of(events)) == ("unchecked", "It is sunny. ")  # type: ignore[arg-type]


async def test_nobody_waits_for_a_classifier_of_which_no_worker_is_well(tmp_path: Path) -> None:
    """Its budget is 10 s, for the prompt and for each window; it is a matter of moments here."""
    async with stages_for(tmp_path, POLICY, wait=False) as stages, asyncio.timeout(9):
        inspection, events = await see(stages, NICE, Answer(words("One two three. " * 20)), "pro")
        assert (inspection.verdict, len(text_of(events)) > 100) == ("unchecked", True)  # type: ignore[arg-type]
        with pytest.raises(SafetyUnavailableError):
            await see(stages, NICE, Answer(words("Never seen.")))


async def test_the_operator_may_close_paid_tiers_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "LOST_AFTER_BUDGETS", 1000)
    policy = CLASSIFIER.replace("10000", "200") + "[tiers.pro]\nwhen_down = 'closed'\n"
    async with stages_for(tmp_path, policy) as stages:
        os.kill(worker_of(stages).pid or 0, signal.SIGSTOP)
        with pytest.raises(SafetyUnavailableError):
            await see(stages, NICE, Answer(words("Never seen.")), "pro")


async def test_a_classifier_that_was_killed_is_started_again(tmp_path: Path) -> None:
    async with stages_for(tmp_path, POLICY) as stages:
        before = worker_of(stages).pid
        os.kill(before or 0, signal.SIGKILL)
        async with asyncio.timeout(60):
            # Until the new process is there this tier is answered unchecked.
            while (await see(stages, INSULT, Answer(words("x")), "pro"))[0].verdict != "refused":  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert worker_of(stages).pid != before


async def test_verdicts_are_counted_without_the_text(tmp_path: Path) -> None:
    async with stages_for(tmp_path, POLICY) as stages:
        await see(stages, INSULT, Answer(()))
        verdicts = stages.metrics.verdicts
        counted = verdicts.labels(stage="input", verdict="refused", tier="free", category="toxicity")
        assert counted._value.get() == 1
        assert "idiot" not in str(list(verdicts.collect()))
