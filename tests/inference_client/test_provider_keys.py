"""One's own key for a provider: kept sealed, tried, replaced, removed, and shown to nobody."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator

import pytest
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client, RequestFactory
from django.views.debug import ExceptionReporter
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts.models import User
from core.redis import client
from inference_client import provider_keys, providers, sealing
from inference_client.models import Provider, ProviderKey
from tests.inference_client.upstream import Call, Upstream, Wire

pytestmark = pytest.mark.django_db

PATH = "/api/v1/providers/anthropic/key"
KEY = "sk-ant-api03-abcdefghijklmnop-WXYZ"
OTHER = "sk-ant-api03-another-key-altogether-1234"
Connect = Callable[[User], APIClient]


async def takes_every_key(call: Call, wire: Wire) -> None:
    await wire.answer(200, {"data": [{"id": "claude-sonnet-5", "max_input_tokens": 1000000}], "has_more": False})


async def refuses_every_key(call: Call, wire: Wire) -> None:
    await wire.error(401, "authentication_error", f"invalid x-api-key: {call.headers.get('x-api-key')}")


@pytest.fixture
def anthropic(settings: Settings) -> Iterator[Upstream]:
    server = Upstream()
    server.does(takes_every_key)
    settings.ANTHROPIC_BASE_URL = server.url
    settings.SEALING_KEYS = [Fernet.generate_key().decode()]
    yield server
    server.close()


@pytest.fixture(autouse=True)
def no_tries_yet() -> None:
    names = list(client().scan_iter("cache:*provider-key-tries*"))
    if names:
        client().delete(*names)


def put(api: APIClient, key: str = KEY) -> tuple[int, str]:
    answer = api.put(PATH, {"key": key}, format="json")
    return answer.status_code, answer.content.decode()


def test_a_key_is_kept_and_its_last_four_characters_are_all_that_is_shown(
    owner: User, owner_api: APIClient, owner_browser: Client, anthropic: Upstream
) -> None:
    status, told = put(owner_api)
    assert status == 200
    assert json.loads(told)["ending"] == "WXYZ"
    shown = [told, owner_api.get("/api/v1/providers").content.decode(), owner_browser.get("/account/providers/").text]
    assert all("WXYZ" in each for each in shown)
    assert not any(KEY in each or "abcdefghijklmnop" in each for each in shown)


def test_the_database_holds_no_key(owner: User, owner_api: APIClient, anthropic: Upstream) -> None:
    put(owner_api)
    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(k)::text FROM inference_client_providerkey AS k")
        [[row]] = cursor.fetchall()
    assert "abcdefghijklmnop" not in row
    assert providers.target_for(owner, Provider.ANTHROPIC).api_key == KEY


def test_a_key_that_anthropic_refuses_is_not_kept_and_not_repeated(owner_api: APIClient, anthropic: Upstream) -> None:
    anthropic.does(refuses_every_key)
    status, told = put(owner_api)
    assert (status, json.loads(told)["error"]["code"]) == (422, "key_refused")
    assert KEY not in told
    assert not ProviderKey.objects.exists()


def test_a_key_is_kept_untried_while_anthropic_is_away(
    owner_api: APIClient, anthropic: Upstream, settings: Settings
) -> None:
    settings.ANTHROPIC_BASE_URL = "http://127.0.0.1:1/away"
    assert put(owner_api)[0] == 200
    answer = owner_api.post(f"{PATH}/test")
    assert answer.json()["works"] is None


def test_a_key_is_tried_where_the_provider_is(owner_api: APIClient, anthropic: Upstream) -> None:
    put(owner_api)
    assert owner_api.post(f"{PATH}/test").json() == {
        "works": True,
        "message": "Anthropic takes this key, and offers 1 models with it.",
    }
    assert {call.headers["x-api-key"] for call in anthropic.calls} == {KEY}
    anthropic.does(refuses_every_key)
    assert owner_api.post(f"{PATH}/test").json()["works"] is False


def test_a_new_key_takes_the_place_of_the_old_one(owner: User, owner_api: APIClient, anthropic: Upstream) -> None:
    put(owner_api)
    before = ProviderKey.objects.get()
    assert put(owner_api, OTHER)[0] == 200
    assert ProviderKey.objects.get().pk != before.pk
    assert providers.target_for(owner, Provider.ANTHROPIC).api_key == OTHER


def test_a_removed_key_is_gone_at_once(owner: User, owner_api: APIClient, anthropic: Upstream) -> None:
    put(owner_api)
    assert owner_api.delete(PATH).status_code == 204
    assert not ProviderKey.objects.exists()
    assert owner_api.delete(PATH).status_code == 404
    with pytest.raises(providers.ProviderKeyMissing):
        providers.target_for(owner, Provider.ANTHROPIC)


def test_nobody_else_sees_uses_tries_or_removes_it(
    owner: User, friend: User, owner_api: APIClient, friend_api: APIClient, anthropic: Upstream
) -> None:
    put(owner_api)
    assert friend_api.get("/api/v1/providers").json()["keys"] == []
    assert friend_api.post(f"{PATH}/test").status_code == 404
    assert friend_api.delete(PATH).status_code == 404
    with pytest.raises(providers.ProviderKeyMissing):
        providers.target_for(friend, Provider.ANTHROPIC)
    assert ProviderKey.objects.of(owner).exists()


@pytest.mark.parametrize("method", ["get", "put", "delete"])
def test_who_is_signed_out_is_asked_to_sign_in(anonymous_api: APIClient, method: str) -> None:
    path = "/api/v1/providers" if method == "get" else PATH
    assert getattr(anonymous_api, method)(path).status_code == 401


@pytest.mark.parametrize(
    "key", ["", "short", "sk-ant with a blank in it", "sk-ant-line\nX-Evil: 1-and-more", "sk-ant-ünicode-letters-in-it"]
)
def test_what_is_no_key_is_refused_and_sent_to_nobody(owner_api: APIClient, anthropic: Upstream, key: str) -> None:
    status, told = put(owner_api, key)
    assert (status, json.loads(told)["error"]["field"]) == (400, "key")
    assert anthropic.calls == []


def test_a_key_of_this_playground_is_never_sent_to_anthropic(owner_api: APIClient, anthropic: Upstream) -> None:
    status, told = put(owner_api, "ppk_abcdefghijklmnopqrstuvwxyz")
    assert (status, json.loads(told)["error"]["field"]) == (400, "key")
    assert anthropic.calls == []


def test_other_providers_take_no_keys(owner_api: APIClient, anthropic: Upstream) -> None:
    for provider in ("self-hosted", "openai"):
        answer = owner_api.put(f"/api/v1/providers/{provider}/key", {"key": KEY}, format="json")
        assert answer.status_code == 404


def test_keys_cannot_be_tried_out_in_numbers(owner_api: APIClient, anthropic: Upstream) -> None:
    anthropic.does(refuses_every_key)
    tried = [put(owner_api, f"sk-ant-guess-number-{number:04}")[0] for number in range(provider_keys.MOST_TRIES + 1)]
    assert tried[:-1] == [422] * provider_keys.MOST_TRIES
    assert tried[-1] == 429


def test_no_log_line_holds_a_key(
    owner_api: APIClient, anthropic: Upstream, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.DEBUG):
        put(owner_api)
        owner_api.post(f"{PATH}/test")
        anthropic.does(refuses_every_key)
        put(owner_api, OTHER)
        owner_api.delete(PATH)
    written = caplog.text + "".join(capfd.readouterr())
    assert "abcdefghijklmnop" not in written
    assert "another-key-altogether" not in written


def test_a_crash_report_holds_no_key(
    owner: User, anthropic: Upstream, browser_for: Callable[[User], Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a report lists the local variables of each frame; those of the test itself are left out here."""

    def crash(*_: object, **__: object) -> None:
        raise RuntimeError("Something broke.")

    monkeypatch.setattr("inference_client.provider_keys.listing.ask", crash)
    with pytest.raises(RuntimeError) as crashed:
        browser_for(owner).put(PATH, json.dumps({"key": KEY}), content_type="application/json")
    trace = crashed.tb
    while trace.tb_next is not None and "handlers/exception.py" not in trace.tb_frame.f_code.co_filename:
        trace = trace.tb_next
    report = ExceptionReporter(RequestFactory().put(PATH), RuntimeError, crashed.value, trace)
    assert "keep_key" in report.get_traceback_html()
    assert "abcdefghijklmnop" not in report.get_traceback_html()


def test_without_a_sealing_key_nothing_is_kept_and_the_page_says_so(
    owner_api: APIClient, owner_browser: Client, anthropic: Upstream, settings: Settings
) -> None:
    settings.SEALING_KEYS = []
    status, told = put(owner_api)
    assert (status, json.loads(told)["error"]["code"]) == (503, "sealing_unavailable")
    assert "cannot keep keys" in owner_browser.get("/account/providers/").text


def test_a_row_moved_to_another_account_opens_for_nobody(
    owner: User, friend: User, owner_api: APIClient, anthropic: Upstream
) -> None:
    put(owner_api)
    ProviderKey.objects.update(account=friend)
    with pytest.raises(providers.ProviderKeyMissing):
        providers.target_for(friend, Provider.ANTHROPIC)


def test_keys_are_resealed_under_a_new_sealing_key(
    owner: User, owner_api: APIClient, anthropic: Upstream, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    put(owner_api)
    [old] = settings.SEALING_KEYS
    new = Fernet.generate_key().decode()
    settings.SEALING_KEYS = [new, old]
    assert providers.target_for(owner, Provider.ANTHROPIC).api_key == KEY
    call_command("reseal_provider_keys")
    assert capsys.readouterr().out == "1 keys are sealed under the first of SEALING_KEYS.\n"
    settings.SEALING_KEYS = [new]
    assert providers.target_for(owner, Provider.ANTHROPIC).api_key == KEY
    settings.SEALING_KEYS = [old]
    with pytest.raises(providers.ProviderKeyMissing, match="cannot be read"):
        providers.target_for(owner, Provider.ANTHROPIC)
    with pytest.raises(CommandError, match="Put the missing one back"):
        call_command("reseal_provider_keys")


def test_a_key_that_cannot_be_opened_is_said_and_harms_no_page(
    owner_api: APIClient, owner_browser: Client, anthropic: Upstream, settings: Settings
) -> None:
    put(owner_api)
    settings.SEALING_KEYS = [Fernet.generate_key().decode()]
    assert "cannot be read" in owner_browser.get("/account/providers/").text
    assert owner_api.get("/api/v1/providers").status_code == 200
    assert owner_api.delete(PATH).status_code == 204


def test_a_sealing_key_may_lack_its_padding(settings: Settings) -> None:
    settings.SEALING_KEYS = [Fernet.generate_key().decode().rstrip("=")]
    assert sealing.unseal(sealing.seal("secret", owner="a"), owner="a") == "secret"
    with pytest.raises(sealing.SealBroken):
        sealing.unseal(sealing.seal("secret", owner="a"), owner="b")


def test_the_key_goes_with_its_account(owner: User, owner_api: APIClient, anthropic: Upstream) -> None:
    put(owner_api)
    with pytest.raises(IntegrityError), transaction.atomic():
        ProviderKey.objects.create(account=owner, provider=Provider.ANTHROPIC, sealed="x", ending="x")
    owner.delete()
    assert not ProviderKey.objects.exists()
