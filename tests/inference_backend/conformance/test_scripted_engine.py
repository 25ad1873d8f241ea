"""Python SDK 2, Python SDK 1 and the TypeScript SDK, unchanged, against an engine that does as it is told."""

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.inference_backend.conformance import fault_cases, scripted_cases
from tests.inference_backend.conformance.drivers import SDKS, Case, departures, disagreements, outcomes_of_all
from tests.inference_backend.conftest import impatient
from tests.inference_backend.running import SERVICE_KEY, running_backend
from tests.inference_backend.scripted_engine import ScriptedEngine

UNSCOPED_KEY = "key-without-the-scope"
# In a few groups, because starting an SDK takes longer than most of its calls.
GROUPS: dict[str, list[Case]] = {
    "answers": [*scripted_cases.answers(), *scripted_cases.prompts(), *scripted_cases.tools()],
    "versions and refusals": [
        *scripted_cases.versions(),
        *scripted_cases.models(),
        *fault_cases.refusals(),
        *fault_cases.forbidden(UNSCOPED_KEY),
    ],
    "faults": [*fault_cases.faults(), *fault_cases.retries()],
}
# As many at once as hurries the waits along without making any case late.
PARALLEL = 6


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    keys = tmp_path_factory.mktemp("keys") / "keys"
    write_key(keys, UNSCOPED_KEY, "account-7 free data")
    engine = ScriptedEngine(scripts=scripted_cases.SCRIPTS)
    engine.start()
    # Three SDKs, the service and the engine share two cores here: patience that nobody exceeds by being slow.
    patience = {
        "INFERENCE_FIRST_TOKEN_TIMEOUT_S": 4,
        "INFERENCE_TOKEN_GAP_TIMEOUT_S": 2,
        "INFERENCE_TOTAL_TIMEOUT_S": 20,
    }
    with running_backend(impatient(engine, INFERENCE_KEY_FILE=keys, **patience)) as address:
        yield address
    engine.stop()


@pytest.fixture(scope="module")
def service_with_tools() -> Iterator[str]:
    engine = ScriptedEngine(scripts=scripted_cases.SCRIPTS)
    engine.start()
    with running_backend(impatient(engine, INFERENCE_ENGINE_TOOLS="auto")) as address:
        yield address
    engine.stop()


def test_every_sdk_gets_the_calls_of_a_model_that_decides_by_itself(service_with_tools: str) -> None:
    cases = scripted_cases.own_tools()
    seen = outcomes_of_all(cases, base_url=service_with_tools, key=SERVICE_KEY, parallel=PARALLEL)
    assert departures(cases, seen) == []
    assert disagreements(cases, seen) == []


def write_key(path: Path, key: str, rest: str) -> None:
    path.write_text(f"{hashlib.sha256(key.encode()).hexdigest()} {rest}\n", encoding="utf-8")


@pytest.mark.parametrize("group", GROUPS)
def test_every_sdk_sees_what_the_table_says(service: str, group: str) -> None:
    cases = GROUPS[group]
    seen = outcomes_of_all(cases, base_url=service, key=SERVICE_KEY, parallel=PARALLEL)
    assert departures(cases, seen) == []
    assert disagreements(cases, seen) == []


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node.js on this machine: the TypeScript SDK did not run")
def test_the_typescript_sdk_is_among_them() -> None:
    assert "typescript" in SDKS
