"""Which provider a version is sent to, and with whose key: also where the prompt is somebody else's."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.db import connection
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts.models import User
from core.redis import client
from inference_client.catalogue import address_of
from inference_client.models import Provider, Run
from inference_client.provider_keys import keep_key
from inference_client.providers import ProviderKeyMissing, target_for
from playground.models import Prompt
from playground.services import SavedVersion, run_version
from tests.inference_client.upstream import Call, Upstream, Wire

pytestmark = pytest.mark.django_db

Save = Callable[..., SavedVersion]
KEY = "sk-ant-api03-the-key-of-olive-WXYZ"


@pytest.fixture
def anthropic(settings: Settings) -> Iterator[Upstream]:
    """Offers `test-model`, which our backend, being away, may or may not have."""

    async def offer(call: Call, wire: Wire) -> None:
        await wire.answer(200, {"data": [{"id": "claude-sonnet-5"}], "has_more": False})

    for name in client().scan_iter("cache:*inference-models*"):
        client().delete(name)
    server = Upstream()
    server.does(offer)
    settings.ANTHROPIC_BASE_URL = server.url
    settings.SEALING_KEYS = [Fernet.generate_key().decode()]
    yield server
    server.close()


@pytest.fixture
def url(shared: Prompt, save: Save) -> str:
    save("Hello")
    return f"/api/v1/prompts/{shared.pk}/versions/1/runs"


def post(api: APIClient, url: str, **body: Any) -> Any:
    return api.post(url, body, format="json")


def provider_of(answer: Any) -> str:
    assert answer.status_code == 201, answer.content
    return Run.objects.get(pk=answer.json()["id"]).provider


def test_a_model_decides_who_runs_it_and_may_be_overruled(
    owner: User, owner_api: APIClient, anthropic: Upstream, url: str
) -> None:
    keep_key(account=owner, provider=Provider.ANTHROPIC, plaintext=KEY)
    assert provider_of(post(owner_api, url)) == "self-hosted"
    assert provider_of(post(owner_api, url, model="claude-sonnet-5")) == "anthropic"
    assert provider_of(post(owner_api, url, provider="anthropic")) == "anthropic"
    assert provider_of(post(owner_api, url, model="claude-sonnet-5", provider="self-hosted")) == "self-hosted"
    answer = post(owner_api, url, provider="openai")
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "provider")


def test_a_friend_runs_a_shared_prompt_with_a_key_of_their_own_or_not_at_all(
    owner: User, friend: User, friend_api: APIClient, anthropic: Upstream, url: str
) -> None:
    keep_key(account=owner, provider=Provider.ANTHROPIC, plaintext=KEY)
    refused = post(friend_api, url, model="claude-sonnet-5")
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "unknown_model")
    assert "Account > Providers" in refused.json()["error"]["next"]
    keep_key(account=friend, provider=Provider.ANTHROPIC, plaintext="sk-ant-api03-the-key-of-frank-1234")
    made = post(friend_api, url, model="claude-sonnet-5")
    run = Run.objects.select_related("account").get(pk=made.json()["id"])
    assert target_for(run.account, run.provider).api_key == "sk-ant-api03-the-key-of-frank-1234"


def test_a_stranger_spends_nobodys_key(owner: User, stranger: User, stranger_api: APIClient, url: str) -> None:
    assert post(stranger_api, url, provider="anthropic").status_code == 404
    with pytest.raises(ProviderKeyMissing):
        target_for(stranger, Provider.ANTHROPIC)


def test_one_idempotency_key_means_one_provider(
    owner: User, anthropic: Upstream, save: Save, owner_api: APIClient
) -> None:
    version = save("Hello").version
    keep_key(account=owner, provider=Provider.ANTHROPIC, plaintext=KEY)
    url = f"/api/v1/prompts/{version.prompt_id}/versions/1/runs"
    headers = {"Idempotency-Key": "once"}
    first = owner_api.post(url, {"provider": "anthropic"}, format="json", headers=headers)
    again = owner_api.post(url, {"provider": "anthropic"}, format="json", headers=headers)
    other = owner_api.post(url, {"provider": "self-hosted"}, format="json", headers=headers)
    assert first.json()["id"] == again.json()["id"]
    assert (other.status_code, other.json()["error"]["code"]) == (409, "idempotency_key_reused")


def test_an_export_of_a_prompt_holds_no_key(
    owner: User, owner_api: APIClient, anthropic: Upstream, prompt: Prompt, save: Save
) -> None:
    run_version(account=owner, version=save("Hello").version, values={}, provider="anthropic")
    keep_key(account=owner, provider=Provider.ANTHROPIC, plaintext=KEY)
    exported: Any = owner_api.get(f"/api/v1/prompts/{prompt.pk}/export")
    body = b"".join(exported.streaming_content) if exported.streaming else exported.content
    assert exported.status_code == 200
    assert b"the-key-of-olive" not in body


def test_headers_of_a_pasted_command_are_never_kept(owner_api: APIClient, prompt: Prompt) -> None:
    command = (
        f"curl https://api.anthropic.com/v1/messages -H 'x-api-key: {KEY}' -H 'X-My-Token: {KEY}' "
        """-d '{"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "Hi"}]}'"""
    )
    made = owner_api.post("/api/v1/prompts/import", {"text": command, "name": "Pasted"}, format="json")
    assert made.status_code == 201, made.content
    with connection.cursor() as cursor:
        cursor.execute("SELECT string_agg(spec, '') FROM playground_version")
        [[specs]] = cursor.fetchall()
    assert "the-key-of-olive" not in specs + made.content.decode()


def test_runs_made_before_they_knew_their_prompt_are_given_it(owner: User, prompt: Prompt, save: Save) -> None:
    version = save("Hello").version
    run = run_version(account=owner, version=version, values={})
    Run.objects.update(group_id=None, subject_id=None)
    migration = importlib.import_module("playground.migrations.0015_runs_listed_by_prompt")
    with connection.cursor() as cursor:
        cursor.execute(migration.FILL)
    run.refresh_from_db()
    assert (run.group_id, run.subject_id, run.kind) == (prompt.pk, version.pk, "single")


@pytest.mark.parametrize(
    ("model", "is_ours"), [("tiny", True), ("claude-opus-9", False), ("a-model-nobody-lists", True)]
)
def test_a_snippet_is_sent_where_its_model_is(
    owner_api: APIClient, shared: Prompt, settings: Settings, model: str, is_ours: bool
) -> None:
    """Also for who keeps no key here: a snippet brings its own."""
    versions = f"/api/v1/prompts/{shared.pk}/versions"
    spec = {"model": model, "max_tokens": 1, "messages": [{"role": "user", "content": "Hello"}]}
    assert post(owner_api, versions, spec=spec).status_code == 201
    text = owner_api.get(f"{versions}/1/snippets/curl").content.decode()
    wanted = settings.INFERENCE_PUBLIC_URL if is_ours else settings.ANTHROPIC_BASE_URL
    assert f"{wanted}/v1/messages" in text
    assert address_of(None, model) == wanted, "for whoever opens a link"
