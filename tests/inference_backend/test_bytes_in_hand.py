"""The bodies of all requests together: more than the process has memory for is refused, and what left is forgotten."""

import contextlib
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx2
import pytest
from prometheus_client import CollectorRegistry, Gauge

from inference_backend.bytes_in_hand import BytesInHand
from inference_backend.errors import TooManyBytesError
from inference_backend.record import RequestRecord
from inference_backend.tiers import Tier
from tests.inference_backend.conftest import settings_for
from tests.inference_backend.declared import metric
from tests.inference_backend.running import SERVICE_KEY, running_backend
from tests.inference_backend.scripted_engine import MODEL, ScriptedEngine
from tests.waiting import wait_until

KIB = 1024
HEADERS = {"x-api-key": SERVICE_KEY, "anthropic-version": "2023-06-01", "content-type": "application/json"}


@pytest.fixture
def small(engine: ScriptedEngine) -> Iterator[str]:
    """A service with room for one mebibyte of bodies."""
    settings = settings_for(engine.url, INFERENCE_ENGINE_MODEL=MODEL, INFERENCE_MAX_BODIES_MIB=1)
    with running_backend(settings) as address:
        yield address


@contextlib.contextmanager
def unfinished(address: str, size: int) -> Iterator[None]:
    """A caller of whose body so much has come."""
    target = urlsplit(address)
    head = f"POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: {SERVICE_KEY}\r\nanthropic-version: 2023-06-01\r\n"
    with socket.create_connection((target.hostname or "", target.port or 0), timeout=60) as caller:
        caller.sendall(f"{head}content-length: {8 * size}\r\n\r\n".encode() + b"x" * size)
        wait_until(lambda: metric(address, "inference_body_bytes") == size)
        yield


def count(address: str, size: int) -> httpx2.Response:
    """Of a request of about this size."""
    content = {"model": MODEL, "messages": [{"role": "user", "content": "word " * (size // 5)}]}
    return httpx2.post(
        f"{address}/v1/messages/count_tokens", json=content, headers=HEADERS, trust_env=False, timeout=60
    )


def test_what_does_not_fit_beside_the_others_is_529_and_says_when_to_come_back(small: str) -> None:
    with unfinished(small, 800 * KIB):
        refused = count(small, 400 * KIB)
        assert refused.status_code == 529
        assert refused.json()["error"]["details"]["error_code"] == "too_many_bytes_in_hand"
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert count(small, KIB).status_code == 200
    wait_until(lambda: metric(small, "inference_body_bytes") == 0)
    assert count(small, 400 * KIB).status_code == 200


def test_a_body_that_is_alone_in_the_house_always_fits(small: str) -> None:
    assert count(small, 3 * KIB * KIB).status_code != 529
    wait_until(lambda: metric(small, "inference_body_bytes") == 0)


def test_a_refused_request_holds_nothing(small: str) -> None:
    with unfinished(small, 800 * KIB):
        for _ in range(3):
            assert count(small, 400 * KIB).status_code == 529
        wait_until(lambda: metric(small, "inference_body_bytes") == 800 * KIB)


def test_a_crowd_of_one_tier_leaves_room_for_the_better_ones() -> None:
    in_hand = BytesInHand(1000, Gauge("bytes", "", registry=None))

    def hold(tier: Tier | None, size: int) -> None:
        in_hand.take(size, RequestRecord(tier=tier))

    hold("free", 700)
    beyond: tuple[tuple[Tier | None, int], ...] = (("free", 51), (None, 51), ("pro", 201), ("internal", 301))
    for tier, size in beyond:
        with pytest.raises(TooManyBytesError):
            hold(tier, size)
    hold("free", 50)
    hold("pro", 150)
    hold("internal", 100)


def test_a_body_that_grows_is_counted_once() -> None:
    registry = CollectorRegistry()
    in_hand, record = BytesInHand(1000, Gauge("held", "", registry=registry)), RequestRecord(tier="internal")
    for _ in range(4):
        in_hand.take(300, record)
    assert registry.get_sample_value("held") == 1200
    in_hand.give_back(record)
    in_hand.give_back(record)
    assert registry.get_sample_value("held") == 0
