"""A replica that is lost in the middle of an answer: another one goes on, or the caller is told. Never a clean end."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.inference_backend.declared import HEADERS, Declared, in_state, metric, scripted_engines
from tests.inference_backend.running import EMBEDDED_MODEL, EmbeddedEngine
from tests.inference_backend.scripted_engine import (
    DONE,
    MODEL,
    Close,
    End,
    Hang,
    Pause,
    Reset,
    ScriptedEngine,
    Step,
    finish,
    frame,
    text,
    usage,
)
from tests.waiting import wait_until

WORDS = ["The", " quick", " brown", " fox", " jumps", " over", " it", "."]
ANSWER = "".join(WORDS)
GREEDY: dict[str, Any] = {
    "model": MODEL,
    "max_tokens": 50,
    "temperature": 0,
    "stream": True,
    "messages": [{"role": "user", "content": "hi"}],
}
REPLAY = 'inference_failovers_total{way="replay"}'
PREFILL = 'inference_failovers_total{way="prefill"}'
LOSSES: dict[str, list[Step]] = {
    "reset": [Pause(0.05), Reset()],
    "close": [Close()],
    "early end": [End()],
    "hang": [Hang()],
    "garbage": [frame("{not json"), End()],
    "error": [frame({"error": {"code": 500, "message": "lost the device"}}), End()],
}


@pytest.fixture
def engines() -> Iterator[list[ScriptedEngine]]:
    with scripted_engines(2) as running:
        yield running


def declare(path: Path, engines: list[ScriptedEngine], **keys: Any) -> Declared:
    declared = Declared(path / "inference.toml", **keys)
    for number, engine in enumerate(engines):
        declared.add(f"gpu-{number}", engine)
    return declared.write()


def words(*pieces: str, tokens_before: int = 0) -> list[Step]:
    """Counted one by one, as llama.cpp does."""
    steps: list[Step] = []
    for number, piece in enumerate(pieces, 1):
        steps += [text(piece), frame({"choices": [], "timings": {"predicted_n": tokens_before + number}})]
    return steps


def complete(*pieces: str, reason: str = "stop", prompt: int = 5) -> list[Step]:
    return [*words(*pieces), finish(reason), usage(prompt, len(pieces)), DONE, End()]


@dataclass
class Told:
    """What the caller saw of a stream."""

    text: str = ""
    events: list[str] = field(default_factory=list)
    stop_reason: str | None = None
    stop_sequence: str | None = None
    usage: dict[str, int] = field(default_factory=dict)
    error_code: str | None = None
    comments: list[str] = field(default_factory=list, compare=False)


def read(address: str, **changes: Any) -> Told:
    told = Told()
    with httpx2.stream(
        "POST", f"{address}/v1/messages", json=GREEDY | changes, headers=HEADERS, trust_env=False, timeout=60
    ) as response:
        assert response.status_code == 200, response.read()
        for line in response.iter_lines():
            if line.startswith("data: "):
                take(told, json.loads(line.removeprefix("data: ")))
            elif line.startswith(":"):
                told.comments.append(line)
    return told


def take(told: Told, data: dict[str, Any]) -> None:
    told.events.append(data["type"])
    match data:
        case {"type": "message_start", "message": {"usage": counts}}:
            told.usage |= counts
        case {"type": "content_block_delta", "delta": {"text": piece}}:
            told.text += piece
        case {"type": "message_delta", "delta": delta, "usage": counts}:
            told.stop_reason, told.stop_sequence = delta["stop_reason"], delta["stop_sequence"]
            told.usage |= counts
        case {"type": "error", "error": {"details": {"error_code": code}}}:
            told.error_code = code


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())
def test_a_greedy_answer_goes_on_and_reads_like_an_undisturbed_one(
    engines: list[ScriptedEngine], tmp_path: Path, loss: list[Step]
) -> None:
    with declare(tmp_path, engines).served() as address:
        engines[0].play(*complete(*WORDS))
        undisturbed = read(address)
        engines[0].play(*words(*WORDS[:3]), *loss)
        engines[0].play(*complete(*WORDS))
        disturbed = read(address)
        assert disturbed == undisturbed
        assert metric(address, REPLAY) == 1
    assert (undisturbed.comments, disturbed.comments) == ([], [": x-inference-continued: 1; by=replay"])
    assert undisturbed.text == ANSWER
    assert undisturbed.usage["output_tokens"] == len(WORDS)


def test_an_answer_that_is_not_streamed_goes_on_as_well(engines: list[ScriptedEngine], tmp_path: Path) -> None:
    with declare(tmp_path, engines).served() as address:
        engines[0].play(*words(*WORDS[:3]), Reset())
        engines[0].play(*complete(*WORDS))
        response = httpx2.post(
            f"{address}/v1/messages", json=GREEDY | {"stream": False}, headers=HEADERS, trust_env=False
        )
    assert response.json()["content"] == [{"type": "text", "text": ANSWER}]
    assert response.headers["x-inference-continued"] == "1; by=replay"
    assert response.json()["usage"]["output_tokens"] == len(WORDS)


def test_the_next_replica_is_asked_for_the_same_again(engines: list[ScriptedEngine], tmp_path: Path) -> None:
    with declare(tmp_path, engines).served() as address:
        engines[0].play(*words(*WORDS[:3]), Reset())
        engines[0].play(*complete(*WORDS))
        read(address)
    [[first], [second]] = [engine.requests for engine in engines]
    assert first == second


@pytest.mark.parametrize("limit", [{"replay_tokens": 2}, {"replay_s": 0.02}], ids=["by length", "by time"])
def test_a_long_answer_is_continued_from_its_text(
    engines: list[ScriptedEngine], tmp_path: Path, limit: dict[str, Any]
) -> None:
    with declare(tmp_path, engines, **limit).served() as address:
        engines[0].play(*words(*WORDS[:4]), Reset())
        # It is asked to go on after the last but one word, and writes the last one again.
        engines[0].play(*complete(*WORDS[3:], prompt=5 + 3))
        told = read(address)
        assert metric(address, PREFILL) == 1
    assert (told.text, told.stop_reason) == (ANSWER, "end_turn")
    assert told.usage["output_tokens"] == len(WORDS)
    assert told.usage["input_tokens"] == 5, "the text so far is no input of the caller's"
    bodies = [body for engine in engines for body in engine.requests]
    [continued] = [body for body in bodies if body["messages"][-1]["role"] == "assistant"]
    assert continued["messages"][-1]["content"] == "The quick brown"
    assert continued["max_tokens"] == GREEDY["max_tokens"] - 3


def test_a_prefill_of_the_caller_stays_in_front(engines: list[ScriptedEngine], tmp_path: Path) -> None:
    turns = [*GREEDY["messages"], {"role": "assistant", "content": "Once:"}]
    with declare(tmp_path, engines, replay_tokens=0).served() as address:
        engines[0].play(*words(*WORDS[:4]), Reset())
        engines[0].play(*complete(*WORDS[3:]))
        assert read(address, messages=turns).text == ANSWER
    asked = [body["messages"][-1]["content"] for engine in engines for body in engine.requests]
    assert sorted(asked) == ["Once:", "Once:The quick brown"]


def test_a_replica_that_says_something_else_is_asked_to_go_on_from_the_text(
    engines: list[ScriptedEngine], tmp_path: Path
) -> None:
    with declare(tmp_path, engines).served() as address:
        engines[0].play(*words(*WORDS[:4]), Reset())
        engines[0].play(*complete("The", " slow", " snail"))
        engines[0].play(*complete(*WORDS[3:]))
        assert read(address).text == ANSWER
        assert metric(address, PREFILL) == 1


def test_two_seams_that_do_not_fit_end_in_an_error(engines: list[ScriptedEngine], tmp_path: Path) -> None:
    with declare(tmp_path, engines).served() as address:
        engines[0].play(*words(*WORDS[:4]), Reset())
        engines[0].play(*complete("The", " slow", " snail"))
        engines[0].play(*complete(" snail"))
        told = read(address)
    assert (told.text, told.error_code) == ("".join(WORDS[:4]), "replica_lost")
    assert told.events[-1] == "error"


def test_a_stop_sequence_across_the_seam_is_found(engines: list[ScriptedEngine], tmp_path: Path) -> None:
    with declare(tmp_path, engines).served() as address:
        engines[0].play(*words(*WORDS[:4]), Reset())
        engines[0].play(*words(*WORDS), Hang())
        told = read(address, stop_sequences=["fox jumps"])
    assert told.text == "The quick brown "
    assert (told.stop_reason, told.stop_sequence) == ("stop_sequence", "fox jumps")


def test_max_tokens_counts_both_parts(engines: list[ScriptedEngine], tmp_path: Path) -> None:
    with declare(tmp_path, engines, replay_tokens=0).served() as address:
        engines[0].play(*words(*WORDS[:4]), Reset())
        engines[0].play(*complete(*WORDS[3:6], reason="length"))
        told = read(address, max_tokens=6)
    assert (told.text, told.stop_reason) == ("".join(WORDS[:6]), "max_tokens")
    assert told.usage["output_tokens"] == 6


def test_it_goes_on_after_a_second_loss(tmp_path: Path) -> None:
    with scripted_engines(3) as engines, declare(tmp_path, engines).served() as address:
        engines[0].play(*words(*WORDS[:2]), Reset())
        engines[0].play(*words(*WORDS[:5]), Reset())
        engines[0].play(*complete(*WORDS))
        assert read(address).text == ANSWER
        assert [len(engine.requests) for engine in engines] == [1, 1, 1]


def test_an_only_replica_goes_on_once_it_is_verified_again(tmp_path: Path) -> None:
    with scripted_engines(1) as engines, declare(tmp_path, engines).served() as address:
        engines[0].play(*words(*WORDS[:3]), Reset())
        engines[0].play(*complete(*WORDS))
        assert read(address).text == ANSWER


def test_a_replica_that_dies_silently_is_not_waited_for(engines: list[ScriptedEngine], tmp_path: Path) -> None:
    patient = {"connect_s": 1.0, "queue_s": 4.0, "first_token_s": 60.0, "between_tokens_s": 60.0, "total_s": 90.0}
    with declare(tmp_path, engines, timeouts=patient).served() as address:
        engines[0].play(*words(*WORDS[:3]), Hang())
        engines[0].play(*complete(*WORDS))
        for engine in engines:
            # Its health says that it is gone, while the connection of the answer just stays silent.
            engine.when_asked = lambda asked: setattr(asked, "health_status", 503)
        assert read(address).text == ANSWER


@pytest.mark.parametrize(
    "changes",
    [
        {"temperature": 0.7},
        {"temperature": None},
        {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}},
        {"tools": [{"name": "t", "input_schema": {"type": "object"}}], "tool_choice": {"type": "tool", "name": "t"}},
    ],
    ids=["sampled", "sampled by default", "schema", "tool"],
)
def test_what_cannot_be_continued_ends_in_an_error_event(
    engines: list[ScriptedEngine], tmp_path: Path, changes: dict[str, Any]
) -> None:
    with declare(tmp_path, engines).served() as address:
        engines[0].play(*words(*WORDS[:3]), Reset())
        told = read(address, **changes)
    assert told.error_code == "replica_lost"
    assert told.events[-1] == "error"
    assert sorted(len(engine.requests) for engine in engines) == [0, 1]


def test_sampled_answers_go_on_where_the_operator_allows_it(engines: list[ScriptedEngine], tmp_path: Path) -> None:
    with declare(tmp_path, engines, continue_sampled=True).served() as address:
        engines[0].play(*words("The", " end", " "), Reset())
        engines[0].play(*complete(" is", " near"))
        told = read(address, temperature=0.7)
    assert (told.text, told.usage["output_tokens"]) == ("The end is near", 5)
    asked = [body["messages"][-1]["content"] for engine in engines for body in engine.requests]
    assert "The end" in asked, "white space at the end of a message would be lost in some templates"


def test_nobody_of_another_version_goes_on(engines: list[ScriptedEngine], tmp_path: Path) -> None:
    declared = Declared(tmp_path / "inference.toml")
    declared.add("old", engines[0], digest="sha256:old").add("new", engines[1], digest="sha256:new")
    with declared.write().served() as address:
        engines[0].play(*words(*WORDS[:3]), Reset())
        told = read(address)
        assert told.events[-1] == "error"
        wait_until(lambda: in_state(address, "ready") == {"old", "new"})
    assert sorted(len(engine.requests) for engine in engines) == [0, 1]


QUESTIONS = [
    "Write a short story about a fox.",
    "Give me a recipe for pancakes with bullet points.",
    "Say something in French with emoji.",
]


@pytest.mark.model
@pytest.mark.faults
def test_the_real_engine_killed_in_the_middle_of_an_answer_makes_no_difference(tmp_path: Path) -> None:
    processes = {name: EmbeddedEngine() for name in ("left", "right")}
    declared = Declared(
        tmp_path / "inference.toml",
        id=EMBEDDED_MODEL,
        timeouts={"first_token_s": 60.0, "between_tokens_s": 30.0, "total_s": 120.0},
    )
    for name, process in processes.items():
        process.start()
        declared.add(name, process.url)
    try:
        with declared.write().served() as address:
            for question in QUESTIONS:
                asked = {
                    "model": EMBEDDED_MODEL,
                    "max_tokens": 60,
                    "messages": [{"role": "user", "content": question}],
                }
                undisturbed = read(address, **asked)
                disturbed, killed = read_and_kill(address, asked, processes)
                assert disturbed.text == undisturbed.text
                assert disturbed.stop_reason == undisturbed.stop_reason
                assert disturbed.usage == undisturbed.usage
                processes[killed].start()
                wait_until(lambda: in_state(address, "ready") == set(processes))
            assert metric(address, REPLAY) == len(QUESTIONS)
    finally:
        for process in processes.values():
            process.kill()


@pytest.mark.model
@pytest.mark.faults
def test_the_real_engine_goes_on_from_a_text_without_a_seam(tmp_path: Path) -> None:
    processes = {name: EmbeddedEngine() for name in ("left", "right")}
    declared = Declared(
        tmp_path / "inference.toml",
        id=EMBEDDED_MODEL,
        replay_tokens=0,
        timeouts={"first_token_s": 60.0, "between_tokens_s": 30.0, "total_s": 120.0},
    )
    for name, process in processes.items():
        process.start()
        declared.add(name, process.url)
    asked = {"model": EMBEDDED_MODEL, "max_tokens": 60, "messages": [{"role": "user", "content": QUESTIONS[0]}]}
    try:
        with declared.write().served() as address:
            undisturbed = read(address, **asked)
            disturbed, _ = read_and_kill(address, asked, processes)
            assert metric(address, PREFILL) == 1
    finally:
        for process in processes.values():
            process.kill()
    # After the seam it may have other words, see continuation.py; it is one text of the asked length all the same.
    shared = len(undisturbed.text) // 4
    assert disturbed.text[:shared] == undisturbed.text[:shared]
    assert (disturbed.stop_reason, disturbed.usage["output_tokens"]) == ("max_tokens", 60)
    assert disturbed.usage["input_tokens"] == undisturbed.usage["input_tokens"]


def read_and_kill(address: str, asked: dict[str, Any], processes: dict[str, EmbeddedEngine]) -> tuple[Told, str]:
    """Kills whichever engine works on it, after its 20th piece."""
    told, killed, pieces = Told(), "", 0
    with httpx2.stream(
        "POST", f"{address}/v1/messages", json=GREEDY | asked, headers=HEADERS, trust_env=False, timeout=60
    ) as response:
        for line in response.iter_lines():
            if not line.startswith("data: "):
                continue
            take(told, json.loads(line.removeprefix("data: ")))
            pieces += told.events[-1] == "content_block_delta"
            if pieces == 20 and not killed:
                killed = next(name for name, process in processes.items() if process.busy_slots())
                processes[killed].kill()
    return told, killed
