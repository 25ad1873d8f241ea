"""The simulated engine in real time: its answers can be continued anywhere, its failures look like real ones."""

import asyncio
import dataclasses
from contextlib import aclosing

import pytest

from inference_backend.engines.protocol import EngineEvent, GenerationRequest, Started, Stopped, TextDelta, Turn, Usage
from inference_backend.engines.simulated import SimulatedEngine
from inference_backend.errors import EngineConnectionError, EngineCutError
from inference_backend.settings import SettingsError

FAST = {"speed": 20.0, "slots": 4}
REQUEST = GenerationRequest(
    system="You are terse.", turns=(Turn(role="user", text="Tell me about ships."),), max_tokens=500
)


async def collect(engine: SimulatedEngine, request: GenerationRequest) -> list[EngineEvent]:
    async with aclosing(engine.generate(request)) as events:
        return [event async for event in events]


def text_of(events: list[EngineEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_an_answer_ends_once_and_counts_its_tokens() -> None:
    engine = SimulatedEngine(model="m", options=FAST)
    events = await collect(engine, REQUEST)
    words = text_of(events).split()
    assert events[0] == Started(input_tokens=7)
    assert events[-1] == Stopped(reason="end")
    assert [event.output_tokens for event in events if isinstance(event, Usage)] == list(range(1, len(words) + 1))
    assert await engine.count_tokens(REQUEST) == 7
    assert engine.running == 0
    await engine.aclose()


async def test_the_same_prompt_gets_the_same_answer_on_every_replica() -> None:
    first, second = (SimulatedEngine(model="m", options=FAST) for _ in range(2))
    other = dataclasses.replace(REQUEST, turns=(Turn(role="user", text="Tell me about boats."),))
    one, same, different = await asyncio.gather(
        collect(first, REQUEST), collect(second, REQUEST), collect(second, other)
    )
    assert text_of(one) == text_of(same) != text_of(different)
    await first.aclose()
    await second.aclose()


@pytest.mark.parametrize("written", [1, 7, 15])
async def test_continued_after_any_word_the_answer_is_that_of_an_undisturbed_run(written: int) -> None:
    engine = SimulatedEngine(model="m", options=FAST)
    whole = text_of(await collect(engine, REQUEST))
    beginning = "".join(f" {word}" for word in whole.split()[:written]).lstrip()
    turns = (*REQUEST.turns, Turn(role="assistant", text=beginning))
    rest = text_of(await collect(engine, dataclasses.replace(REQUEST, turns=turns)))
    assert beginning + rest == whole
    await engine.aclose()


async def test_max_tokens_ends_an_answer_as_too_long() -> None:
    engine = SimulatedEngine(model="m", options=FAST)
    events = await collect(engine, dataclasses.replace(REQUEST, max_tokens=3))
    assert len(text_of(events).split()) == 3
    assert events[-1] == Stopped(reason="length")
    await engine.aclose()


async def test_a_caller_who_leaves_frees_the_place() -> None:
    engine = SimulatedEngine(model="m", options={"slots": 1})
    async with aclosing(engine.generate(REQUEST)) as events:
        await anext(events)
        await anext(events)
        assert engine.running == 1
    assert engine.running == 0
    written = engine.generated
    await asyncio.sleep(0.1)
    assert engine.generated <= written + 1
    await engine.aclose()


async def test_a_dead_engine_cuts_its_answers_and_takes_no_more_until_it_is_back() -> None:
    engine = SimulatedEngine(model="m", options={"slots": 2})
    async with aclosing(engine.generate(REQUEST)) as events:
        await anext(events)
        await anext(events)
        engine.die()
        with pytest.raises(EngineCutError):
            async for _ in events:
                pass
    with pytest.raises(EngineConnectionError):
        await engine.check_health()
    engine.revive()
    assert isinstance((await collect(engine, dataclasses.replace(REQUEST, max_tokens=2)))[-1], Stopped)
    await engine.aclose()


async def test_a_hung_engine_says_nothing_and_forgets_its_answers_when_it_comes_back() -> None:
    engine = SimulatedEngine(model="m", options={"slots": 2})
    async with aclosing(engine.generate(REQUEST)) as events:
        await anext(events)
        engine.hang()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await engine.check_health()
        engine.revive()
        with pytest.raises(EngineCutError):
            async for _ in events:
                pass
    await engine.check_health()
    assert engine.running == 0
    await engine.aclose()


@pytest.mark.parametrize(
    "options", [{"slots": 0}, {"slots": True}, {"slots": 1.5}, {"speed": "fast"}, {"colour": "red"}]
)
def test_an_option_that_makes_no_sense_is_named(options: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=next(iter(options))):
        SimulatedEngine(model="m", options=options)
