"""A request with an Idempotency-Key is generated once: seen by callers, over real services and processes."""

import json
import secrets
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest

from tests.inference_backend.conftest import sdk, settings_for, start_service
from tests.inference_backend.declared import metric
from tests.inference_backend.running import SERVICE_KEY, answers, running_backend
from tests.inference_backend.scripted_engine import (
    DONE,
    MODEL,
    Await,
    Close,
    End,
    Hang,
    Pause,
    Refuse,
    ScriptedEngine,
    Step,
    finish,
    text,
    usage,
)
from tests.valkey import Valkey
from tests.waiting import wait_until

BODY: dict[str, Any] = {"model": MODEL, "max_tokens": 50, "messages": [{"role": "user", "content": "hello"}]}
REST: list[Step] = [text(" two"), finish(), usage(5, 2), DONE, End()]


@pytest.fixture
def service(engine: ScriptedEngine, redis_url: str) -> Iterator[str]:
    with running_backend(settings_for(engine.url, INFERENCE_ENGINE_MODEL=MODEL, REDIS_URL=redis_url)) as address:
        yield address


@pytest.fixture
def twin(engine: ScriptedEngine, redis_url: str) -> Iterator[str]:
    """Another service on the same store."""
    with running_backend(settings_for(engine.url, INFERENCE_ENGINE_MODEL=MODEL, REDIS_URL=redis_url)) as address:
        yield address


@pytest.fixture
def key() -> str:
    return secrets.token_hex(16)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as workers:
        yield workers


def post(address: str, key: str | None, *, account: str = "ada", **changes: object) -> httpx2.Response:
    headers = {"x-api-key": SERVICE_KEY, "anthropic-version": "2023-06-01", "x-playground-account": account}
    if key:
        headers["idempotency-key"] = key
    return httpx2.post(f"{address}/v1/messages", json=BODY | changes, headers=headers, trust_env=False, timeout=30)


def counted(address: str, outcome: str) -> float:
    return metric(address, f'inference_idempotency_total{{outcome="{outcome}"}}')


def text_of(response: httpx2.Response) -> str:
    assert response.status_code == 200, response.text
    return str(response.json()["content"][0]["text"])


def is_replayed(response: httpx2.Response) -> bool:
    return response.headers.get("idempotent-replayed") == "true"


@pytest.mark.parametrize("stream", [True, False])
def test_a_second_caller_joins_the_first(
    engine: ScriptedEngine, service: str, key: str, pool: ThreadPoolExecutor, stream: bool
) -> None:
    joined = threading.Event()
    engine.play(text("one"), Await(joined), *REST)
    first = pool.submit(post, service, key, stream=stream)
    wait_until(lambda: engine.requests)
    second = pool.submit(post, service, key, stream=stream)
    wait_until(lambda: counted(service, "joined") == 1)
    joined.set()
    one, two = first.result(60), second.result(60)
    assert one.content == two.content
    assert b"one" in one.content
    assert len(engine.requests) == 1
    assert (is_replayed(one), is_replayed(two)) == (False, True)
    assert one.headers["request-id"] != two.headers["request-id"]


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_is_replayed_by_any_service_and_costs_nothing(
    engine: ScriptedEngine, service: str, twin: str, key: str, stream: bool
) -> None:
    account = secrets.token_hex(4)
    first = post(service, key, account=account, stream=stream)
    left = first.headers["anthropic-ratelimit-requests-remaining"]
    for address in (service, twin):
        again = post(address, key, account=account, stream=stream)
        assert again.content == first.content
        assert again.headers["content-type"] == first.headers["content-type"]
        assert is_replayed(again)
    assert len(engine.requests) == 1
    assert int(again.headers["anthropic-ratelimit-requests-remaining"]) >= int(left)


def test_a_retry_after_a_lost_answer_generates_nothing(engine: ScriptedEngine, service: str, key: str) -> None:
    engine.play(text("one"), *REST)
    drop_the_answer(service, key)
    again = post(service, key)
    assert text_of(again) == "one two"
    assert is_replayed(again)
    assert len(engine.requests) == 1


def drop_the_answer(address: str, key: str) -> None:
    """The answer is made and sent, and its reader is gone before a byte of it is read."""
    host, port = address.removeprefix("http://").split(":")
    body = json.dumps(BODY).encode()
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(
            f"POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: {SERVICE_KEY}\r\nanthropic-version: 2023-06-01\r\n"
            f"x-playground-account: ada\r\nidempotency-key: {key}\r\ncontent-length: {len(body)}\r\n\r\n".encode()
            + body
        )
        connection.recv(1, socket.MSG_PEEK)


def test_a_retry_by_the_sdk_at_another_process_generates_once(
    engine: ScriptedEngine, service: str, twin: str, key: str, pool: ThreadPoolExecutor
) -> None:
    engine.play(text("one"), Pause(1.0), *REST)
    first = pool.submit(post, service, key, account="service")
    wait_until(lambda: engine.requests)
    with anthropic.Anthropic(
        base_url=twin, api_key=SERVICE_KEY, max_retries=4, default_headers={"anthropic-version": "2023-06-01"}
    ) as client:
        answer = client.messages.create(**BODY, extra_headers={"Idempotency-Key": key})
    assert answer.content[0].text == "one two"
    assert text_of(first.result(60)) == "one two"
    assert len(engine.requests) == 1


@pytest.mark.parametrize("stream", [True, False])
def test_a_caller_of_another_process_joins_the_answer_that_is_being_written(
    engine: ScriptedEngine, service: str, twin: str, key: str, pool: ThreadPoolExecutor, stream: bool
) -> None:
    told = threading.Event()
    engine.play(text("one"), Await(told), *REST)
    first = pool.submit(post, service, key, stream=stream)
    wait_until(lambda: engine.requests)
    second = pool.submit(post, twin, key, stream=stream)
    wait_until(lambda: counted(twin, "joined") == 1)
    told.set()
    one, two = first.result(60), second.result(60)
    assert two.status_code == 200
    assert two.content == one.content
    assert is_replayed(two)
    assert len(engine.requests) == 1


def test_a_stream_is_heard_by_another_process_while_it_is_written(
    engine: ScriptedEngine, service: str, twin: str, key: str, pool: ThreadPoolExecutor
) -> None:
    told, heard = threading.Event(), threading.Event()
    engine.play(text("one"), Await(told), *REST)
    first = pool.submit(post, service, key, stream=True)
    wait_until(lambda: engine.requests)
    second = pool.submit(listen, twin, key, heard)
    assert heard.wait(60), "the beginning is there while the rest is still to be written"
    assert not first.done()
    told.set()
    assert second.result(60) == first.result(60).content
    assert len(engine.requests) == 1


def test_who_listens_to_a_process_that_is_killed_is_told_so_and_may_come_back(
    engine: ScriptedEngine, twin: str, redis_url: str, key: str, tmp_path: Path, pool: ThreadPoolExecutor
) -> None:
    process = start_service(engine, tmp_path / "log", REDIS_URL=redis_url)
    engine.play(text("one"), Hang())
    broken = pool.submit(post, process.address, key, stream=True)
    wait_until(lambda: engine.requests)
    heard = threading.Event()
    listening = pool.submit(listen, twin, key, heard)
    assert heard.wait(60)
    process.kill()
    with pytest.raises(httpx2.HTTPError):
        broken.result(60)
    end = listening.result(60)
    assert b"event: error" in end
    assert b"message_stop" not in end
    assert "Hello there" in post(twin, key).text


def listen(address: str, key: str, heard: threading.Event) -> bytes:
    """All of a stream; `heard` is set with the first words."""
    content = b""
    headers = {"x-api-key": SERVICE_KEY, "anthropic-version": "2023-06-01", "x-playground-account": "ada"}
    with httpx2.stream(
        "POST",
        f"{address}/v1/messages",
        json=BODY | {"stream": True},
        headers=headers | {"idempotency-key": key},
        trust_env=False,
        timeout=60,
    ) as response:
        for data in response.iter_raw():
            content += data
            if b"one" in content:
                heard.set()
    return content


def test_a_key_of_another_request_is_409_and_not_to_be_tried_again(service: str, key: str) -> None:
    assert post(service, key).status_code == 200
    refused = post(service, key, max_tokens=51)
    assert refused.status_code == 409
    assert refused.json()["error"]["type"] == "conflict_error"
    assert refused.headers["x-should-retry"] == "false"


def test_keys_of_two_accounts_have_nothing_to_do_with_each_other(
    engine: ScriptedEngine, service: str, key: str
) -> None:
    assert not is_replayed(post(service, key, account="ada"))
    assert not is_replayed(post(service, key, account="bob", max_tokens=51))
    assert len(engine.requests) == 2


@pytest.mark.parametrize("value", ["", "a b", "x" * 256])
def test_a_key_that_is_no_key_is_refused_by_name(service: str, value: str) -> None:
    response = httpx2.post(
        f"{service}/v1/messages",
        json=BODY,
        headers={"x-api-key": SERVICE_KEY, "anthropic-version": "2023-06-01", "idempotency-key": value},
        trust_env=False,
    )
    assert response.status_code == 400
    assert "idempotency-key" in response.json()["error"]["message"]


def test_a_request_that_was_turned_away_can_be_sent_again_at_once(
    engine: ScriptedEngine, service: str, twin: str, key: str
) -> None:
    engine.play(Refuse(500, "broken"))
    refused = post(service, key)
    assert refused.status_code >= 500
    wait_until(lambda: answers(f"{twin}/readyz"))
    again = post(twin, key)
    assert text_of(again) == "Hello there"
    assert not is_replayed(again)


def test_an_answer_that_broke_off_is_generated_anew(engine: ScriptedEngine, service: str, key: str) -> None:
    engine.play(text("one"), Refuse(500), Close())
    broken = post(service, key, stream=True)
    assert broken.status_code == 200
    assert "event: error" in broken.text
    assert "message_stop" not in broken.text
    wait_until(lambda: answers(f"{service}/readyz"))
    again = post(service, key, stream=True)
    assert "message_stop" in again.text
    assert not is_replayed(again)


@pytest.mark.parametrize("stream", [True, False])
def test_when_the_only_caller_leaves_the_engine_is_told_and_the_key_is_free(
    engine: ScriptedEngine, service: str, twin: str, key: str, stream: bool
) -> None:
    engine.play(Hang())
    with pytest.raises(httpx2.ReadTimeout):
        httpx2.post(
            f"{service}/v1/messages",
            json=BODY | {"stream": stream},
            headers={
                "x-api-key": SERVICE_KEY,
                "anthropic-version": "2023-06-01",
                "x-playground-account": "ada",
                "idempotency-key": key,
            },
            trust_env=False,
            timeout=httpx2.Timeout(5, read=0.3),
        )
    assert engine.caller_left.wait(30)
    again = post(twin, key, stream=stream)
    assert again.status_code == 200
    assert not is_replayed(again)


def test_when_one_of_two_callers_leaves_the_other_gets_the_answer(
    engine: ScriptedEngine, service: str, key: str, pool: ThreadPoolExecutor
) -> None:
    left, leaving = threading.Event(), threading.Event()
    engine.play(text("one"), Await(left), *REST)
    first: Future[None] = pool.submit(read_a_little, service, key, leaving)
    wait_until(lambda: engine.requests)
    second = pool.submit(post, service, key, stream=True)
    wait_until(lambda: counted(service, "joined") == 1)
    leaving.set()
    first.result(60)
    left.set()
    assert "message_stop" in second.result(60).text
    assert len(engine.requests) == 1


def read_a_little(address: str, key: str, leaving: threading.Event) -> None:
    headers = {"x-api-key": SERVICE_KEY, "anthropic-version": "2023-06-01", "x-playground-account": "ada"}
    with httpx2.stream(
        "POST",
        f"{address}/v1/messages",
        json=BODY | {"stream": True},
        headers=headers | {"idempotency-key": key},
        trust_env=False,
    ) as response:
        lines = response.iter_lines()
        next(lines)
        leaving.wait(60)


def test_an_answer_survives_a_restart_of_the_service(engine: ScriptedEngine, redis_url: str, key: str) -> None:
    settings = settings_for(engine.url, INFERENCE_ENGINE_MODEL=MODEL, REDIS_URL=redis_url)
    with running_backend(settings) as address:
        first = post(address, key)
    with running_backend(settings) as address:
        again = post(address, key)
    assert again.content == first.content
    assert is_replayed(again)
    assert len(engine.requests) == 1


def test_after_a_kill_of_the_process_a_retry_generates_when_the_lease_is_over(
    engine: ScriptedEngine, twin: str, redis_url: str, key: str, tmp_path: Path, pool: ThreadPoolExecutor
) -> None:
    process = start_service(engine, tmp_path / "log", REDIS_URL=redis_url)
    engine.play(text("one"), Hang())
    broken = pool.submit(post, process.address, key)
    wait_until(lambda: engine.requests)
    process.kill()
    with pytest.raises(httpx2.HTTPError):
        broken.result(60)
    again = post(twin, key)
    assert text_of(again) == "Hello there"
    assert not is_replayed(again)
    assert len(engine.requests) == 2


def test_while_the_store_is_down_only_requests_with_a_key_are_refused(
    engine: ScriptedEngine, tmp_path: Path, key: str
) -> None:
    server = Valkey(tmp_path)
    server.start()
    settings = settings_for(engine.url, INFERENCE_ENGINE_MODEL=MODEL, REDIS_URL=server.url)
    with running_backend(settings) as address:
        server.kill()
        refused = post(address, key)
        assert refused.status_code == 503
        assert "Nothing was generated" in refused.json()["error"]["message"]
        assert refused.headers["retry-after"] == "1"
        assert engine.requests == []
        assert post(address, None).status_code == 200
        server.start()
        wait_until(lambda: post(address, key).status_code == 200)
    server.kill()


def test_the_outcomes_are_counted(service: str, key: str) -> None:
    with sdk(service, default_headers={"anthropic-version": "2023-06-01"}) as client:
        for _ in range(2):
            client.messages.create(**BODY, extra_headers={"Idempotency-Key": key})
    for outcome in ("generated", "replayed"):
        assert counted(service, outcome) == 1
