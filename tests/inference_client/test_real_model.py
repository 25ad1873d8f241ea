"""Runs on the real inference backend in front of the embedded model."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import httpx2
import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts.models import User
from inference_client.models import Run
from inference_client.services import create_run, request_cancel
from tests.inference_client.conftest import Site, text_of, told
from tests.services_plugin import Instance
from tests.waiting import quickest, wait_until

pytestmark = [pytest.mark.model, pytest.mark.django_db(transaction=True)]

MODEL = "smollm2-135m-instruct"
Send = Callable[[Run], Run]
Sending = Callable[[Run], AbstractContextManager[None]]


@pytest.fixture(autouse=True)
def backend(inference_service: Instance, settings: Settings) -> None:
    url = settings.INFERENCE_BASE_URL = inference_service.environment["INFERENCE_BASE_URL"]
    # Its replicas are verified after it starts to listen; until then it sheds.
    wait_until(lambda: httpx2.get(f"{url}/readyz").status_code == 200)
    settings.INFERENCE_API_KEY = inference_service.environment.get("INFERENCE_API_KEY", settings.INFERENCE_API_KEY)


@pytest.fixture
def ask(owner: User) -> Callable[..., Run]:
    def make(text: str = "Say hello.", *, api_version: str = "2023-06-01", **changes: Any) -> Run:
        body = {"model": MODEL, "max_tokens": 24, "messages": [{"role": "user", "content": text}], **changes}
        return create_run(account=owner, body=body, api_version=api_version)

    return make


def busy_slots(engine_url: str) -> int:
    return sum(slot["is_processing"] for slot in httpx2.get(f"{engine_url}/slots").json())


def test_a_run_is_answered_by_the_model(ask: Callable[..., Run], send: Send, site: Site, owner_key: str) -> None:
    run = send(ask(temperature=0.0, system="You answer in one sentence."))
    assert run.status == "succeeded", run.error_message
    assert run.output
    assert run.stop_reason in {"end_turn", "max_tokens"}
    assert (run.input_tokens or 0) > 5
    assert (run.output_tokens or 0) > 1
    assert run.upstream_request_id
    assert text_of(site.follow(run, owner_key)) == run.output


def test_the_newer_api_version_runs_without_sampling_parameters(ask: Callable[..., Run], send: Send) -> None:
    run = send(ask(api_version="2026-10-21"))
    assert run.status == "succeeded", run.error_message


def test_the_newer_api_version_refuses_sampling_parameters_in_its_own_words(
    ask: Callable[..., Run], send: Send
) -> None:
    run = send(ask(api_version="2026-10-21", temperature=0.5))
    assert (run.status, run.error_code) == ("failed", "invalid_request")
    assert "temperature" in run.error_message


def test_a_model_that_does_not_exist_fails_clearly(ask: Callable[..., Run], send: Send) -> None:
    run = send(ask(model="no-such-model"))
    assert (run.status, run.error_code) == ("failed", "invalid_request")


def test_a_stop_frees_the_models_slot_within_a_second(
    ask: Callable[..., Run], sending: Sending, engine_url: str
) -> None:
    def stop() -> float:
        run = ask("Write a very long story about a lighthouse.", max_tokens=1500)
        with sending(run):
            wait_until(lambda: any(kind == "text" for kind, _ in told(run)))
            request_cancel(run=run)
            took_s = wait_until(lambda: busy_slots(engine_url) == 0)
        run.refresh_from_db()
        assert run.status == "cancelled"
        assert run.output
        return took_s

    assert quickest(stop, under_s=1) < 1


def test_the_models_on_offer_can_be_run(owner_api: APIClient) -> None:
    models = owner_api.get("/api/v1/models").json()["results"]
    found = next(model for model in models if model["id"] == MODEL)
    assert found["context"]
    assert found["provider"] == "self-hosted"
