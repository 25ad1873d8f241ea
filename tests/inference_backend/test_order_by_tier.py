"""Who pays is next, and who cannot be served is told so with a status, not in the middle of a stream."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from inference_backend.tiers import Tier
from tests.inference_backend.declared import HEADERS, TIMEOUTS, Declared, metric
from tests.inference_backend.scripted_engine import MODEL, Await, ScriptedEngine, text, words_of
from tests.waiting import wait_until

SLOTS = 2
RELEASED = threading.Event()
PATIENT = "[tiers.free]\ndelay_low_ms = 60000\ndelay_high_ms = 120000\n"
IMPATIENT = "[tiers.free]\ndelay_low_ms = 200\ndelay_high_ms = 400\n"


@pytest.fixture
def engine() -> Iterator[ScriptedEngine]:
    running = ScriptedEngine(slots=SLOTS)
    running.scripts = {
        "held": [text("one"), Await(RELEASED), *words_of(" two")],
        "slow": words_of("one two three four", gap_s=0.05),
    }
    RELEASED.clear()
    running.start()
    yield running
    running.stop()


def waiting(address: str, tier: Tier) -> float:
    return metric(address, f'inference_queue_waiting{{model="{MODEL}",tier="{tier}"}}')


def declare(folder: Path, engine: ScriptedEngine, tiers: str) -> Declared:
    timeouts = TIMEOUTS | {"queue_s": 60.0, "first_token_s": 60.0, "between_tokens_s": 60.0, "total_s": 60.0}
    declared = Declared(folder / "inference.toml", timeouts=timeouts).add("gpu-0", engine, slots=SLOTS).write()
    declared.write_text(declared.path.read_text() + tiers)
    return declared


def ask(address: str, tier: Tier, number: int, *, script: str = "slow", stream: bool = False) -> httpx2.Response:
    turns = [{"role": "user", "content": f"script:{script} {tier} {number}"}]
    return httpx2.post(
        f"{address}/v1/messages",
        json={"model": MODEL, "max_tokens": 20, "stream": stream, "messages": turns},
        headers=HEADERS | {"x-playground-tier": tier, "x-playground-account": f"{tier}-{number}"},
        trust_env=False,
        timeout=60,
    )


def test_one_request_of_who_pays_passes_thirty_that_wait(engine: ScriptedEngine, tmp_path: Path) -> None:
    with declare(tmp_path, engine, PATIENT).served() as address, ThreadPoolExecutor(40) as pool:
        asked = [pool.submit(ask, address, "free", number, script="held") for number in range(SLOTS)]
        wait_until(lambda: len(engine.requests) == SLOTS)
        asked += [pool.submit(ask, address, "free", number) for number in range(30)]
        wait_until(lambda: waiting(address, "free") == 30)
        asked.append(pool.submit(ask, address, "pro", 1))
        wait_until(lambda: waiting(address, "pro") == 1)
        RELEASED.set()
        assert {one.result(60).status_code for one in asked} == {200}
    order = [request["messages"][-1]["content"] for request in engine.requests]
    assert "script:slow pro 1" in order[SLOTS : 2 * SLOTS]


def test_a_stream_that_cannot_be_served_is_a_529_and_one_that_is_begun_is_ended(
    engine: ScriptedEngine, tmp_path: Path
) -> None:
    with declare(tmp_path, engine, IMPATIENT).served() as address, ThreadPoolExecutor(60) as pool:
        # What the queue is worth is known once something was measured.
        assert ask(address, "free", 0).status_code == 200
        answers = list(pool.map(lambda number: ask(address, "free", number, stream=True), range(60)))
    refused = [one for one in answers if one.status_code == 529]
    begun = [one for one in answers if one.status_code == 200]
    assert len(refused) + len(begun) == 60
    assert refused
    assert begun
    assert {one.json()["error"]["type"] for one in refused} == {"overloaded_error"}
    assert all(0 < int(one.headers["retry-after"]) <= 60 for one in refused)
    assert [one.text for one in begun if "event: message_stop" not in one.text] == []
