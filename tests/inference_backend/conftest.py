import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import anthropic
import pytest

from inference_backend import store as store_module
from inference_backend.settings import Settings
from inference_backend.store import SharedStore
from tests.inference_backend.running import (
    EMBEDDED_MODEL,
    SERVICE_KEY,
    EmbeddedEngine,
    ServiceProcess,
    answers,
    running_backend,
)
from tests.inference_backend.scripted_engine import MODEL, ScriptedEngine
from tests.valkey import Valkey
from tests.waiting import wait_until


def start_service(engine: ScriptedEngine, log: Path, **variables: str) -> ServiceProcess:
    """A process in front of the engine, ready."""
    process = ServiceProcess(
        log,
        {
            "INFERENCE_ENGINE_URL": engine.url,
            "INFERENCE_ENGINE_MODEL": MODEL,
            "INFERENCE_SERVICE_KEY": SERVICE_KEY,
            **variables,
        },
    )
    wait_until(lambda: answers(f"{process.address}/readyz"))
    return process


def settings_for(engine_url: str, **changes: object) -> Settings:
    environment = {"INFERENCE_ENGINE_URL": engine_url, "INFERENCE_SERVICE_KEY": SERVICE_KEY}
    return Settings.from_environment(environment | {name: str(value) for name, value in changes.items()})


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The one the test run has, or a throw-away server."""
    if given := os.environ.get("REDIS_URL"):
        yield given
        return
    server = Valkey(tmp_path_factory.mktemp("valkey"))
    server.start()
    yield server.url
    server.kill()


@pytest.fixture(scope="session", autouse=True)
def patient_store() -> Iterator[None]:
    """A second without an answer means a dead store in production, and a busy machine here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_module, "TIMEOUT_S", 30.0)
        yield


@pytest.fixture
async def store(redis_url: str) -> AsyncIterator[SharedStore]:
    connected = SharedStore(redis_url)
    yield connected
    await connected.aclose()


@pytest.fixture
def own_engine() -> Iterator[ScriptedEngine]:
    """A scripted engine for one test alone."""
    scripted = ScriptedEngine()
    scripted.start()
    yield scripted
    scripted.stop()


@pytest.fixture
def own_backend(own_engine: ScriptedEngine) -> Iterator[str]:
    """A backend for one test alone, where the test counts."""
    with running_backend(patient(own_engine)) as address:
        yield address


@pytest.fixture(scope="session")
def shared_engine() -> Iterator[ScriptedEngine]:
    scripted = ScriptedEngine()
    scripted.start()
    yield scripted
    scripted.stop()


@pytest.fixture(scope="session")
def shared_backend(shared_engine: ScriptedEngine) -> Iterator[str]:
    with running_backend(patient(shared_engine)) as address:
        yield address


@pytest.fixture(scope="session")
def shared_impatient_backend(shared_engine: ScriptedEngine) -> Iterator[str]:
    with running_backend(impatient(shared_engine)) as address:
        yield address


@pytest.fixture
def engine(shared_engine: ScriptedEngine) -> ScriptedEngine:
    """The scripted engine, as if just started."""
    shared_engine.forget()
    return shared_engine


@pytest.fixture
def backend(engine: ScriptedEngine, shared_backend: str) -> str:
    """A backend in front of the scripted engine."""
    wait_until(lambda: answers(f"{shared_backend}/readyz"))
    return shared_backend


@pytest.fixture
def impatient_backend(engine: ScriptedEngine, shared_impatient_backend: str) -> str:
    """One that soon gives an engine up, for tests of just that: on a busy machine it gives up healthy ones as well."""
    wait_until(lambda: answers(f"{shared_impatient_backend}/readyz"))
    return shared_impatient_backend


def patient(engine: ScriptedEngine) -> Settings:
    return settings_for(engine.url, INFERENCE_ENGINE_MODEL=MODEL)


def impatient(engine: ScriptedEngine, **changes: object) -> Settings:
    short: dict[str, object] = {
        "INFERENCE_ENGINE_MODEL": MODEL,
        "INFERENCE_CONNECT_TIMEOUT_S": 1,
        # Longer than a busy machine keeps a healthy engine from its turn.
        "INFERENCE_FIRST_TOKEN_TIMEOUT_S": 4,
        "INFERENCE_TOKEN_GAP_TIMEOUT_S": 2,
        "INFERENCE_TOTAL_TIMEOUT_S": 12,
    }
    return settings_for(engine.url, **(short | changes))


@pytest.fixture(scope="session")
def embedded_engine() -> Iterator[EmbeddedEngine]:
    process = EmbeddedEngine()
    process.start()
    yield process
    process.stop()


@pytest.fixture(scope="session")
def model_backend(embedded_engine: EmbeddedEngine) -> Iterator[str]:
    """A backend in front of the real embedded model."""
    with running_backend(settings_for(embedded_engine.url, INFERENCE_ENGINE_MODEL=EMBEDDED_MODEL)) as address:
        yield address


def sdk(address: str, **changes: object) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=address, api_key=SERVICE_KEY, max_retries=0, **changes)  # type: ignore[arg-type]


@pytest.fixture
def client(model_backend: str) -> Iterator[anthropic.Anthropic]:
    with sdk(model_backend) as connected:
        yield connected


@pytest.fixture
def scripted_client(backend: str) -> Iterator[anthropic.Anthropic]:
    with sdk(backend) as connected:
        yield connected


@pytest.fixture
def impatient_client(impatient_backend: str) -> Iterator[anthropic.Anthropic]:
    with sdk(impatient_backend) as connected:
        yield connected
