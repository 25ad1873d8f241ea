"""Runs at a second provider: our own backend in another process stands for Anthropic, and knows other keys."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from cryptography.fernet import Fernet
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts.models import User
from core.errors import InvalidInput
from core.redis import client
from inference_client import catalogue
from inference_client.models import Provider, ProviderKey, Run
from inference_client.provider_keys import keep_key, remove_key
from inference_client.services import create_run
from tests.inference_backend.running import ServiceProcess
from tests.inference_client.conftest import hello
from tests.inference_client.second_provider import ANSWER, KEY, MODEL, OPERATORS_KEY, second_provider
from tests.inference_client.upstream import Call, Script, Upstream, Wire
from tests.waiting import quickest

pytestmark = pytest.mark.django_db(transaction=True)

Send = Callable[[Run], Run]
NOWHERE = "http://127.0.0.1:1/nowhere"


def ours(*names: str) -> Script:
    async def script(call: Call, wire: Wire) -> None:
        if call.method == "GET":
            await wire.answer(200, {"data": [{"id": name} for name in names], "has_more": False})
        else:
            await wire.whole("Ours")

    return script


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    with second_provider(tmp_path_factory.mktemp("provider")) as running:
        yield running


@pytest.fixture
def anthropic(process: ServiceProcess, settings: Settings) -> ServiceProcess:
    settings.ANTHROPIC_BASE_URL = process.address
    settings.SEALING_KEYS = [Fernet.generate_key().decode()]
    for name in client().scan_iter("cache:*provider-key-tries*"):
        client().delete(name)
    return process


@pytest.fixture
def faulty(settings: Settings) -> Iterator[Upstream]:
    """In Anthropic's place, a server that does what it is told."""
    server = Upstream()
    server.does(ours(MODEL))
    settings.ANTHROPIC_BASE_URL = server.url
    settings.SEALING_KEYS = [Fernet.generate_key().decode()]
    yield server
    server.close()


@pytest.fixture
def ask(owner: User) -> Callable[..., Run]:
    """`ask(account=..., **changes)`: a run at Anthropic."""

    def make(*, account: User = owner, api_version: str = "2023-06-01", **changes: Any) -> Run:
        body = hello(**{"model": MODEL, **changes})
        return create_run(account=account, body=body, api_version=api_version, provider=Provider.ANTHROPIC)

    return make


def keep(person: User, key: str = KEY) -> ProviderKey:
    return keep_key(account=person, provider=Provider.ANTHROPIC, plaintext=key)


@pytest.mark.parametrize("api_version", ["2023-06-01", "2026-10-21"])
def test_a_run_goes_to_anthropic_with_the_persons_own_key(
    owner: User, anthropic: ServiceProcess, upstream: Upstream, ask: Callable[..., Run], send: Send, api_version: str
) -> None:
    keep(owner)
    run = send(ask(api_version=api_version))
    assert (run.status, run.output, run.provider) == ("succeeded", ANSWER, "anthropic")
    assert upstream.calls == []
    assert run.cost_usd is not None
    # One word read, five written, at 2 and 10 dollars a million.
    assert float(run.cost_usd) == pytest.approx(((run.input_tokens or 0) * 2 + (run.output_tokens or 0) * 10) / 1e6)


def test_nothing_that_is_shown_of_a_run_holds_the_key(
    owner: User, owner_api: APIClient, faulty: Upstream, ask: Callable[..., Run], send: Send
) -> None:
    keep(owner)
    faulty.does(ours(MODEL))
    run = send(ask())
    shown = [owner_api.get(path).content.decode() for path in (f"/api/v1/runs/{run.pk}", "/api/v1/runs")]
    assert run.status == "succeeded"
    assert not any(KEY in each for each in shown)
    assert owner_api.get(f"/api/v1/runs/{run.pk}").json()["wire_headers"] == {
        "anthropic-version": "2023-06-01",
        "Idempotency-Key": str(run.pk),
    }


def test_what_is_told_to_our_backend_is_not_told_to_anthropic(
    owner: User, faulty: Upstream, upstream: Upstream, ask: Callable[..., Run], send: Send, make_run: Callable[..., Run]
) -> None:
    upstream.does(ours("tiny"))
    keep(owner)
    send(ask())
    send(ask(api_version="2026-10-21"))
    old, new = (call.headers for call in faulty.calls if call.method == "POST")
    assert (old["x-api-key"], "authorization" in old) == (KEY, False)
    assert (new["authorization"], "x-api-key" in new) == (f"Bearer {KEY}", False)
    assert not [name for headers in (old, new) for name in headers if name.startswith("x-playground-")]
    send(make_run())
    [mine] = [call.headers for call in upstream.calls if call.method == "POST"]
    assert mine["authorization"] == "Bearer sk-test"
    assert mine["x-playground-account"] == str(owner.pk)
    assert KEY not in json.dumps([mine, *(call.headers for call in upstream.calls)])
    assert "sk-test" not in json.dumps([old, new])


def test_each_person_sends_with_their_own_key_and_never_with_a_friends(
    owner: User, friend: User, faulty: Upstream, ask: Callable[..., Run], send: Send
) -> None:
    keep(owner)
    run = send(ask(account=friend))
    assert (run.status, run.error_code) == ("failed", "provider_key_missing")
    keep(friend, "sk-ant-api03-the-key-of-frank-1234")
    send(ask(account=friend))
    send(ask())
    sent = [call.headers["x-api-key"] for call in faulty.calls if call.method == "POST"]
    assert sent == ["sk-ant-api03-the-key-of-frank-1234", KEY]


def test_a_run_whose_key_was_removed_meanwhile_fails_and_says_so(
    owner: User, faulty: Upstream, ask: Callable[..., Run], send: Send
) -> None:
    keep(owner)
    waiting = ask()
    remove_key(account=owner, provider=Provider.ANTHROPIC)
    run = send(waiting)
    assert (run.status, run.error_code) == ("failed", "provider_key_missing")
    assert "Nothing was sent" in run.error_message
    assert [call for call in faulty.calls if call.method == "POST"] == []


@pytest.mark.parametrize(
    ("allowed", "tier", "pays"),
    [
        (["internal"], "free", False),
        (["internal"], "internal", True),
        (["pro", "internal"], "pro", True),
        (["everybody"], "free", True),
        (["Olive@Example.com"], "free", False),
        (["Owner@Example.com"], "free", True),
        ([], "internal", False),
    ],
)
def test_the_operators_key_is_used_for_whom_the_operator_allows(
    owner: User,
    anthropic: ServiceProcess,
    settings: Settings,
    ask: Callable[..., Run],
    send: Send,
    allowed: list[str],
    tier: str,
    pays: bool,
) -> None:
    settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_KEY_FOR = OPERATORS_KEY, allowed
    User.objects.filter(pk=owner.pk).update(tier=tier)
    owner.refresh_from_db()
    offered = {state.id: state.key for state in catalogue.offer_to(owner).providers}
    assert offered.get("anthropic") == ("operator" if pays else None)
    run = send(ask())
    assert (run.status, run.error_code) == (("succeeded", "") if pays else ("failed", "provider_key_missing"))


def test_ones_own_key_goes_before_the_operators(
    owner: User, faulty: Upstream, settings: Settings, ask: Callable[..., Run], send: Send
) -> None:
    settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_KEY_FOR = OPERATORS_KEY, ["everybody"]
    keep(owner)
    send(ask())
    remove_key(account=owner, provider=Provider.ANTHROPIC)
    send(ask())
    assert [call.headers["x-api-key"] for call in faulty.calls if call.method == "POST"] == [KEY, OPERATORS_KEY]


def test_each_model_says_who_runs_it_and_what_it_costs(
    owner: User, owner_api: APIClient, friend_api: APIClient, anthropic: ServiceProcess, upstream: Upstream
) -> None:
    upstream.does(ours("tiny", "both-have-it"))
    keep(owner)
    rows = owner_api.get("/api/v1/models").json()["results"]
    assert [(row["id"], row["provider"]) for row in rows] == [
        ("tiny", "self-hosted"),
        ("both-have-it", "self-hosted"),
        (MODEL, "anthropic"),
        ("both-have-it", "anthropic"),
    ]
    far = rows[2]
    assert far["price"] == {"input_per_mtok": 2.0, "output_per_mtok": 10.0}
    assert (far["context"], far["available"]) == (1000, True)
    others = friend_api.get("/api/v1/models").json()
    assert {row["provider"] for row in others["results"]} == {"self-hosted"}
    assert [each["id"] for each in others["providers"]] == ["self-hosted"]


def test_of_one_name_at_two_providers_ours_is_meant_unless_the_other_is_named(
    owner: User, anthropic: ServiceProcess, upstream: Upstream
) -> None:
    upstream.does(ours("tiny", "both-have-it"))
    keep(owner)
    assert catalogue.choose_provider(owner, "both-have-it") == "self-hosted"
    assert catalogue.choose_provider(owner, "both-have-it", "anthropic") == "anthropic"
    assert catalogue.choose_provider(owner, MODEL) == "anthropic"
    assert catalogue.choose_provider(owner, "claude-that-is-not-listed") == "anthropic"
    for model, provider in (("huge", None), (MODEL, "self-hosted")):
        with pytest.raises(InvalidInput, match="There is no model"):
            catalogue.choose_provider(owner, model, provider)


def test_who_has_no_key_is_told_where_to_add_one(friend: User, anthropic: ServiceProcess, upstream: Upstream) -> None:
    upstream.does(ours("tiny"))
    with pytest.raises(InvalidInput) as refused:
        catalogue.refuse_unknown(friend, MODEL)
    assert "Account > Providers" in refused.value.next_step
    with pytest.raises(InvalidInput):
        catalogue.refuse_unknown(friend, "tiny", "anthropic")


def test_a_provider_that_is_down_says_so_before_a_run(
    owner: User, owner_api: APIClient, anthropic: ServiceProcess, upstream: Upstream, settings: Settings
) -> None:
    upstream.does(ours("tiny"))
    keep(owner)
    owner_api.get("/api/v1/models")
    settings.ANTHROPIC_BASE_URL = NOWHERE
    forget_what_is_fresh()
    rows = owner_api.get("/api/v1/models").json()
    far = [row for row in rows["results"] if row["provider"] == "anthropic"]
    assert {row["id"] for row in far} == {MODEL, "both-have-it"}
    assert not any(row["available"] for row in far)
    assert all(row["notice"].startswith("Anthropic does not answer since ") for row in far)
    assert [each["available"] for each in rows["providers"]] == [True, False]
    assert [row["available"] for row in rows["results"] if row["provider"] == "self-hosted"] == [True]
    settings.ANTHROPIC_BASE_URL = anthropic.address
    forget_what_is_fresh()
    assert all(row["available"] for row in owner_api.get("/api/v1/models").json()["results"])


def test_since_when_a_provider_is_down_stays_the_same(
    owner: User, faulty: Upstream, upstream: Upstream, settings: Settings
) -> None:
    upstream.does(ours("tiny"))
    keep(owner)
    settings.ANTHROPIC_BASE_URL = NOWHERE
    notices = set()
    for _ in range(2):
        forget_what_is_fresh()
        notices |= {state.notice for state in catalogue.offer_to(owner).providers if state.id == "anthropic"}
    [kept] = client().scan_iter("cache:*inference-models*down-since")
    before = client().get(kept)
    forget_what_is_fresh()
    catalogue.offer_to(owner)
    assert client().get(kept) == before
    assert len(notices) == 1


def test_a_provider_that_never_answered_offers_the_models_that_are_known(
    owner: User, faulty: Upstream, upstream: Upstream, settings: Settings
) -> None:
    upstream.does(ours("tiny"))
    keep(owner)
    settings.ANTHROPIC_BASE_URL = NOWHERE
    found = catalogue.offer_to(owner).find(MODEL)
    assert found is not None
    assert (found.available, found.price) == (False, {"input_per_mtok": 2.0, "output_per_mtok": 10.0})


async def hang(call: Call, wire: Wire) -> None:
    await wire.until_left()


def test_two_providers_that_hang_hold_a_page_up_no_longer_than_one(
    owner: User, faulty: Upstream, upstream: Upstream
) -> None:
    upstream.does(ours("tiny"))
    keep(owner)
    catalogue.offer_to(owner)
    upstream.does(hang)
    faulty.does(hang)

    def ask() -> float:
        forget_what_is_fresh()
        asked_at = time.monotonic()
        offer = catalogue.offer_to(owner)
        took_s = time.monotonic() - asked_at
        assert [state.available for state in offer.providers] == [False, False]
        assert {model.id for model in offer.models} == {"tiny", MODEL}
        return took_s

    assert quickest(ask, under_s=3) < 3


async def refuse(call: Call, wire: Wire) -> None:
    key = call.headers.get("x-api-key", call.headers.get("authorization"))
    await wire.error(401, "authentication_error", f"invalid x-api-key {key}")


async def limit(call: Call, wire: Wire) -> None:
    await wire.error(429, "rate_limit_error", "This request would exceed your rate limit.", retry_after="600")


async def break_off(call: Call, wire: Wire) -> None:
    wire.cut()


def test_a_refused_key_is_said_to_be_before_a_run(owner: User, faulty: Upstream, upstream: Upstream) -> None:
    upstream.does(ours("tiny"))
    keep(owner)
    faulty.does(refuse)
    [state] = [each for each in catalogue.offer_to(owner).providers if each.id == "anthropic"]
    assert state.available is False
    assert state.notice == f"Anthropic refuses your key (…{KEY[-4:]}). Replace it under Account > Providers."


def test_a_key_that_is_refused_fails_the_run_and_is_stored_nowhere(
    owner: User, faulty: Upstream, ask: Callable[..., Run], send: Send, caplog: pytest.LogCaptureFixture
) -> None:
    keep(owner)
    faulty.does(refuse)
    with caplog.at_level(logging.DEBUG):
        run = send(ask())
    assert (run.status, run.error_code) == ("failed", "provider_key_refused")
    assert run.error_message == "Anthropic does not accept your key for this request."
    stored = json.dumps(Run.objects.filter(pk=run.pk).values().get(), default=str)
    assert "[key removed]" in stored
    assert KEY not in stored
    assert KEY not in caplog.text


async def bad_request_that_quotes_the_key(call: Call, wire: Wire) -> None:
    await wire.error(
        400, "invalid_request_error", f"not with {call.headers['x-api-key']} or sk-ant-other-key-of-somebody"
    )


def test_an_error_that_quotes_a_key_is_told_without_it(
    owner: User, faulty: Upstream, ask: Callable[..., Run], send: Send
) -> None:
    keep(owner)
    faulty.does(bad_request_that_quotes_the_key)
    run = send(ask())
    assert run.error_message == "Anthropic refused this request: not with [key removed] or [key removed]"


def test_a_limited_key_fails_the_run_in_words_of_anthropic(
    owner: User, faulty: Upstream, ask: Callable[..., Run], send: Send
) -> None:
    keep(owner)
    faulty.does(limit)
    run = send(ask())
    assert (run.status, run.error_code) == ("failed", "rate_limited")
    assert run.error_message == "Anthropic takes no more requests from here for now."


def test_a_run_at_a_provider_that_is_down_fails_and_names_it(
    owner: User, faulty: Upstream, ask: Callable[..., Run], send: Send, settings: Settings
) -> None:
    keep(owner)
    settings.ANTHROPIC_BASE_URL = NOWHERE
    run = send(ask())
    assert (run.status, run.error_code) == ("failed", "inference_unavailable")
    assert run.error_message == "Anthropic does not answer. Nothing was generated."


def test_a_lost_connection_is_not_tried_again_where_that_would_be_charged_twice(
    owner: User, faulty: Upstream, ask: Callable[..., Run], send: Send
) -> None:
    keep(owner)
    faulty.calls.clear()
    faulty.does(break_off)
    run = send(ask())
    assert (run.status, run.attempt) == ("failed", 1)
    assert len(faulty.calls) == 1


def test_a_redirect_carries_no_key_anywhere(
    owner: User, faulty: Upstream, upstream: Upstream, ask: Callable[..., Run], send: Send
) -> None:
    async def redirect(call: Call, wire: Wire) -> None:
        await wire.answer(307, {}, location=f"{upstream.url}/elsewhere")

    upstream.does(ours("tiny"))
    keep(owner)
    faulty.does(redirect)
    run = send(ask())
    forget_what_is_fresh()
    catalogue.offer_to(owner)
    assert run.status == "failed"
    assert not any("elsewhere" in call.path for call in upstream.calls)


def forget_what_is_fresh() -> None:
    """As if the time had passed for which an answer of a provider is kept."""
    for name in client().scan_iter("cache:*inference-models*"):
        if not name.endswith((b":last", b":down-since")):
            client().delete(name)
