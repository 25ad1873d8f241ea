"""A new version takes over, and gives back, under load: nobody notices but by the answers."""

import asyncio
import collections
import contextlib
import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from inference_backend.settings import Settings
from tests.inference_backend.declared import HEADERS, Declared, in_state, replicas, scripted_engines
from tests.inference_backend.running import SERVICE_KEY, running_backend
from tests.inference_backend.scripted_engine import (
    DONE,
    MODEL,
    End,
    Pause,
    Refuse,
    ScriptedEngine,
    finish,
    text,
    usage,
    whole,
)
from tests.waiting import until_beside, wait_until

BLUE, GREEN = "sha256:blue", "sha256:green"
WORDS = 30
CALLERS = 12


def scripted_replica(name: str, digest: str, word: str) -> str:
    return f"""
[[models.replicas]]
name = "{name}"
engine = "scripted"
digest = "{digest}"
slots = 8
[[models.replicas.options.scripts]]
answer = "{" ".join([word] * WORDS)}"
token_gap_s = 0.004
"""


BLUES = scripted_replica("blue-0", BLUE, "blue") + scripted_replica("blue-1", BLUE, "blue")
GREENS = scripted_replica("green-0", GREEN, "green") + scripted_replica("green-1", GREEN, "green")


def model(digest: str, *replicas: str) -> str:
    return f'[[models]]\nid = "{MODEL}"\ndigest = "{digest}"\n{"".join(replicas)}'


class Load:
    """Callers who ask without a pause, every second one for a stream."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._numbers = itertools.count()
        self.failures: list[str] = []
        self.answers: collections.Counter[str] = collections.Counter()
        self.latest: collections.deque[str] = collections.deque(maxlen=CALLERS)

    async def ask_for_ever(self) -> None:
        async with httpx2.AsyncClient(trust_env=False, timeout=30) as client:
            while True:
                await self.ask(client, is_stream=next(self._numbers) % 2 == 0)

    async def ask(self, client: httpx2.AsyncClient, *, is_stream: bool) -> None:
        body = {
            "model": MODEL,
            "max_tokens": 100,
            "stream": is_stream,
            "messages": [{"role": "user", "content": "hi"}],
        }
        response = await client.post(f"{self._address}/v1/messages", json=body, headers=HEADERS)
        text = response.text
        said = collections.Counter({word: text.count(word) for word in ("blue", "green") if word in text})
        if response.status_code != 200 or len(said) != 1 or said.total() != WORDS or "error" in text:
            self.failures.append(f"{response.status_code} {dict(said)} {text[-300:]}")
            return
        [word] = said
        self.answers[word] += 1
        self.latest.append(word)


@contextlib.asynccontextmanager
async def under_load(address: str) -> AsyncIterator[Load]:
    load = Load(address)
    callers = [asyncio.create_task(load.ask_for_ever()) for _ in range(CALLERS)]
    try:
        yield load
    finally:
        for caller in callers:
            caller.cancel()
        ended = await asyncio.gather(*callers, return_exceptions=True)
        assert all(isinstance(end, asyncio.CancelledError) for end in ended), ended


@contextlib.contextmanager
def served(path: Path) -> Iterator[str]:
    settings = Settings.from_environment({"INFERENCE_CONFIG": str(path), "INFERENCE_SERVICE_KEY": SERVICE_KEY})
    with running_backend(settings) as address:
        yield address


@pytest.mark.faults
async def test_a_switch_and_a_rollback_under_load_lose_no_request_and_mix_no_answer(tmp_path: Path) -> None:
    declared = Declared(tmp_path / "inference.toml")
    declared.write_text(model(BLUE, BLUES))
    with served(declared.path) as address:
        async with under_load(address) as load:
            await until_beside(lambda: load.answers["blue"] > 100)
            declared.write_text(model(BLUE, BLUES, GREENS))
            await until_beside(lambda: in_state(address, "verified") == {"green-0", "green-1"})
            assert load.answers["green"] == 0, "brought up beside the old ones, without traffic"

            declared.write_text(model(GREEN, BLUES, GREENS))
            await until_beside(lambda: load.answers["green"] > 100)
            assert set(load.latest) == {"green"}
            await until_beside(lambda: in_state(address, "verified") == {"blue-0", "blue-1"})

            declared.write_text(model(BLUE, BLUES, GREENS))
            await until_beside(lambda: list(load.latest) == ["blue"] * CALLERS)

            declared.write_text(model(GREEN, BLUES, GREENS))
            await until_beside(lambda: list(load.latest) == ["green"] * CALLERS)
            declared.write_text(model(GREEN, GREENS))
            await until_beside(lambda: set(replicas(address)) == {"green-0", "green-1"})
            seen = load.answers["green"]
            await until_beside(lambda: load.answers["green"] > seen + 100)
        assert load.failures == []
        assert set(replicas(address)) == {"green-0", "green-1"}


@pytest.fixture
def engines() -> Iterator[list[ScriptedEngine]]:
    with scripted_engines(4) as running:
        yield running


def blue_and_green(path: Path, engines: list[ScriptedEngine], **keys: Any) -> Declared:
    declared = Declared(path / "inference.toml", digest=BLUE, **keys)
    for number, engine in enumerate(engines):
        color, digest = ("blue", BLUE) if number < 2 else ("green", GREEN)
        declared.add(f"{color}-{number}", engine, digest=digest)
    return declared


def switch(declared: Declared, digest: str) -> None:
    declared.keys["digest"] = digest
    declared.write()


def test_the_new_version_waits_until_all_of_it_is_verified(engines: list[ScriptedEngine], tmp_path: Path) -> None:
    engines[3].golden_answer = [Refuse(500)]
    declared = blue_and_green(tmp_path, engines).write()
    with declared.served(ready=2) as address:
        switch(declared, GREEN)
        wait_until(lambda: in_state(address, "verified") == {"green-2"})
        assert in_state(address, "ready") == {"blue-0", "blue-1"}
        engines[3].golden_answer = whole("Paris.")
        wait_until(lambda: in_state(address, "ready") == {"green-2", "green-3"})


def test_the_operator_may_say_that_fewer_are_enough(engines: list[ScriptedEngine], tmp_path: Path) -> None:
    engines[3].golden_answer = [Refuse(500)]
    declared = blue_and_green(tmp_path, engines, switch_replicas=1).write()
    with declared.served(ready=2) as address:
        switch(declared, GREEN)
        wait_until(lambda: in_state(address, "ready") == {"green-2"})


def test_a_version_of_which_nothing_is_left_gives_way_at_once(engines: list[ScriptedEngine], tmp_path: Path) -> None:
    engines[3].golden_answer = [Refuse(500)]
    declared = blue_and_green(tmp_path, engines).write()
    with declared.served(ready=2) as address:
        switch(declared, GREEN)
        wait_until(lambda: in_state(address, "verified") == {"green-2"})
        engines[0].stop()
        engines[1].stop()
        wait_until(lambda: in_state(address, "ready") == {"green-2"})


def test_a_dead_replica_of_the_old_version_does_not_stand_in_the_way_back(
    engines: list[ScriptedEngine], tmp_path: Path
) -> None:
    declared = blue_and_green(tmp_path, engines).write()
    with declared.served(ready=2) as address:
        switch(declared, GREEN)
        wait_until(lambda: in_state(address, "ready") == {"green-2", "green-3"})
        engines[0].stop()
        wait_until(lambda: in_state(address, "dead") == {"blue-0"})
        switch(declared, BLUE)
        wait_until(lambda: in_state(address, "ready") == {"blue-1"})


def test_an_answer_on_the_old_version_is_finished_there(engines: list[ScriptedEngine], tmp_path: Path) -> None:
    declared = blue_and_green(tmp_path, engines).write()
    body = {"model": MODEL, "max_tokens": 100, "stream": True, "messages": [{"role": "user", "content": "hi"}]}
    with declared.served(ready=2) as address:
        pauses = [step for _ in range(60) for step in (text(" blue"), Pause(0.1))]
        engines[0].play(*pauses, finish(), usage(5, 60), DONE, End())
        with httpx2.stream(
            "POST", f"{address}/v1/messages", json=body, headers=HEADERS, trust_env=False, timeout=30
        ) as response:
            lines = response.iter_lines()
            while "content_block_delta" not in next(lines):
                pass
            switch(declared, GREEN)
            wait_until(lambda: in_state(address, "ready") == {"green-2", "green-3"})
            assert len(in_state(address, "draining")) == 1
            rest = "\n".join(lines)
    assert rest.count(" blue") == 60
    assert "message_stop" in rest


def test_a_digest_that_no_replica_has_changes_nothing(engines: list[ScriptedEngine], tmp_path: Path) -> None:
    declared = blue_and_green(tmp_path, engines).write()
    with declared.served(ready=2) as address:
        switch(declared, "sha256:misspelt")
        wait_until(lambda: len(in_state(address, "verified")) == 2)
        with pytest.raises(TimeoutError):
            wait_until(lambda: in_state(address, "ready") != {"blue-0", "blue-1"}, within_s=2.5)
