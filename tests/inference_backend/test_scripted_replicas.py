"""The engine whose answers are written in the configuration."""

from contextlib import aclosing
from typing import Any

import pytest

from inference_backend.engines.protocol import EngineEvent, GenerationRequest, Started, Stopped, TextDelta, Turn, Usage
from inference_backend.engines.scripted import ScriptedEngine
from inference_backend.errors import EngineConnectionError, EngineCutError, EngineError, EngineRefusedError
from inference_backend.settings import SettingsError


async def play(prompt: str, *scripts: dict[str, Any], max_tokens: int = 50) -> list[EngineEvent]:
    engine = ScriptedEngine(model="m", options={"scripts": list(scripts)})
    request = GenerationRequest(turns=(Turn(role="user", text=prompt),), max_tokens=max_tokens)
    async with aclosing(engine.generate(request)) as events:
        return [event async for event in events]


def said(events: list[EngineEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_the_first_script_whose_words_are_in_the_prompt_is_played() -> None:
    scripts = ({"when": "bird", "answer": "a robin"}, {"when": "b", "answer": "something"})
    assert said(await play("name a bird", *scripts)) == "a robin"
    assert said(await play("name a bed", *scripts)) == "something"
    assert said(await play("name it", *scripts)) == "Hello there"


async def test_tokens_are_words_and_are_counted() -> None:
    events = await play("one two three", {"answer": "four  words are\nhere"})
    assert events[0] == Started(input_tokens=3)
    assert said(events) == "four  words are\nhere"
    assert events[-2:] == [Usage(output_tokens=4), Stopped(reason="end")]


async def test_max_tokens_cuts_the_answer() -> None:
    events = await play("go", {"answer": "one two three"}, max_tokens=2)
    assert (said(events), events[-1]) == ("one two", Stopped(reason="length"))
    assert (await play("go", {"answer": "one two"}, max_tokens=2))[-1] == Stopped(reason="end")


async def test_counts_may_be_told_wrong_on_purpose() -> None:
    events = await play("go", {"answer": "one two", "input_tokens": 0, "output_tokens": 0})
    assert events[0] == Started(input_tokens=0)
    assert events[-2] == Usage(output_tokens=0)


@pytest.mark.parametrize(
    ("ending", "error"), [("cut", EngineCutError), ("refuse", EngineRefusedError), ("vanish", EngineConnectionError)]
)
async def test_a_script_may_end_in_a_fault(ending: str, error: type[EngineError]) -> None:
    with pytest.raises(error):
        await play("go", {"answer": "one two", "ending": ending, "after_tokens": 1})


@pytest.mark.parametrize(
    "options",
    [
        {"context": 0},
        {"context": True},
        {"scripts": "x"},
        {"scripts": ["x"]},
        {"scripts": [{"ending": "explode"}]},
        {"scripts": [{"token_gap_s": -1}]},
        {"scripts": [{"after_tokens": True}]},
        {"scripts": [{"unheard_of": 1}]},
    ],
)
def test_a_wrong_option_names_its_place(options: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=r"m: (context|scripts)"):
        ScriptedEngine(model="m", options=options)
