"""A stream whose idempotency key was given to another attempt (its store lost what it knew) ends, and says so."""

import json
import secrets
from collections.abc import Iterator

import httpx2
import pytest
import redis

from tests.inference_backend.conftest import impatient
from tests.inference_backend.declared import HEADERS
from tests.inference_backend.running import running_backend
from tests.inference_backend.scripted_engine import MODEL, Pause, ScriptedEngine, Step, text

ENDLESS: list[Step] = [step for _ in range(300) for step in (text("on "), Pause(0.1))]


@pytest.fixture
def address(redis_url: str) -> Iterator[str]:
    engine = ScriptedEngine(scripts={"endless": ENDLESS})
    engine.start()
    with running_backend(impatient(engine, REDIS_URL=redis_url, INFERENCE_TOTAL_TIMEOUT_S=60)) as running:
        yield running
    engine.stop()


def test_the_stream_of_an_attempt_that_was_overtaken_ends_in_an_error_event(address: str, redis_url: str) -> None:
    body = {
        "model": MODEL,
        "max_tokens": 500,
        "stream": True,
        "messages": [{"role": "user", "content": "script:endless"}],
    }
    headers = HEADERS | {"idempotency-key": secrets.token_hex(16)}
    events: list[dict[str, object]] = []
    with (
        redis.Redis.from_url(redis_url) as store,
        httpx2.stream(
            "POST", f"{address}/v1/messages", json=body, headers=headers, trust_env=False, timeout=30
        ) as response,
    ):
        before = set(store.scan_iter("idempotency:*", count=1000))
        assert before
        for line in response.iter_lines():
            if not line.startswith("data: "):
                continue
            events.append(json.loads(line[6:]))
            if len(events) == 3:
                for entry in before:
                    store.hset(entry, "fence", "of another attempt")
    assert [event["type"] for event in events[:3]] == ["message_start", "content_block_start", "content_block_delta"]
    assert events[-1]["type"] == "error"
    assert "message_stop" not in {event["type"] for event in events}
