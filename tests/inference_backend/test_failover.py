"""A replica that is lost before the caller saw anything is replaced, and nobody can tell."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest

from inference_backend import prompt_size
from tests.inference_backend.conftest import sdk
from tests.inference_backend.declared import HEADERS, Declared, in_state, metric, replicas, scripted_engines
from tests.inference_backend.scripted_engine import (
    MODEL,
    Close,
    End,
    Hang,
    Mute,
    Pause,
    Refuse,
    Reset,
    ScriptedEngine,
    Send,
    Vanish,
    frame,
    whole,
)
from tests.waiting import wait_until

GOOD: dict[str, Any] = {"model": MODEL, "max_tokens": 50, "messages": [{"role": "user", "content": "hi"}]}
REPLACED = 'inference_failovers_total{way="replaced"}'


@pytest.fixture
def engines() -> Iterator[list[ScriptedEngine]]:
    with scripted_engines(2) as running:
        yield running


@pytest.fixture
def address(engines: list[ScriptedEngine], tmp_path: Path) -> Iterator[str]:
    declared = Declared(tmp_path / "inference.toml")
    for number, engine in enumerate(engines):
        declared.add(f"gpu-{number}", engine)
    with declared.write().served() as running:
        yield running


def create(address: str) -> str:
    with sdk(address) as client:
        message: anthropic.types.Message = client.messages.create(**GOOD)
        [block] = message.content
        assert block.type == "text"
        return block.text


def asked(engines: list[ScriptedEngine]) -> list[int]:
    return sorted(len(engine.requests) for engine in engines)


@pytest.mark.parametrize(
    "fault",
    [
        [Vanish()],
        [Pause(0.05), Reset()],
        [Send(b": hello\n\n"), Close()],
        [End()],
        [frame("{not json"), End()],
        [Refuse(503, "busy")],
        [Refuse(500, "boom")],
        [frame({"error": {"code": 500, "message": "out of memory"}}), End()],
        [Mute()],
        [Hang()],
    ],
    ids=["vanish", "reset", "close", "empty", "garbage", "busy", "status 500", "error frame", "mute", "hang"],
)
def test_a_replica_lost_before_the_first_token_is_replaced_by_another(
    engines: list[ScriptedEngine], address: str, fault: list[Any]
) -> None:
    engines[0].play(*fault)
    engines[0].play(*whole("from another"))
    assert create(address) == "from another"
    assert asked(engines) == [1, 1], "the second try goes to the other replica"
    assert metric(address, REPLACED) == 1


def test_it_is_replaced_in_a_stream_as_well(engines: list[ScriptedEngine], address: str) -> None:
    engines[0].play(Vanish())
    engines[0].play(*whole("from another"))
    with sdk(address) as client, client.messages.stream(**GOOD) as stream:
        assert "".join(stream.text_stream) == "from another"
    assert asked(engines) == [1, 1]


def test_a_second_loss_is_told_and_not_tried_for_ever(engines: list[ScriptedEngine], address: str) -> None:
    engines[0].play(Vanish())
    engines[0].play(Vanish())
    with pytest.raises(anthropic.InternalServerError) as raised:
        create(address)
    assert (raised.value.status_code, raised.value.type) == (529, "overloaded_error")
    assert asked(engines) == [1, 1]


def test_a_failure_of_all_replicas_keeps_its_status(engines: list[ScriptedEngine], address: str) -> None:
    engines[0].play(Refuse(500, "boom"))
    engines[0].play(Refuse(500, "boom"))
    with pytest.raises(anthropic.InternalServerError) as raised:
        create(address)
    assert (raised.value.status_code, raised.value.type) == (500, "api_error")


def test_a_refused_request_is_not_carried_round(engines: list[ScriptedEngine], address: str) -> None:
    engines[0].play(Refuse(400, '{"error": {"code": 400, "message": "bad grammar"}}'))
    with pytest.raises(anthropic.BadRequestError):
        create(address)
    assert asked(engines) == [0, 1]
    assert in_state(address, "ready") == {"gpu-0", "gpu-1"}


def test_a_suspect_replica_gets_no_traffic_before_it_is_verified_again(
    engines: list[ScriptedEngine], address: str
) -> None:
    for engine in engines:
        engine.golden_answer = [Refuse(500)]
    engines[0].play(Vanish())
    engines[0].play(*whole("fine"))
    assert create(address) == "fine"
    [lost] = wait_for_one(address, "suspect")
    assert "status 500" in replicas(address)[lost]["reason"]
    for _ in range(6):
        assert create(address) == "Hello there"
    first_asked = engines[int(lost.removeprefix("gpu-"))]
    assert len(first_asked.requests) == 1, "only the request that lost it"
    for engine in engines:
        engine.golden_answer = whole("Paris.")
    wait_until(lambda: in_state(address, "ready") == {"gpu-0", "gpu-1"})


def test_one_request_that_makes_engines_fail_takes_no_replica_away(engines: list[ScriptedEngine], address: str) -> None:
    for _ in range(4):
        engines[0].play(Refuse(500, "boom"))
    for _ in range(2):
        with pytest.raises(anthropic.InternalServerError):
            create(address)
    assert in_state(address, "ready") == {"gpu-0", "gpu-1"}


def test_a_dead_replica_is_noticed_and_its_return_too(engines: list[ScriptedEngine], address: str) -> None:
    engines[1].stop()
    assert {create(address) for _ in range(4)} == {"Hello there"}
    assert wait_for_one(address, "dead") == {"gpu-1"}
    assert create(address) == "Hello there"
    engines[1].start()
    wait_until(lambda: in_state(address, "ready") == {"gpu-0", "gpu-1"})


def test_counting_goes_to_a_replica_that_lives(engines: list[ScriptedEngine], address: str) -> None:
    engines[1].stop()
    for _ in range(4):
        response = httpx2.post(
            f"{address}/v1/messages/count_tokens",
            json={"model": MODEL, "messages": GOOD["messages"]},
            headers=HEADERS,
            trust_env=False,
        )
        assert (response.status_code, response.json()) == (200, {"input_tokens": 1})


def test_an_engine_that_does_not_count_in_time_is_passed_over(
    engines: list[ScriptedEngine], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prompt_size, "COUNT_TIMEOUT_S", 0.5)
    engines[0].is_mute_when_counting = True
    near_the_context = {**GOOD, "max_tokens": 4090}
    for _ in range(3):
        response = httpx2.post(
            f"{address}/v1/messages", json=near_the_context, headers=HEADERS, trust_env=False, timeout=30
        )
        assert response.status_code == 200, response.text
    assert metric(address, 'inference_engine_failures_total{kind="engine_timeout"}') > 0


def wait_for_one(address: str, state: str) -> set[str]:
    wait_until(lambda: len(in_state(address, state)) == 1)
    return in_state(address, state)
