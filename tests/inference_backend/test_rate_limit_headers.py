"""What a caller is told about its limits, with every answer and with every refusal."""

import datetime as dt
import secrets
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anthropic
import httpx2
import pytest

from tests.inference_backend.limited import BODY, ask, headers_of, limited
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
)
from tests.waiting import wait_until

KINDS = ("requests", "tokens", "input-tokens", "output-tokens")


@pytest.fixture
def account() -> str:
    return secrets.token_hex(8)


@pytest.fixture
def address(engine: ScriptedEngine, redis_url: str, tmp_path: Path) -> Iterator[str]:
    settings = limited(
        tmp_path,
        engine,
        redis_url,
        requests_per_minute=2,
        input_tokens_per_minute=10_000,
        output_tokens_per_minute=1_000,
        concurrency=1,
    )
    with running_backend(settings) as running:
        yield running


def limit(response: httpx2.Response, kind: str, what: str) -> str:
    return response.headers[f"anthropic-ratelimit-{kind}-{what}"]


def test_every_answer_to_a_known_caller_tells_all_limits(address: str, account: str) -> None:
    headers = headers_of(account)
    for response in (
        httpx2.get(f"{address}/v1/models", headers=headers, trust_env=False),
        ask(address, account),
        ask(address, account, model="unknown"),
        ask(address, account, max_tokens=0),
    ):
        for kind in KINDS:
            assert 0 <= int(limit(response, kind, "remaining")) <= int(limit(response, kind, "limit"))
            reset = dt.datetime.fromisoformat(limit(response, kind, "reset"))
            assert reset.tzinfo is not None
            assert -5 < reset.timestamp() - time.time() < 70
        assert response.headers["request-id"]


def test_what_is_left_goes_down_and_the_tightest_of_the_tokens_is_shown_as_tokens(address: str, account: str) -> None:
    first = ask(address, account)
    assert limit(first, "requests", "limit") == "2"
    assert limit(first, "requests", "remaining") == "1"
    assert limit(first, "tokens", "limit") == limit(first, "output-tokens", "limit") == "1000"


def test_a_stranger_is_told_no_limits(address: str) -> None:
    response = httpx2.get(f"{address}/v1/models", headers={"x-api-key": "wrong"}, trust_env=False)
    assert response.status_code == 401
    assert not [name for name in response.headers if "ratelimit" in name]


def test_beyond_the_requests_of_a_minute_the_answer_is_429_with_a_time_to_come_back(address: str, account: str) -> None:
    for _ in range(2):
        assert ask(address, account).status_code == 200
    refused = ask(address, account)
    assert refused.status_code == 429
    assert refused.json()["error"]["type"] == "rate_limit_error"
    assert "requests" in refused.json()["error"]["message"]
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert limit(refused, "requests", "remaining") == "0"
    metrics = httpx2.get(f"{address}/metrics", trust_env=False).text
    assert 'inference_limited_total{limit="requests",tier="free"} 1.0' in metrics


def test_the_sdk_sees_its_rate_limit_error(address: str, account: str) -> None:
    headers = headers_of(account)
    with anthropic.Anthropic(base_url=address, api_key=SERVICE_KEY, max_retries=0, default_headers=headers) as client:
        for _ in range(2):
            client.messages.create(**BODY)
        with pytest.raises(anthropic.RateLimitError):
            client.messages.create(**BODY)


def test_beside_a_request_that_runs_a_second_one_is_refused_and_costs_nothing(
    engine: ScriptedEngine, address: str, account: str
) -> None:
    """requests 2, concurrency 1: A runs, B is refused, A ends, C passes."""
    engine.play(text("one"), Pause(0.6), finish(), usage(5, 2), DONE, End())
    with ThreadPoolExecutor(1) as pool:
        a = pool.submit(ask, address, account)
        wait_until(lambda: engine.requests)
        b = ask(address, account)
        assert a.result(60).status_code == 200
    c = ask(address, account)
    assert b.status_code == 429
    assert "same time" in b.json()["error"]["message"]
    assert c.status_code == 200
    assert ask(address, account).status_code == 429


def test_a_request_that_was_not_answered_is_given_back(engine: ScriptedEngine, address: str, account: str) -> None:
    for _ in range(5):
        engine.play(Refuse(400, '{"error": {"message": "no"}}'))
        assert ask(address, account).status_code == 400
    assert ask(address, account).status_code == 200


def test_counting_has_the_limits_once_more_for_itself(address: str, account: str) -> None:
    def count() -> int:
        prompt = {name: value for name, value in BODY.items() if name != "max_tokens"}
        return httpx2.post(
            f"{address}/v1/messages/count_tokens", json=prompt, headers=headers_of(account), trust_env=False
        ).status_code

    assert [count() for _ in range(3)] == [200, 200, 429]
    assert [ask(address, account).status_code for _ in range(3)] == [200, 200, 429]


def test_a_replay_costs_nothing(address: str, account: str) -> None:
    key = secrets.token_hex(8)
    for _ in range(6):
        assert ask(address, account, key=key).status_code == 200
    assert ask(address, account).status_code == 200
    assert ask(address, account).status_code == 429


@pytest.mark.parametrize("stream", [True, False])
def test_twenty_requests_one_after_the_other_pass_a_concurrency_of_two(
    engine: ScriptedEngine, redis_url: str, tmp_path: Path, account: str, stream: bool
) -> None:
    with running_backend(limited(tmp_path, engine, redis_url, concurrency=2)) as address:
        for _ in range(20):
            assert ask(address, account, stream=stream).status_code == 200


def test_two_services_share_the_limits_of_an_account(
    engine: ScriptedEngine, redis_url: str, tmp_path: Path, account: str
) -> None:
    settings = limited(tmp_path, engine, redis_url, requests_per_minute=4)
    with running_backend(settings) as one, running_backend(settings) as two:
        answers = [ask(address, account).status_code for address in (one, two) * 3]
    assert answers == [200] * 4 + [429] * 2


def test_an_answer_that_reports_no_input_at_all_costs_no_input(
    engine: ScriptedEngine, address: str, account: str
) -> None:
    """0 is a number; only None is replaced by an estimate."""
    engine.play(text("one"), finish(), usage(0, 0), DONE, End())
    answer = ask(address, account)
    assert answer.json()["usage"]["input_tokens"] == 0
    assert answer.json()["usage"]["output_tokens"] == 0
    after = ask(address, account, messages=[{"role": "user", "content": "again"}])
    assert limit(answer, "input-tokens", "limit") == "10000"
    # What the second reserves is missing, what the first reserved is back.
    assert int(limit(after, "input-tokens", "remaining")) >= int(limit(answer, "input-tokens", "remaining")) - 2


def test_limits_change_with_the_file_and_a_mistake_in_it_changes_nothing(
    engine: ScriptedEngine, redis_url: str, tmp_path: Path, account: str
) -> None:
    with running_backend(limited(tmp_path, engine, redis_url, requests_per_minute=7)) as address:

        def shown() -> str:
            response = httpx2.get(f"{address}/v1/models", headers=headers_of(secrets.token_hex(4)), trust_env=False)
            return limit(response, "requests", "limit")

        assert shown() == "7"
        limited(tmp_path, engine, redis_url, requests_per_minute=9)
        wait_until(lambda: shown() == "9")
        limited(tmp_path, engine, redis_url, requests_per_minute=0)
        time.sleep(1.5)
        assert shown() == "9"
        assert MODEL in httpx2.get(f"{address}/v1/models", headers=headers_of(account), trust_env=False).text
