"""The configuration file: what it may say, and what happens when it changes while the service runs."""

import os
import signal
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest
from pydantic import BaseModel

from embedded.ports import free_port
from inference_backend.configuration_file import ConfigurationFile
from inference_backend.fleet.configuration import (
    DnsConfiguration,
    ModelConfiguration,
    ReplicaConfiguration,
    SchedulingTable,
    TimeoutsTable,
    read_models,
)
from inference_backend.fleet.engine_kinds import KINDS
from inference_backend.scheduling.token import TokenPolicy
from inference_backend.settings import Settings, SettingsError, Timeouts
from tests.inference_backend.conftest import sdk
from tests.inference_backend.declared import HEADERS, Declared, in_state, metric, replicas, scripted_engines
from tests.inference_backend.running import SERVICE_KEY, answers, running_backend
from tests.inference_backend.scripted_engine import (
    DONE,
    MODEL,
    Await,
    End,
    Pause,
    Refuse,
    ScriptedEngine,
    finish,
    text,
    usage,
    whole,
)
from tests.waiting import wait_until

ONE = """
[[models]]
id = "m"
[[models.replicas]]
name = "a"
engine = "llama_cpp"
url = "http://127.0.0.1:8081/v1"
"""
DNS = '[[models]]\nid = "m"\n[[models.dns]]\nhost = "engines"\nport = 8000\nengine = "vllm"\n'


DOCUMENTATION = Path(__file__).parents[2] / "docs" / "inference-configuration.md"


@pytest.fixture
def engines() -> Iterator[list[ScriptedEngine]]:
    with scripted_engines(3) as running:
        yield running


def read(content: str, **environment: str) -> Any:
    return read_models(tomllib.loads(content), environment)


# --- what it may say ---


def test_what_is_left_out_has_a_default() -> None:
    [model] = read(ONE)
    assert (model.tiers, model.digest, model.notice) == (("free", "pro", "internal"), None, "")
    assert model.timeouts_over(Timeouts()) == Timeouts()


def test_timeouts_of_a_model_replace_those_of_the_environment() -> None:
    [model] = read(ONE.replace('id = "m"', 'id = "m"\ntimeouts = {total_s = 5}'))
    assert model.timeouts_over(Timeouts(queue_s=7.0)) == Timeouts(queue_s=7.0, total_s=5.0)


def test_the_scheduling_of_a_model_is_the_operators_as_far_as_it_is_said() -> None:
    [model] = read(ONE)
    assert model.scheduling.policy() == TokenPolicy()
    scheduling = "scheduling = {prefill_portion = 512, headroom = {free = 0.25, pro = 0.125}}"
    [model] = read(ONE.replace('id = "m"', f'id = "m"\n{scheduling}'))
    assert model.scheduling.policy() == TokenPolicy(prefill_portion=512, headroom={"free": 0.25, "pro": 0.125})


@pytest.mark.parametrize(
    "wrong",
    ["{prefill_portion = 0}", "{headroom = {free = 1.0}}", "{headroom = {gold = 0.1}}", "{portion = 5}"],
)
def test_scheduling_that_makes_no_sense_is_refused(wrong: str) -> None:
    with pytest.raises(SettingsError, match="scheduling"):
        read(ONE.replace('id = "m"', f'id = "m"\nscheduling = {wrong}'))


def test_headroom_keeps_slots_free_for_who_pays(engines: list[ScriptedEngine], tmp_path: Path) -> None:
    declared = Declared(tmp_path / "inference.toml", scheduling={"headroom": {"free": 0.5}}, timeouts={})
    declared.add("gpu-0", engines[0], slots=2)
    released = threading.Event()
    for _ in range(2):
        engines[0].play(text("one"), Await(released), finish(), usage(5, 2), DONE, End())
    with declared.write().served() as address, ThreadPoolExecutor(3) as pool:
        free = HEADERS | {"x-playground-tier": "free", "x-playground-account": "somebody"}
        ask = {"model": MODEL, "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}

        def post(headers: dict[str, str]) -> int:
            answer = httpx2.post(f"{address}/v1/messages", json=ask, headers=headers, trust_env=False, timeout=60)
            return answer.status_code

        first = pool.submit(post, free)
        wait_until(lambda: len(engines[0].requests) == 1)
        second = pool.submit(post, free)
        wait_until(lambda: metric(address, f'inference_queue_waiting{{model="{MODEL}",tier="free"}}') == 1)
        paid = pool.submit(post, HEADERS)
        wait_until(lambda: len(engines[0].requests) == 2)
        assert metric(address, f'inference_queue_waiting{{model="{MODEL}",tier="free"}}') == 1
        released.set()
        assert [one.result(60) for one in (first, second, paid)] == [200, 200, 200]


@pytest.mark.parametrize(
    ("kind", "given", "own"),
    [
        ("vllm", None, False),
        ("vllm", "auto", True),
        ("messages", None, True),
        ("messages", "forced", False),
    ],
)
def test_whether_a_model_decides_about_tools_is_said_by_the_operator_or_usual_of_the_kind(
    kind: str, given: str | None, own: bool
) -> None:
    table = ReplicaConfiguration(name="a", engine=kind, url="http://127.0.0.1:1", tools=given)
    assert table.capabilities.own_tools is own


def test_an_engine_that_makes_words_up_decides_about_nothing() -> None:
    simulated = ONE.replace("llama_cpp", "simulated").replace('url = "http://127.0.0.1:8081/v1"', 'tools = "auto"')
    with pytest.raises(SettingsError, match="cannot decide by itself"):
        read(simulated)


def test_the_key_of_an_engine_comes_from_the_variable_that_is_named() -> None:
    [model] = read(ONE + 'api_key_env = "ENGINE_KEY"', ENGINE_KEY="secret-of-the-engine")
    assert model.replicas[0].api_key == "secret-of-the-engine"
    [model] = read(DNS + 'api_key_env = "ENGINE_KEY"', ENGINE_KEY="secret-of-the-engine")
    assert model.dns[0].replica_at("10.0.0.7").api_key == "secret-of-the-engine"
    assert "secret-of-the-engine" not in repr(model)


def test_every_address_of_a_name_becomes_a_replica_with_the_keys_of_its_entry() -> None:
    [model] = read(DNS + 'slots = 64\ndigest = "sha256:x"\n')
    [entry] = model.dns
    assert entry.replica_at("10.0.0.7").url == "http://10.0.0.7:8000"
    assert entry.replica_at("fd00::7").url == "http://[fd00::7]:8000"
    assert (entry.replica_at("10.0.0.7").slots, entry.replica_at("10.0.0.7").digest) == (64, "sha256:x")


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("", "models"),
        ('[[models]]\nid = "m"\n', "models.0.*replicas"),
        (ONE.replace('id = "m"', 'id = ""'), "models.0.id"),
        (ONE.replace('id = "m"', 'id = "m"\ncolour = 1'), "models.0.colour"),
        (ONE.replace('id = "m"', 'id = "m"\ntiers = ["gold"]'), "models.0.tiers"),
        (ONE.replace('id = "m"', 'id = "m"\ntiers = []'), "models.0.*tiers"),
        (ONE.replace('id = "m"', 'id = "m"\ntimeouts = {total_s = 0}'), "models.0.timeouts.total_s"),
        (ONE + "slots = 0", "models.0.replicas.0.slots"),
        (ONE + 'api_key = "secret-in-the-file"', "models.0.replicas.0.*api_key"),
        (ONE + 'api_key_env = "MISSING"', "MISSING"),
        (ONE.replace("llama_cpp", "abacus"), "models.0.replicas.0.*llama_cpp, vllm"),
        (ONE.replace("http:", "ftp:"), "models.0.replicas.0.*url"),
        (ONE.replace("8081", "99999"), "models.0.replicas.0.*url"),
        (ONE.replace("127.0.0.1", "a b"), "models.0.replicas.0.*url"),
        (ONE.replace("llama_cpp", "scripted"), "models.0.replicas.0.*no url"),
        (ONE + ONE, "two entries with the id 'm'"),
        (ONE + ONE.split("\n", 3)[3], "models.0.*two entries named 'a'"),
        (DNS.replace("8000", "0"), "models.0.dns.0.port"),
        (DNS.replace("vllm", "simulated"), "models.0.dns.0.*no address"),
    ],
)
def test_a_mistake_is_refused_with_its_place(content: str, place: str) -> None:
    with pytest.raises(SettingsError, match=place) as raised:
        read(content)
    assert "secret-in-the-file" not in str(raised.value)


@pytest.mark.parametrize("content", ["[[models", "\xff", None])
def test_a_file_that_is_no_toml_or_is_not_there_stops_the_start(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "inference.toml"
    if content is not None:
        path.write_bytes(content.encode("latin-1"))
    with pytest.raises(SettingsError, match=r"inference\.toml"):
        ConfigurationFile(path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (ONE + "[teirs.free]\nrequests_per_minute = 1\n", "teirs: not known.*tiers"),
        ("a = " + "[" * 5000 + "]" * 5000, "nested too deeply"),
    ],
)
def test_a_section_that_nobody_reads_is_refused(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "inference.toml"
    path.write_text(content)
    with pytest.raises(SettingsError, match=reason):
        ConfigurationFile(path)


async def test_a_reader_that_fails_unexpectedly_refuses_the_file_and_the_next_one_is_still_read(tmp_path: Path) -> None:
    path = tmp_path / "inference.toml"
    path.write_text(ONE)
    file = ConfigurationFile(path)
    applied: list[int] = []

    def read_tiers(document: Any) -> int:
        return int(document.get("tiers", {}).get("number", 0))

    file.add_section(read_tiers, applied.append)
    assert not file.reload(ONE.encode() + b'[tiers]\nnumber = "x"\n')
    assert "tiers" not in file.document
    assert file.reload(ONE.encode() + b"[tiers]\nnumber = 2\n")
    assert applied == [2]


def test_a_wrong_option_of_an_engine_in_the_process_stops_the_start(tmp_path: Path) -> None:
    declared = Declared(tmp_path / "inference.toml")
    declared.write_text(
        '[[models]]\nid = "m"\n[[models.replicas]]\nname = "a"\nengine = "scripted"\noptions = {context = 0}\n'
    )
    with pytest.raises(SettingsError, match="context"), running_backend(declared.settings):
        pass


@pytest.mark.parametrize(
    "table", [ModelConfiguration, ReplicaConfiguration, DnsConfiguration, TimeoutsTable, SchedulingTable]
)
def test_every_key_is_explained_to_the_operator(table: type[BaseModel]) -> None:
    explained = DOCUMENTATION.read_text()
    keys = [name for name in table.model_fields if name != "api_key"]
    assert [key for key in keys if f"`{key}`" not in explained and f"[[models.{key}]]" not in explained] == []
    assert [kind for kind in KINDS if f"`{kind}`" not in explained] == []


# --- a change takes effect as a whole or not at all ---


def test_a_mistake_in_one_section_keeps_every_section_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "inference.toml"
    path.write_text("models = 1\ntiers = 1\n")
    file = ConfigurationFile(path)
    applied: list[tuple[str, int]] = []

    def section(name: str) -> int:
        def check(document: Any) -> int:
            if document[name] > 5:
                raise SettingsError(f"{name} is too large")
            return int(document[name])

        return file.add_section(check, lambda value: applied.append((name, value)))

    assert (section("models"), section("tiers")) == (1, 1)
    assert not file.reload(b"models = 2\ntiers = 9\n")
    assert not file.reload(b"models = \n")
    assert (applied, file.document) == ([], {"models": 1, "tiers": 1})
    assert file.reload(b"models = 2\ntiers = 3\n")
    assert applied == [("models", 2), ("tiers", 3)]


# --- while the service runs ---


def create(address: str, model: str = MODEL) -> str:
    with sdk(address) as client:
        message: anthropic.types.Message = client.messages.create(
            model=model, max_tokens=50, messages=[{"role": "user", "content": "hi"}]
        )
        [block] = message.content
        assert block.type == "text"
        return block.text


def test_a_replica_is_added_without_a_restart(engines: list[ScriptedEngine], tmp_path: Path) -> None:
    declared = Declared(tmp_path / "inference.toml").add("a", engines[0]).write()
    with declared.served() as address:
        declared.add("b", engines[1]).write()
        wait_until(lambda: in_state(address, "ready") == {"a", "b"})
        for _ in range(6):
            create(address)
    assert all(engine.requests for engine in engines[:2])


def test_a_removed_replica_finishes_its_answer_and_is_forgotten(engines: list[ScriptedEngine], tmp_path: Path) -> None:
    declared = Declared(tmp_path / "inference.toml").add("a", engines[0]).write()
    body = {"model": MODEL, "max_tokens": 100, "stream": True, "messages": [{"role": "user", "content": "hi"}]}
    with declared.served() as address:
        pauses = [step for _ in range(60) for step in (text(" word"), Pause(0.1))]
        engines[0].play(*pauses, finish(), usage(5, 60), DONE, End())
        with httpx2.stream(
            "POST", f"{address}/v1/messages", json=body, headers=HEADERS, trust_env=False, timeout=30
        ) as response:
            lines = response.iter_lines()
            while "content_block_delta" not in next(lines):
                pass
            declared.add("b", engines[1]).write()
            wait_until(lambda: "b" in in_state(address, "ready"))
            del declared.replicas["a"]
            declared.write()
            wait_until(lambda: in_state(address, "draining") == {"a"})
            assert create(address) == "Hello there"
            rest = "\n".join(lines)
        assert rest.count(" word") == 60
        wait_until(lambda: set(replicas(address)) == {"b"})
    assert len(engines[0].requests) == 1
    assert len(engines[1].requests) == 1


def test_a_replica_that_does_not_finish_in_time_is_cut_off(engines: list[ScriptedEngine], tmp_path: Path) -> None:
    declared = Declared(tmp_path / "inference.toml", drain_s=0.5).add("a", engines[0]).write()
    body = {
        "model": MODEL,
        "max_tokens": 100,
        "temperature": 0,
        "stream": True,
        "messages": [{"role": "user", "content": "hi"}],
    }
    with declared.served() as address:
        engines[0].play(*(step for _ in range(90) for step in (text(" word"), Pause(0.1))))
        with httpx2.stream(
            "POST", f"{address}/v1/messages", json=body, headers=HEADERS, trust_env=False, timeout=30
        ) as response:
            lines = response.iter_lines()
            while "content_block_delta" not in next(lines):
                pass
            engines[0].play(*whole(" word" * 100))
            declared.add("b", engines[1]).write()
            wait_until(lambda: "b" in in_state(address, "ready"))
            del declared.replicas["a"]
            declared.write()
            rest = "\n".join(lines)
        assert "message_stop" in rest, "a greedy answer goes on with another replica"
        wait_until(lambda: set(replicas(address)) == {"b"})


def test_a_changed_replica_is_kept_until_its_successor_is_verified(
    engines: list[ScriptedEngine], tmp_path: Path
) -> None:
    engines[1].golden_answer = [Refuse(500)]
    declared = Declared(tmp_path / "inference.toml").add("a", engines[0]).write()
    with declared.served() as address:
        declared.add("a", engines[1]).write()
        wait_until(lambda: "status 500" in replicas(address).get("a~2", {"reason": ""})["reason"])
        assert create(address) == "Hello there"
        engines[1].golden_answer = whole("Paris.")
        wait_until(lambda: set(replicas(address)) == {"a~2"} == in_state(address, "ready"))
        create(address)
    assert [len(engine.requests) for engine in engines] == [1, 1, 0]


def test_a_broken_file_is_refused_and_the_old_fleet_stays(engines: list[ScriptedEngine], tmp_path: Path) -> None:
    declared = Declared(tmp_path / "inference.toml").add("a", engines[0]).write()
    with declared.served() as address:
        for broken in ("[[models", 'x = "y"', declared.path.read_text() + "wrong = 1\n"):
            declared.write_text(broken)
            with pytest.raises(TimeoutError):
                wait_until(lambda: set(replicas(address)) != {"a"}, within_s=1.5)
            assert create(address) == "Hello there"
        declared.add("b", engines[1]).write()
        wait_until(lambda: in_state(address, "ready") == {"a", "b"})


def test_models_come_and_go(engines: list[ScriptedEngine], tmp_path: Path) -> None:
    engines[1].models = ["second"]
    first = Declared(tmp_path / "inference.toml").add("a", engines[0]).write()
    one = first.path.read_text()
    second = Declared(tmp_path / "second.toml", id="second").add("b", engines[1]).write().path.read_text()
    with first.served() as address:
        first.write_text(one + second)
        wait_until(lambda: in_state(address, "ready") == {"a", "b"})
        assert create(address, "second") == "Hello there"
        with sdk(address) as client:
            assert [model.id for model in client.models.list()] == [MODEL, "second"]
        first.write_text(one)
        wait_until(lambda: set(replicas(address)) == {"a"})
        with pytest.raises(anthropic.NotFoundError):
            create(address, "second")


def test_what_waits_for_a_model_that_is_removed_is_turned_away_at_once(
    engines: list[ScriptedEngine], tmp_path: Path
) -> None:
    engines[1].models = ["second"]
    first = Declared(tmp_path / "inference.toml").add("a", engines[0]).write()
    one = first.path.read_text()
    second = Declared(tmp_path / "second.toml", id="second", timeouts={"queue_s": 60.0}).add("b", engines[1], slots=1)
    running, removed = threading.Event(), threading.Event()
    engines[1].when_asked = lambda _: running.set()
    engines[1].play(text("begun"), Await(removed), finish(), usage(1, 1), DONE, End())
    first.write_text(one + second.write().path.read_text())
    with first.served(ready=2) as address, ThreadPoolExecutor(2) as callers:
        begun = callers.submit(create, address, "second")
        assert running.wait(60)
        waiting = callers.submit(create, address, "second")
        wait_until(lambda: metric(address, 'inference_queue_waiting{model="second",tier="internal"}') == 1)
        first.write_text(one)
        with pytest.raises((anthropic.OverloadedError, anthropic.NotFoundError)):
            waiting.result(60)
        removed.set()
        assert begun.result(60) == "begun"


def test_a_model_that_is_not_for_a_tier_is_refused_to_it(engines: list[ScriptedEngine], tmp_path: Path) -> None:
    declared = Declared(tmp_path / "inference.toml", tiers=["free", "pro"]).add("a", engines[0]).write()
    with declared.served() as address, pytest.raises(anthropic.PermissionDeniedError, match="not available"):
        create(address)


def test_a_hangup_reads_the_file_again(engines: list[ScriptedEngine], tmp_path: Path) -> None:
    declared = Declared(tmp_path / "inference.toml").add("a", engines[0]).write()
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    log = tmp_path / "log"
    environment = {"INFERENCE_CONFIG": str(declared.path), "INFERENCE_SERVICE_KEY": SERVICE_KEY, "REDIS_URL": ""}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "inference_backend", "serve", "--port", str(port)],
            env={**os.environ, **environment},
            stdout=output,
            stderr=output,
        )
    try:
        wait_until(lambda: answers(f"{address}/readyz"))
        # The content is the same, so only the signal can be what makes it say so.
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: "configuration read again" in log.read_text())
        declared.write_text("[[models")
        wait_until(lambda: "configuration refused" in log.read_text())
        assert answers(f"{address}/readyz")
    finally:
        process.terminate()
        process.wait(60)


def test_without_a_file_the_variables_describe_one_model_on_one_engine(engines: list[ScriptedEngine]) -> None:
    settings = Settings.from_environment(
        {
            "INFERENCE_ENGINE_URL": engines[0].url,
            "INFERENCE_ENGINE_MODEL": MODEL,
            "INFERENCE_ENGINE_NOTICE": "small",
            "INFERENCE_SERVICE_KEY": SERVICE_KEY,
        }
    )
    with running_backend(settings) as address:
        assert create(address) == "Hello there"
        with sdk(address) as client:
            [model] = client.models.list()
        assert (model.id, model.model_extra and model.model_extra["notice"]) == (MODEL, "small")
