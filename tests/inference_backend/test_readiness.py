"""Ready means: healthy, the right model, and it speaks."""

import time
from collections.abc import Iterator
from pathlib import Path

import anthropic
import httpx2
import pytest

from tests.inference_backend.conftest import sdk, settings_for
from tests.inference_backend.declared import HEADERS, Declared, in_state, replicas, scripted_engines
from tests.inference_backend.running import EMBEDDED_MODEL, EmbeddedEngine, answers, running_backend
from tests.inference_backend.scripted_engine import DONE, MODEL, End, Refuse, ScriptedEngine, finish, text, whole
from tests.waiting import wait_until

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
        wait_until(lambda: expected in reason(address))
        with (
            sdk(address) as client,
            pytest.raises(anthropic.InternalServerError, match="No engine of scripted is ready"),
        ):
            client.messages.create(model=MODEL, max_tokens=5, messages=[{"role": "user", "content": "hi"}])
        assert own_engine.requests == []
        for name, value in healthy.items():
            setattr(own_engine, name, value)
        wait_until(lambda: answers(f"{address}/readyz"))


def test_an_engine_that_says_healthy_and_answers_500_is_never_ready(own_engine: ScriptedEngine) -> None:
    own_engine.golden_answer = [Refuse(500)]
    with running_backend(settings_for(own_engine.url, INFERENCE_ENGINE_MODEL=MODEL), wait_for_ready=False) as address:
        wait_until(lambda: "status 500" in reason(address))
        with pytest.raises(TimeoutError):
            wait_until(lambda: answers(f"{address}/readyz"), within_s=3)


@pytest.fixture
def pair() -> Iterator[list[ScriptedEngine]]:
    with scripted_engines(2) as engines:
        yield engines


def told_reason(address: str, name: str) -> str:
    return str(replicas(address).get(name, {"reason": ""})["reason"])


def test_an_engine_that_states_another_version_is_never_ready(pair: list[ScriptedEngine], tmp_path: Path) -> None:
    right, wrong = pair
    right.digest, wrong.digest = "sha256:right", "sha256:wrong"
    declared = Declared(tmp_path / "inference.toml", digest="sha256:right")
    declared.add("right", right, digest="sha256:right").add("wrong", wrong, digest="sha256:right").write()
    with declared.served(ready=1) as address:
        wait_until(lambda: "serves version sha256:wrong, not sha256:right" in told_reason(address, "wrong"))
        assert in_state(address, "ready") == {"right"}
        wrong.digest = "sha256:right"
        wait_until(lambda: in_state(address, "ready") == {"right", "wrong"})


def test_a_version_that_the_engine_states_needs_no_name_in_the_file(pair: list[ScriptedEngine], tmp_path: Path) -> None:
    pair[0].digest, pair[1].digest = "sha256:right", "sha256:other"
    declared = Declared(tmp_path / "inference.toml", digest="sha256:right").add("a", pair[0]).add("b", pair[1]).write()
    with declared.served(ready=1) as address:
        wait_until(lambda: in_state(address, "verified") == {"b"})
        assert in_state(address, "ready") == {"a"}


@pytest.mark.parametrize("golden", ["Paris.", {"sha256:x": "Paris."}])
def test_an_engine_that_gives_another_answer_than_the_known_one_is_never_ready(
    pair: list[ScriptedEngine], tmp_path: Path, golden: object
) -> None:
    pair[1].golden_answer = whole("London.")
    declared = Declared(tmp_path / "inference.toml", golden=golden)
    declared.add("right", pair[0], digest="sha256:x").add("wrong", pair[1], digest="sha256:x").write()
    with declared.served(ready=1) as address:
        wait_until(lambda: "another answer than the known one" in told_reason(address, "wrong"))
        assert in_state(address, "ready") == {"right"}


def test_replicas_of_one_version_must_agree_with_the_first(pair: list[ScriptedEngine], tmp_path: Path) -> None:
    declared = Declared(tmp_path / "inference.toml").add("first", pair[0]).write()
    with declared.served() as address:
        pair[1].golden_answer = whole("London.")
        declared.add("second", pair[1]).write()
        wait_until(lambda: "differently from others" in told_reason(address, "second"))
        pair[1].golden_answer = whole("Paris.")
        wait_until(lambda: in_state(address, "ready") == {"first", "second"})


def test_versions_may_differ_in_their_answers(pair: list[ScriptedEngine], tmp_path: Path) -> None:
    pair[1].golden_answer = whole("London.")
    declared = Declared(tmp_path / "inference.toml")
    declared.add("a", pair[0], digest="sha256:a").add("b", pair[1], digest="sha256:b").write()
    with declared.served() as address:
        assert {row["golden"] for row in replicas(address).values()} == {"Paris.", "London."}


def test_engines_that_loaded_different_files_are_not_one_version(pair: list[ScriptedEngine], tmp_path: Path) -> None:
    """They answer alike; what llama.cpp says of the loaded file does not."""
    pair[1].properties = {"chat_template": "another"}
    declared = Declared(tmp_path / "inference.toml").add("first", pair[0]).write()
    with declared.served() as address:
        declared.add("second", pair[1]).write()
        wait_until(lambda: "loaded another model" in told_reason(address, "second"))


def test_a_broken_device_behind_a_good_health_is_found_by_the_first_failure(
    pair: list[ScriptedEngine], tmp_path: Path
) -> None:
    declared = Declared(tmp_path / "inference.toml").add("a", pair[0]).add("b", pair[1]).write()
    with declared.served() as address, sdk(address) as client:
        pair[1].golden_answer = [Refuse(500)]
        pair[0].scripts, pair[1].scripts = {"x": whole("fine")}, {"x": [Refuse(500)]}
        for _ in range(6):
            message = client.messages.create(
                model=MODEL, max_tokens=5, messages=[{"role": "user", "content": "script:x"}]
            )
            assert message.content[0].text == "fine"  # type: ignore[union-attr]
        wait_until(lambda: in_state(address, "suspect") == {"b"})


def test_capacity_that_is_starting_is_announced(pair: list[ScriptedEngine], tmp_path: Path) -> None:
    pair[0].health_status = 503
    declared = Declared(tmp_path / "inference.toml").add("a", pair[0], ready_in_s=40).write()
    body = {"model": MODEL, "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
    with declared.served(ready=0) as address:
        wait_until(lambda: in_state(address, "loading") == {"a"})
        response = httpx2.post(f"{address}/v1/messages", json=body, headers=HEADERS, trust_env=False)
        assert response.status_code == 529
        assert response.json()["error"]["details"]["error_code"] == "capacity_starting"
        assert 0 < int(response.headers["retry-after"]) <= 60
        assert response.headers["x-should-retry"] == "false"
        pair[0].health_status = 200
        wait_until(lambda: in_state(address, "ready") == {"a"})


def test_a_start_that_was_seen_tells_how_long_the_next_one_takes(pair: list[ScriptedEngine], tmp_path: Path) -> None:
    pair[0].health_status = 503
    declared = Declared(tmp_path / "inference.toml").add("a", pair[0]).write()
    body = {"model": MODEL, "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}

    def error_code() -> str:
        response = httpx2.post(f"{address}/v1/messages", json=body, headers=HEADERS, trust_env=False)
        return str(response.json()["error"]["details"]["error_code"])

    with declared.served(ready=0) as address:
        wait_until(lambda: in_state(address, "loading") == {"a"})
        assert error_code() == "engine_unavailable", "nobody knows yet"
        time.sleep(3)
        pair[0].health_status = 200
        wait_until(lambda: in_state(address, "ready") == {"a"})
        pair[0].stop()
        wait_until(lambda: in_state(address, "dead") == {"a"})
        assert error_code() == "engine_unavailable", "nothing is starting"
        pair[0].health_status = 503
        pair[0].start()
        wait_until(lambda: in_state(address, "loading") == {"a"})
        assert error_code() == "capacity_starting"
        # It takes much longer than the last time: perhaps it never ends.
        wait_until(lambda: error_code() == "engine_unavailable")


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
