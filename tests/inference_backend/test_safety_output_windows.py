"""Answers are looked at while they stream: nothing of a refused window leaves, and the rest leaves soon."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from inference_backend.engines.protocol import EngineEvent, Started, Stopped, TextDelta, ToolJson
from inference_backend.errors import EngineCutError, SafetyUnavailableError
from inference_backend.pools.process_worker import ProcessWorker
from inference_backend.safety.metrics import SafetyMetrics
from inference_backend.safety.pieces import split_text
from inference_backend.safety.policy import Policy
from inference_backend.safety.stages import SafetyStages
from inference_backend.safety.windows import SHORTEST_SENTENCE, HeldBack
from tests.inference_backend.inspecting import CLASSIFIER, RULES, TIERS, Answer, ask, stages_for, text_of, words

GOOD = "This is a perfectly ordinary sentence about gardens. "
BAD = "You are a stupid fucking idiot and everybody hates you. "


async def test_nothing_of_a_refused_window_leaves_and_the_engine_is_stopped(tmp_path: Path) -> None:
    async with stages_for(tmp_path, CLASSIFIER + TIERS) as stages:
        answer = Answer([*words(GOOD.strip()), *words(BAD.strip()), *words(GOOD * 20)])
        inspection = stages.open(ask("Tell me about gardens"), tier="free")
        await inspection.check_input()
        events = [event async for event in inspection.guard(answer.events())]
        stopped = events[-1]
        assert isinstance(stopped, Stopped)
        assert stopped.refusal
        assert (stopped.reason, stopped.refusal.category) == ("refusal", "toxicity")
        assert text_of(events) == GOOD
        assert answer.is_stopped
        assert answer.given < 30
        assert inspection.verdict == "refused"


async def test_an_answer_that_is_fine_arrives_whole_and_in_its_pieces(tmp_path: Path) -> None:
    async with stages_for(tmp_path, CLASSIFIER + TIERS + RULES) as stages:
        pieces = words(GOOD * 5 + "And the last one has no end")
        inspection = stages.open(ask("Tell me about gardens"), tier="free")
        await inspection.check_input()
        events = [event async for event in inspection.guard(Answer(pieces).events())]
        assert [event.text for event in events if isinstance(event, TextDelta)] == pieces
        assert events[-1] == Stopped(reason="end")


async def test_a_rule_finds_what_two_windows_share(tmp_path: Path) -> None:
    policy = RULES + "[windows]\ntarget_chars = 30\noverlap_chars = 60\n"
    async with stages_for(tmp_path, policy) as stages:
        answer = Answer(["The key begins like this. ----", "-BEGIN RSA PRIVATE KEY-----", " and goes on."])
        inspection = stages.open(ask("a"), tier="pro")
        await inspection.check_input()
        events = [event async for event in inspection.guard(answer.events())]
        assert isinstance(events[-1], Stopped)
        assert events[-1].reason == "refusal"
        assert "PRIVATE" not in text_of(events)


async def test_arguments_of_a_tool_are_looked_at_too(tmp_path: Path) -> None:
    async with stages_for(tmp_path, RULES) as stages:

        async def events() -> AsyncGenerator[EngineEvent]:
            yield ToolJson(name="say", json='{"word": ')
            yield ToolJson(name="say", json='"XYZZY"}')
            yield Stopped(reason="tool")

        inspection = stages.open(ask("a"), tier="pro")
        await inspection.check_input()
        (stopped,) = [event async for event in inspection.guard(events())]
        assert isinstance(stopped, Stopped)
        assert stopped.reason == "refusal"


async def test_what_was_said_before_a_failure_still_arrives(tmp_path: Path) -> None:
    async with stages_for(tmp_path, RULES) as stages:
        answer = Answer(["Half a sent"], failure=EngineCutError("cut"))
        inspection = stages.open(ask("a"), tier="pro")
        await inspection.check_input()
        guarded = inspection.guard(answer.events())
        assert isinstance(await anext(guarded), Started)
        assert await anext(guarded) == TextDelta(text="Half a sent")
        with pytest.raises(EngineCutError):
            await anext(guarded)


async def test_an_answer_whose_judge_dies_in_the_middle_ends_where_it_was_judged(tmp_path: Path) -> None:
    """For a tier that is closed; nothing that nobody looked at leaves."""
    async with stages_for(tmp_path, CLASSIFIER.replace("10000", "3000") + TIERS) as stages:
        inspection = stages.open(ask("Tell me about gardens"), tier="free")
        guarded = inspection.guard(Answer(words(GOOD * 10)).events())
        seen = [await anext(guarded) for _ in range(1 + len(words(GOOD.strip())))]
        assert text_of(seen) == GOOD
        assert stages.pool
        for worker in stages.pool._workers.values():
            assert isinstance(worker, ProcessWorker)
            os.kill(worker.pid or 0, signal.SIGSTOP)
        with pytest.raises(SafetyUnavailableError):
            await anext(guarded)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from(["xyz", "zy", "XYZZY", " ", "x", "word. ", "yzzy", "other ", "\n"]), max_size=60))
def test_a_forbidden_word_never_leaves_however_the_answer_is_cut(pieces: list[str]) -> None:
    async def play() -> tuple[str, object]:
        policy = "[[rules]]\nname = 'r'\npattern = '(?i)xyzzy'\ncategory = 'c'\non = ['output']\n"
        stages = SafetyStages(Policy(policy.encode()), pool=None, metrics=SafetyMetrics(CollectorRegistry()))
        inspection = stages.open(ask("a"), tier="free")
        events = [event async for event in inspection.guard(Answer(pieces).events())]
        return text_of(events), events[-1]

    said, whole = asyncio.run(play())[0], "".join(pieces)
    if "xyzzy" in whole.lower():
        assert "xyzzy" not in said.lower()
        assert whole.startswith(said)
    else:
        assert said == whole


async def test_leaving_in_the_middle_stops_the_engine(tmp_path: Path) -> None:
    async with stages_for(tmp_path, RULES) as stages:
        answer = Answer(words(GOOD * 50))
        inspection = stages.open(ask("a"), tier="pro")
        await inspection.check_input()
        guarded = inspection.guard(answer.events())
        async for event in guarded:
            if isinstance(event, TextDelta):
                break
        await guarded.aclose()
        assert answer.is_stopped


@given(st.lists(st.text(max_size=40), max_size=60), st.integers(20, 400))
def test_little_is_held_back_and_nothing_is_lost(pieces: list[str], target: int) -> None:
    held, released = HeldBack(target=target), list[str]()
    for piece in pieces:
        held.add(TextDelta(text=piece))
        assert len(held.text) < 2 * target + 40
        if held.is_due:
            released += [event.text for event in held.take() if isinstance(event, TextDelta)]
    released += [event.text for event in held.take() if isinstance(event, TextDelta)]
    assert released == pieces


@pytest.mark.parametrize(
    "sentence",
    [
        "This is the end of a line\n",
        'He said "this is enough now."',
        "これで十分に長い文章だと思いますので、ここで終わりにします。",
    ],
)
def test_the_end_of_a_sentence_is_worth_a_look(sentence: str) -> None:
    held = HeldBack(target=400)
    assert len(sentence) >= SHORTEST_SENTENCE
    for character in sentence[:-1]:
        held.add(TextDelta(text=character))
    held.add(TextDelta(text=sentence[-1]))
    assert held.is_due


@given(st.text(alphabet=st.sampled_from("ab \n"), max_size=3000), st.integers(20, 500))
def test_every_character_is_in_some_piece(text: str, size: int) -> None:
    pieces = split_text(text, size=size)
    assert all(0 < len(piece) <= size for piece in pieces)
    assert "".join(text.split()) == "" or pieces
    position = 0
    for piece in pieces:
        found = text.find(piece, max(0, position - size))
        assert found >= 0
        assert not text[position:found].strip()
        position = found + len(piece)
    assert not text[position:].strip()
