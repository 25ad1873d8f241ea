import asyncio
import hashlib
import secrets
from collections.abc import Iterator
from pathlib import Path

import anthropic
import httpx2
import pytest
import redis

from inference_backend.errors import KeyStoreError, UnauthenticatedError
from inference_backend.keys import KeyRegistry
from inference_backend.settings import Settings, SettingsError
from tests.inference_backend.conftest import settings_for
from tests.inference_backend.running import SERVICE_KEY, running_backend
from tests.inference_backend.scripted_engine import MODEL, ScriptedEngine
from tests.valkey import Valkey
from tests.waiting import wait_until

VERSION = {"anthropic-version": "2026-10-21"}


def digest_of(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


@pytest.fixture
def store(redis_url: str) -> Iterator["redis.Redis"]:
    with redis.Redis.from_url(redis_url, decode_responses=True) as connected:
        yield connected


def create_key(store: "redis.Redis", **changes: str) -> str:
    key = "pk_" + secrets.token_hex(8)
    fields = {"account": "0199-ada", "tier": "pro", "scopes": "prompts inference"} | changes
    for name, value in fields.items():
        store.hset(f"apikey:{digest_of(key)}", name, value)
    return key


@pytest.fixture(scope="module")
def address(shared_engine: ScriptedEngine, redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    key_file = tmp_path_factory.mktemp("keys") / "keys"
    key_file.write_text(f"# standing alone\n\n{digest_of('from-the-file')} bob free inference\n")
    settings = settings_for(
        shared_engine.url, INFERENCE_ENGINE_MODEL=MODEL, REDIS_URL=redis_url, INFERENCE_KEY_FILE=key_file
    )
    with running_backend(settings) as running:
        yield running


def get_models(address: str, **headers: str) -> httpx2.Response:
    return httpx2.get(f"{address}/v1/models", headers=VERSION | headers, trust_env=False)


def counted(address: str, tier: str) -> float:
    """Successful calls of get_models so far."""
    start = f'inference_requests_total{{path="/v1/models",status="200",tier="{tier}"}} '
    lines = httpx2.get(f"{address}/metrics", trust_env=False).text.splitlines()
    return sum(float(line.removeprefix(start)) for line in lines if line.startswith(start))


def test_a_key_of_the_application_is_let_in_by_either_header(address: str, store: "redis.Redis") -> None:
    key = create_key(store)
    assert get_models(address, authorization=f"Bearer {key}").status_code == 200
    assert get_models(address, **{"x-api-key": key}).status_code == 200


@pytest.mark.parametrize(
    "headers", [{}, {"authorization": "Bearer"}, {"authorization": "Basic abc"}, {"x-api-key": "wrong"}]
)
def test_a_missing_or_wrong_key_is_not_let_in(address: str, headers: dict[str, str]) -> None:
    response = get_models(address, **headers)
    assert response.status_code == 401
    assert response.json()["error"]["type"] == "authentication_error"
    assert response.headers["request-id"].startswith("req_")


def test_the_sdk_sees_its_authentication_error(address: str) -> None:
    with (
        anthropic.Anthropic(base_url=address, api_key="wrong", max_retries=0) as client,
        pytest.raises(anthropic.AuthenticationError),
    ):
        client.messages.create(model=MODEL, max_tokens=5, messages=[{"role": "user", "content": "hi"}])


def test_a_key_without_the_scope_is_forbidden(address: str, store: "redis.Redis") -> None:
    response = get_models(address, authorization=f"Bearer {create_key(store, scopes='prompts inference2')}")
    assert response.status_code == 403
    assert response.json()["error"]["type"] == "permission_error"


def test_a_new_key_works_at_once_even_if_it_was_tried_before(address: str, store: "redis.Redis") -> None:
    key = "pk_" + secrets.token_hex(8)
    assert get_models(address, authorization=f"Bearer {key}").status_code == 401
    store.hset(f"apikey:{digest_of(key)}", mapping={"account": "a", "tier": "free", "scopes": "inference"})
    assert get_models(address, authorization=f"Bearer {key}").status_code == 200


def test_the_key_file_and_the_service_key_work_beside_redis(address: str) -> None:
    assert get_models(address, authorization="Bearer from-the-file").status_code == 200
    assert get_models(address, authorization=f"Bearer {SERVICE_KEY}").status_code == 200


async def test_a_revoked_key_stops_working_within_five_seconds(redis_url: str, store: "redis.Redis") -> None:
    now = 100.0
    registry = KeyRegistry(redis_url=redis_url, service_key_digest=None, static_keys={}, clock=lambda: now)
    key = create_key(store)
    headers = {"x-api-key": key}
    assert (await registry.identify(headers)).tier == "pro"
    store.delete(f"apikey:{digest_of(key)}")
    now += 4.99
    assert (await registry.identify(headers)).account == "0199-ada"
    now += 0.01
    with pytest.raises(UnauthenticatedError):
        await registry.identify(headers)
    await registry.aclose()


@pytest.mark.parametrize("broken", [{"tier": "emperor"}, {"account": ""}])
async def test_an_incomplete_record_lets_nobody_in(
    redis_url: str, store: "redis.Redis", broken: dict[str, str]
) -> None:
    registry = KeyRegistry(redis_url=redis_url, service_key_digest=None, static_keys={})
    with pytest.raises(KeyStoreError):
        await registry.identify({"x-api-key": create_key(store, **broken)})
    await registry.aclose()


async def test_a_crowd_of_callers_with_unknown_keys_is_looked_up_in_turn(redis_url: str, store: "redis.Redis") -> None:
    registry = KeyRegistry(redis_url=redis_url, service_key_digest=None, static_keys={})
    accounts = [f"account-{number}" for number in range(300)]
    keys = [create_key(store, account=account) for account in accounts]
    callers = await asyncio.gather(*(registry.identify({"x-api-key": key}) for key in keys))
    assert [caller.account for caller in callers] == accounts
    await registry.aclose()


async def test_a_crowd_of_callers_with_one_key_is_one_look_up(redis_url: str, store: "redis.Redis") -> None:
    registry = KeyRegistry(redis_url=redis_url, service_key_digest=None, static_keys={})
    key = create_key(store)

    def asked() -> int:
        return int(store.info("commandstats").get("cmdstat_hgetall", {"calls": 0})["calls"])

    before = asked()
    await asyncio.gather(*(registry.identify({"x-api-key": key}) for _ in range(200)))
    # Those who have a turn at the same time ask each for itself.
    assert asked() - before <= 32
    await registry.aclose()


def test_nobody_is_let_in_while_the_key_store_is_down(engine: ScriptedEngine, tmp_path: Path) -> None:
    server = Valkey(tmp_path)
    server.start()
    settings = settings_for(engine.url, INFERENCE_ENGINE_MODEL=MODEL, REDIS_URL=server.url)
    with running_backend(settings) as address:
        assert get_models(address, authorization="Bearer x").status_code == 401
        server.kill()
        response = get_models(address, authorization="Bearer x")
        assert response.status_code == 503
        assert response.json()["error"]["type"] == "api_error"
        assert "key store is down" in response.json()["error"]["message"]
        assert response.headers["retry-after"] == "1"
        assert get_models(address, authorization=f"Bearer {SERVICE_KEY}").status_code == 200
        server.start()
        assert get_models(address, authorization="Bearer x").status_code == 401
        server.kill()


def test_the_service_key_calls_for_somebody_whose_tier_is_counted(address: str) -> None:
    before = counted(address, "free")
    for_ada = {"x-playground-account": "ada", "x-playground-tier": "free"}
    assert get_models(address, authorization=f"Bearer {SERVICE_KEY}", **for_ada).status_code == 200
    wait_until(lambda: counted(address, "free") == before + 1)
    assert "ada" not in httpx2.get(f"{address}/metrics", trust_env=False).text


def test_a_tier_that_does_not_exist_cannot_be_called_for(address: str) -> None:
    response = get_models(address, authorization=f"Bearer {SERVICE_KEY}", **{"x-playground-tier": "emperor"})
    assert response.status_code == 400


def test_nobody_else_can_call_for_somebody(address: str, store: "redis.Redis") -> None:
    before = counted(address, "free")
    key = create_key(store, tier="free")
    response = get_models(address, authorization=f"Bearer {key}", **{"x-playground-tier": "internal"})
    assert response.status_code == 200
    wait_until(lambda: counted(address, "free") == before + 1)


def test_a_service_without_any_source_of_keys_does_not_start() -> None:
    with pytest.raises(SettingsError, match="REDIS_URL"):
        Settings.from_environment({"INFERENCE_ENGINE_URL": "http://127.0.0.1:1"})


def test_a_broken_key_file_does_not_start(tmp_path: Path) -> None:
    from inference_backend.app import build_app

    broken = tmp_path / "keys"
    broken.write_text("abc bob free inference\n")
    with pytest.raises(SettingsError, match="line 1"):
        build_app(settings_for("http://127.0.0.1:1", INFERENCE_KEY_FILE=broken))
