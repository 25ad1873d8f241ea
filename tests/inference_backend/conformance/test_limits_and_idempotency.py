"""What needs state between calls: the limits of an account, and one generation per idempotency key."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.inference_backend.conformance.drivers import SDKS, Case, Sdk, differences, outcomes
from tests.inference_backend.conformance.lossy_proxy import LossyProxy
from tests.inference_backend.conformance.scripted_cases import SCRIPTS, ask, said
from tests.inference_backend.declared import HEADERS, Declared, metric
from tests.inference_backend.running import SERVICE_KEY
from tests.inference_backend.scripted_engine import Pause, ScriptedEngine, Step, text, words_of
from tests.waiting import wait_until

LIMITS = """
[tiers.free]
concurrency = 1
"""
ENDLESS: list[Step] = [step for _ in range(600) for step in (text("on "), Pause(0.1))]
REFUSED = 'inference_requests_total{path="/v1/messages",status="429",tier="free"}'


@pytest.fixture
def engine() -> Iterator[ScriptedEngine]:
    running = ScriptedEngine(scripts={**SCRIPTS, "endless": ENDLESS, "work": words_of("done once")})
    running.start()
    yield running
    running.stop()


@pytest.fixture
def address(engine: ScriptedEngine, tmp_path: Path) -> Iterator[str]:
    declared = Declared(tmp_path / "inference.toml").add("gpu-0", engine).write()
    declared.write_text(declared.path.read_text() + LIMITS)
    with declared.served() as running:
        yield running


@contextmanager
def held(address: str, account: str) -> Iterator[threading.Event]:
    """The one answer at a time that the account may have is under way, until the event is set."""
    release = threading.Event()
    begun = threading.Event()
    headers = HEADERS | caller(account)

    def read() -> None:
        with httpx2.stream(
            "POST", f"{address}/v1/messages", json=ask("endless", stream=True), headers=headers, trust_env=False
        ) as response:
            for _ in response.iter_raw():
                begun.set()
                if release.is_set():
                    return

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read)
        assert begun.wait(60)
        try:
            yield release
        finally:
            release.set()
            reading.result(60)


def caller(account: str) -> dict[str, str]:
    return {"x-playground-account": account, "x-playground-tier": "free"}


def run(sdk: Sdk, case: Case, address: str) -> list[str]:
    return differences(case.expected, outcomes(sdk, [case], base_url=address, key=SERVICE_KEY, parallel=1)[case.name])


@pytest.mark.parametrize("sdk", SDKS)
def test_the_limit_of_an_account_is_a_429_that_says_when_to_come_back(address: str, sdk: Sdk) -> None:
    error = {"status": 429, "type": "rate_limit_error", "class": "RateLimitError", "has_request_id": True}
    case = Case(
        name="limit",
        call="create",
        params=ask("hello"),
        client={"headers": caller(sdk)},
        expected={"error": error, "calls": 1, "headers": {"retry-after": lambda seconds: 0 < int(seconds) <= 60}},
    )
    with held(address, sdk):
        assert run(sdk, case, address) == []


@pytest.mark.parametrize("sdk", SDKS)
def test_an_sdk_that_waits_as_it_is_told_is_answered(address: str, sdk: Sdk) -> None:
    case = Case(
        name="limit for a while",
        call="create",
        params=ask("hello"),
        client={"headers": caller(sdk), "max_retries": 2},
        expected={"message": said("Hello there friend"), "calls": 2},
    )
    with held(address, sdk) as release, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(run, sdk, case, address)
        wait_until(lambda: metric(address, REFUSED) == 1)
        release.set()
        assert waiting.result(60) == []


@pytest.mark.parametrize("call", ["create", "raw_stream"])
@pytest.mark.parametrize("sdk", SDKS)
def test_an_answer_that_was_lost_on_its_way_is_not_generated_again(
    engine: ScriptedEngine, address: str, sdk: Sdk, call: str
) -> None:
    proxy = LossyProxy(address)
    proxy.lose(1)
    found = {"message": said("done once")} if call == "create" else {"text": "done once", "stop_reason": "end_turn"}
    case = Case(
        name="lost answer",
        call="create" if call == "create" else "raw_stream",
        params=ask("work"),
        client={"max_retries": 2},
        headers={"Idempotency-Key": "the-run"},
        expected={**found, "calls": 2, "headers": {"idempotent-replayed": "true"}},
    )
    assert run(sdk, case, proxy.url) == []
    assert engine.generations["script:work"] == 1
    proxy.stop()


@pytest.mark.parametrize("sdk", SDKS)
def test_a_key_that_belongs_to_another_request_is_a_conflict_at_once(
    engine: ScriptedEngine, address: str, sdk: Sdk
) -> None:
    body = ask("hello")
    httpx2.post(
        f"{address}/v1/messages", json=body, headers=HEADERS | {"idempotency-key": "taken"}, trust_env=False
    ).raise_for_status()
    case = Case(
        name="conflict",
        call="create",
        params=ask("work"),
        client={"max_retries": 2},
        headers={"Idempotency-Key": "taken"},
        expected={"error": {"status": 409, "class": "ConflictError"}, "calls": 1},
    )
    assert run(sdk, case, address) == []
    assert engine.generations["script:work"] == 0
