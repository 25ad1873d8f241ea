"""POST /v1/embeddings: the real table in its process, simulated devices, and another server behind this one."""

import asyncio
import base64
import contextlib
import os
import signal
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from inference_backend.embeddings.configuration import STATIC_MODEL, read_embeddings
from inference_backend.engines.embeddings import share_out
from inference_backend.settings import SettingsError
from tests.inference_backend.conftest import settings_for
from tests.inference_backend.running import SERVICE_KEY, running_backend
from tests.processes import is_alive, of_each
from tests.waiting import until_beside, wait_until

ENGINE = "http://127.0.0.1:1"
HEADERS = {"authorization": f"Bearer {SERVICE_KEY}"}
MODELS = """
[[models]]
id = "m"
[[models.replicas]]
name = "r"
engine = "scripted"
"""


@contextlib.contextmanager
def backend_with(folder: Path, *tables: str, **environment: object) -> Iterator[httpx2.Client]:
    path = folder / "inference.toml"
    path.write_text(MODELS + "".join(f"[[embeddings]]\n{table}\n" for table in tables), encoding="utf-8")
    settings = settings_for(ENGINE, INFERENCE_CONFIG=path, **environment)
    with (
        running_backend(settings, wait_for_ready=False) as address,
        httpx2.Client(base_url=address, headers=HEADERS, timeout=60, trust_env=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    with backend_with(tmp_path_factory.mktemp("table"), INFERENCE_EMBEDDINGS="static") as client:
        yield client


@pytest.fixture(scope="module")
def devices(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    simulated = 'id = "sim"\nengine = "simulated"\nworkers = 2\ncall_ms = 20\ntimeout_ms = 5000\n'
    with backend_with(
        tmp_path_factory.mktemp("devices"),
        simulated + 'faults = { refuses = "poison" }\nmax_input_bytes = 100\ndelay_ms = { internal = [60000, 120000] }',
        'id = "pro-only"\nengine = "simulated"\ncall_ms = 20\ntiers = ["pro"]',
    ) as client:
        yield client


def embed(client: httpx2.Client, texts: object, model: str = STATIC_MODEL, **more: object) -> dict[str, Any]:
    response = client.post("/v1/embeddings", json={"model": model, "input": texts, **more})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def refused(client: httpx2.Client, status: int, body: object, headers: dict[str, str] | None = None) -> dict[str, Any]:
    response = client.post("/v1/embeddings", json=body, headers=headers)
    assert response.status_code == status, response.text
    answer: dict[str, Any] = response.json()
    assert answer["type"] == "error"
    assert answer["request_id"] == response.headers["request-id"]
    error: dict[str, Any] = answer["error"]
    return error


def vectors(answer: dict[str, Any]) -> list[list[float]]:
    return [row["embedding"] for row in answer["data"]]


def likeness(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_texts_that_mean_the_same_are_near_each_other(table: httpx2.Client) -> None:
    answer = embed(table, ["How do I bake bread?", "a recipe for a loaf", "the stock market fell today"])
    bread, loaf, market = vectors(answer)
    assert likeness(bread, loaf) > likeness(bread, market) + 0.2
    assert likeness(bread, bread) == pytest.approx(1, abs=1e-5)
    assert len(bread) == 256


def test_the_answer_has_the_shape_that_clients_know(table: httpx2.Client) -> None:
    response = table.post("/v1/embeddings", json={"model": STATIC_MODEL, "input": ["one", "two words"], "user": "u"})
    answer = response.json()
    assert set(answer) == {"object", "data", "model", "usage"}
    assert (answer["object"], answer["model"]) == ("list", STATIC_MODEL)
    assert [(row["object"], row["index"]) for row in answer["data"]] == [("embedding", 0), ("embedding", 1)]
    assert answer["usage"]["total_tokens"] == answer["usage"]["prompt_tokens"] >= 3
    assert response.headers["request-id"].startswith("req_")
    assert "anthropic-ratelimit-requests-remaining" in response.headers


def test_both_encodings_hold_the_same_numbers(table: httpx2.Client) -> None:
    (numbers,) = vectors(embed(table, "hello", encoding_format="float"))
    (text,) = vectors(embed(table, "hello", encoding_format="base64"))
    assert list(struct.unpack("<256f", base64.b64decode(str(text)))) == numbers


def test_a_text_has_one_vector_in_whatever_company(table: httpx2.Client) -> None:
    alone = vectors(embed(table, "hello"))[0]
    together = vectors(embed(table, [f"text {number}" for number in range(255)] + ["hello"]))[-1]
    assert together == pytest.approx(alone)


def test_the_only_dimensions_are_those_that_the_model_has(table: httpx2.Client) -> None:
    assert len(vectors(embed(table, "hello", dimensions=256))[0]) == 256
    error = refused(table, 400, {"model": STATIC_MODEL, "input": "hello", "dimensions": 64})
    assert error["message"].startswith("dimensions: ")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"input": []}, "input"),
        ({"input": ""}, "input: An input must not be empty"),
        ({"input": ["a", ""]}, "input: An input must not be empty"),
        ({"input": ["a"] * 257}, "input"),
        ({"input": [[1, 2]]}, "Token numbers are not supported"),
        ({"input": [1, 2]}, "Token numbers are not supported"),
        ({"input": None}, "input"),
        ({"input": ["a", None]}, "input.1"),
        ({"input": "x" * 101}, "input.0: is 101 bytes long; the limit is 100"),
        ({"input": ["a", "ä" * 51]}, "input.1: is 102 bytes long"),
        ({"encoding_format": "hex"}, "encoding_format"),
        ({"dimensions": 0}, "dimensions"),
        ({"surprise": 1}, "surprise"),
        ({"model": None}, "model"),
    ],
)
def test_a_wrong_request_is_told_what_is_wrong(devices: httpx2.Client, change: dict[str, Any], said: str) -> None:
    error = refused(devices, 400, {"model": "sim", "input": "a"} | change)
    assert error["type"] == "invalid_request_error"
    assert said in error["message"]


def test_keys_models_and_tiers_are_checked_as_on_the_other_routes(devices: httpx2.Client) -> None:
    body = {"model": "sim", "input": "a"}
    assert refused(devices, 401, body, {"authorization": "Bearer wrong"})["type"] == "authentication_error"
    assert refused(devices, 404, body | {"model": "none"})["type"] == "not_found_error"
    assert refused(devices, 403, body | {"model": "pro-only"})["type"] == "permission_error"
    free = {"x-playground-tier": "pro", "x-playground-account": "somebody"}
    assert devices.post("/v1/embeddings", json=body | {"model": "pro-only"}, headers=free).status_code == 200


async def test_one_bad_input_fails_alone_and_is_named(devices: httpx2.Client) -> None:
    async with httpx2.AsyncClient(base_url=devices.base_url, headers=HEADERS, timeout=60, trust_env=False) as client:

        async def post(texts: object) -> httpx2.Response:
            return await client.post("/v1/embeddings", json={"model": "sim", "input": texts})

        good = [post(f"text {number}") for number in range(40)]
        bad, several, *rest = await asyncio.gather(post("poison"), post(["a", "b", "poison"]), *good)
        assert bad.status_code == several.status_code == 400
        assert several.json()["error"]["message"].startswith("input.2: ")
        assert {response.status_code for response in rest} == {200}


async def test_the_process_of_the_table_may_be_killed_at_any_time(table: httpx2.Client) -> None:
    """Whoever waits gets the right vector, once; a new process takes over."""
    expected = {text: vectors(embed(table, text))[0] for text in ("bread", "market", "weather")}
    async with httpx2.AsyncClient(base_url=table.base_url, headers=HEADERS, timeout=60, trust_env=False) as client:

        async def post(text: str) -> None:
            response = await client.post("/v1/embeddings", json={"model": STATIC_MODEL, "input": text})
            assert response.status_code == 200, response.text
            assert vectors(response.json()) == [pytest.approx(expected[text])]

        async def kill() -> None:
            for _ in range(3):
                for process in table_processes():
                    with contextlib.suppress(psutil.NoSuchProcess):
                        process.kill()
                await asyncio.sleep(0.3)

        callers = [post(text) for _ in range(60) for text in expected]
        await asyncio.gather(kill(), *callers)
    wait_until(lambda: vectors(embed(table, "bread"))[0] == pytest.approx(expected["bread"]))


async def test_a_process_that_hangs_is_replaced(tmp_path: Path) -> None:
    with backend_with(tmp_path, 'id = "t"\nengine = "static"\ncall_ms = 2\ntimeout_ms = 3000') as client:
        before = vectors(embed(client, "bread", "t"))
        others = {process.pid for process in table_processes()}
        for process in table_processes():
            if process.ppid() == os.getpid() and process.pid == max(others):
                process.send_signal(signal.SIGSTOP)
        assert vectors(embed(client, "bread", "t")) == [pytest.approx(before[0])]


def table_processes() -> list[psutil.Process]:
    lines = of_each(psutil.Process().children(recursive=True), lambda child: (child, " ".join(child.cmdline())))
    return [child for child, line in lines if "static_table" in line and is_alive(child)]


def test_a_caller_that_leaves_is_taken_out_of_the_queue(tmp_path: Path) -> None:
    slow = 'id = "slow"\nengine = "simulated"\ncall_ms = 30000\nmax_size = 1\nqueue_s = 600\n'
    slow += "delay_ms = { internal = [1e6, 2e6] }"
    with backend_with(tmp_path, slow) as client:
        callers = [leaving(client, '{"model": "slow", "input": "a"}') for _ in range(2)]

        def count(end: str) -> float:
            name = f'inference_batch_inputs{{end="{end}",pool="slow"}} '
            lines = client.get("/metrics").text.splitlines()
            return next((float(line.removeprefix(name)) for line in lines if line.startswith(name)), 0.0)

        wait_until(lambda: count("submitted") == 2)
        for caller in callers:
            caller.close()
        wait_until(lambda: count("cancelled") == 2)


def leaving(client: httpx2.Client, body: str) -> socket.socket:
    connection = socket.create_connection((str(client.base_url.host), client.base_url.port or 0))
    head = (
        f"POST /v1/embeddings HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {SERVICE_KEY}\r\ncontent-length: {len(body)}"
    )
    connection.sendall(f"{head}\r\n\r\n{body}".encode())
    return connection


async def test_free_is_turned_away_first_with_a_time_to_come_back(tmp_path: Path) -> None:
    narrow = 'id = "sim"\nengine = "simulated"\ncall_ms = 50\nmax_size = 1\ntimeout_ms = 30000\n'
    bands = "delay_ms = { free = [1, 2], internal = [60000, 120000] }"
    with backend_with(tmp_path, narrow + bands) as backend:
        async with httpx2.AsyncClient(
            base_url=backend.base_url, headers=HEADERS, timeout=60, trust_env=False
        ) as client:

            async def post(tier: str) -> httpx2.Response:
                body = {"model": "sim", "input": "a"}
                return await client.post("/v1/embeddings", json=body, headers={"x-playground-tier": tier})

            answers = await asyncio.gather(*(post(tier) for tier in ("free", "internal") for _ in range(30)))
            free, internal = answers[:30], answers[30:]
            turned_away = [answer for answer in free if answer.status_code == 529]
            assert len(turned_away) >= 20
            assert all(1 <= int(answer.headers["retry-after"]) <= 60 for answer in turned_away)
            assert {answer.json()["error"]["type"] for answer in turned_away} == {"overloaded_error"}
            assert {answer.status_code for answer in internal} == {200}


async def test_models_come_change_and_go_without_a_restart_or_a_failed_request(tmp_path: Path) -> None:
    def table(name: str, workers: int) -> str:
        return (
            f'id = "{name}"\nengine = "simulated"\nworkers = {workers}\ncall_ms = 30\ntimeout_ms = 9000\n'
            "delay_ms = { internal = [60000, 120000] }"
        )

    with backend_with(tmp_path, table("sim", 1), table("old", 1)) as client:

        def workers_of(name: str) -> float:
            key = f'inference_batch_workers{{pool="{name}",state="healthy"}} '
            lines = client.get("/metrics").text.splitlines()
            return next((float(line.removeprefix(key)) for line in lines if line.startswith(key)), 0.0)

        asking = asyncio.create_task(ask_for_a_while(str(client.base_url), "sim"))
        await until_beside(lambda: workers_of("sim") == 1)
        path = tmp_path / "inference.toml"
        changed = "".join(f"[[embeddings]]\n{one}\n" for one in (table("sim", 3), table("new", 1)))
        path.write_text(MODELS + changed, encoding="utf-8")
        await until_beside(lambda: workers_of("sim") == 3 and workers_of("new") == 1)
        assert set(await asking) == {200}
        refused(client, 404, {"model": "old", "input": "a"})


async def ask_for_a_while(address: str, model: str) -> list[int]:
    body = {"model": model, "input": "a"}
    statuses = []
    async with httpx2.AsyncClient(base_url=address, headers=HEADERS, timeout=60, trust_env=False) as client:
        for _ in range(40):
            calls = (client.post("/v1/embeddings", json=body) for _ in range(8))
            statuses += [response.status_code for response in await asyncio.gather(*calls)]
    return statuses


def test_a_server_behind_it_speaks_the_same_language(tmp_path: Path, devices: httpx2.Client) -> None:
    """Another backend stands in for vLLM: any server with /v1/embeddings will do."""
    table = f"""
id = "remote"
engine = "openai"
urls = ["{devices.base_url}"]
model = "sim"
api_key_env = "REMOTE_KEY"
workers = 3
call_ms = 50
timeout_ms = 10000
delay_ms = {{ internal = [60000, 120000] }}
"""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("REMOTE_KEY", SERVICE_KEY)
        with backend_with(tmp_path, table) as client:
            wait_until(lambda: client.post("/v1/embeddings", json={"model": "remote", "input": "a"}).status_code == 200)
            texts = ["one", "two words", "and three words"]
            far, near = embed(client, texts, "remote"), embed(devices, texts, "sim")
            assert vectors(far) == vectors(near)
            assert far["usage"] == near["usage"]
            error = refused(client, 400, {"model": "remote", "input": ["fine", "poison"]})
            assert error["message"].startswith("input.1: ")


def test_tokens_of_a_call_are_shared_out_completely() -> None:
    assert share_out(10, [1, 1, 1]) == [3, 4, 3]
    assert share_out(7, [100, 0, 1]) == [7, 0, 0]
    assert share_out(5, [0, 0]) == [0, 0]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"engine": "openai"}, "needs url or urls"),
        ({"engine": "openai", "url": "localhost"}, "http(s) address"),
        ({"engine": "openai", "urls": ["http://a:1", "http://a:1/v1"]}, "twice"),
        ({"engine": "openai", "url": "http://a:1", "api_key_env": "NOT_THERE"}, "NOT_THERE is not set"),
        ({"engine": "static", "url": "http://a:1"}, "has no url"),
        ({"engine": "static", "faults": {"kills": "x"}}, "only a simulated engine"),
        ({"engine": "simulated", "faults": {"killz": "x"}}, "unknown field killz"),
        ({"engine": "simulated", "faults": {"dies_at": 3}}, "dies_at: 3 is not understood"),
        ({"engine": "simulated", "faults": {"down_s": "long"}}, "down_s: 'long' is not understood"),
        ({"engine": "simulated", "call_ms": 200, "timeout_ms": 100}, "above call_ms"),
        ({"engine": "simulated", "delay_ms": {"free": [5, 5]}}, "low < high"),
        ({"engine": "simulated", "delay_ms": {"free": [100, 200]}}, "free must not end above pro"),
        ({"engine": "simulated", "queue_s": 0.2}, "above call_ms"),
        ({"engine": "simulated", "queue_s": 0.3}, "before pro is turned away by delay"),
        ({"engine": "simulated", "queue_s": 0.23, "tiers": ["free", "internal"]}, "0.24 s"),
        ({"engine": "simulated", "worker": 2}, "worker"),
        ({"engine": "torch"}, "engine"),
    ],
)
def test_a_wrong_table_stops_the_start_and_names_the_place(table: dict[str, object], said: str) -> None:
    with pytest.raises(SettingsError, match="embeddings") as failure:
        read_embeddings({"embeddings": [{"id": "x", **table}]}, {})
    assert said in str(failure.value)


@pytest.mark.parametrize(
    "table",
    [
        {"engine": "simulated", "queue_s": 0.35},
        {"engine": "simulated", "queue_s": 0.201, "tiers": ["free"]},
        {"engine": "simulated", "delay_ms": {"internal": [60_000, 120_000]}},
        {"engine": "static", "call_ms": 2, "queue_s": 0.01},
    ],
)
def test_the_best_tier_may_run_out_of_time_before_it_is_turned_away_by_delay(table: dict[str, object]) -> None:
    assert read_embeddings({"embeddings": [{"id": "x", **table}]}, {})
