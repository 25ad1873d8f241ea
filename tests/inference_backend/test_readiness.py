"""Ready means: healthy, the right model, and it speaks."""

import anthropic
import httpx2
import pytest

from tests.inference_backend.conftest import sdk, settings_for
from tests.inference_backend.running import EMBEDDED_MODEL, EmbeddedEngine, answers, running_backend, wait_until
from tests.inference_backend.scripted_engine import DONE, MODEL, End, Refuse, ScriptedEngine, finish, text

# Keeps the model writing until the test is done with it.
LONG_LIST = {"type": "array", "minItems": 400, "items": {"type": "boolean"}}


def reason(address: str) -> str:
    response = httpx2.get(f"{address}/readyz", trust_env=False)
    assert response.status_code == 503
    said: str = response.json()["replicas"][0]["reason"]
    return said


def test_an_engine_that_is_absent_is_not_ready_and_the_service_lives() -> None:
    settings = settings_for("http://127.0.0.1:1", INFERENCE_ENGINE_MODEL=MODEL)
    with running_backend(settings, wait_for_ready=False) as address:
        assert "cannot be reached" in reason(address) or "not verified" in reason(address)
        assert answers(f"{address}/healthz")
        with sdk(address) as client:
            assert [model.id for model in client.models.list()] == [MODEL]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"health_status": 503}, "takes no requests"),
        ({"models": ["another"]}, "does not serve the model scripted"),
        ({"golden_answer": [Refuse(500)]}, "status 500"),
        ({"golden_answer": [text("  "), finish(), DONE, End()]}, "empty answer"),
    ],
)
def test_an_engine_is_ready_only_once_it_is_well_and_right_and_speaks(
    own_engine: ScriptedEngine, fault: dict[str, object], expected: str
) -> None:
    healthy = {name: getattr(own_engine, name) for name in fault}
    for name, value in fault.items():
        setattr(own_engine, name, value)
    with running_backend(settings_for(own_engine.url, INFERENCE_ENGINE_MODEL=MODEL), wait_for_ready=False) as address:
        wait_until(lambda: expected in reason(address), within_s=5)
        with sdk(address) as client, pytest.raises(anthropic.InternalServerError, match="No engine of scripted is ready"):
            client.messages.create(model=MODEL, max_tokens=5, messages=[{"role": "user", "content": "hi"}])
        assert own_engine.requests == []
        for name, value in healthy.items():
            setattr(own_engine, name, value)
        wait_until(lambda: answers(f"{address}/readyz"), within_s=5)


@pytest.mark.model
@pytest.mark.faults
def test_a_killed_engine_ends_its_streams_in_an_error_and_a_new_one_is_verified() -> None:
    process = EmbeddedEngine()
    process.start()
    try:
        with (
            running_backend(settings_for(process.url, INFERENCE_ENGINE_MODEL=EMBEDDED_MODEL)) as address,
            sdk(address) as client,
        ):
            with pytest.raises(anthropic.APIStatusError) as raised:
                kill_in_the_middle(client, process)
            assert raised.value.type == "api_error"
            wait_until(lambda: not answers(f"{address}/readyz"))
            process.start()
            wait_until(lambda: answers(f"{address}/readyz"))
            client.messages.create(model=EMBEDDED_MODEL, max_tokens=2, messages=[{"role": "user", "content": "hi"}])
    finally:
        process.kill()


def kill_in_the_middle(client: anthropic.Anthropic, process: EmbeddedEngine) -> None:
    stream = client.messages.create(
        model=EMBEDDED_MODEL,
        max_tokens=300,
        stream=True,
        messages=[{"role": "user", "content": "Say true again and again."}],
        output_config={"format": {"type": "json_schema", "schema": LONG_LIST}},
    )
    for event in stream:
        if event.type == "content_block_delta":
            process.kill()


@pytest.mark.model
def test_the_embedded_engine_stops_at_once_when_told() -> None:
    process = EmbeddedEngine()
    process.start()
    assert process.stop() == 0
