"""What a person typed, and what opens a door, is never in the log; what an operator needs is."""

from __future__ import annotations

import io
import json
import logging
import logging.config
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from rest_framework.test import APIClient

from accounts import services
from accounts.models import User
from config import operations
from config.readiness import Probe, Readiness
from config.settings.logs import logging_config
from tests.people import PASSWORD

pytestmark = pytest.mark.django_db

ROW = {"name": "planted-name", "tier": "planted-tier"}


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """The log as it is configured in production, at its most talkative, written to memory."""
    stream = io.StringIO()
    configured = logging_config("DEBUG")
    configured["handlers"]["stderr"]["stream"] = stream
    logging.config.dictConfig(configured)
    yield stream
    logging.config.dictConfig(logging_config("INFO"))


def lines(log: io.StringIO) -> list[dict[str, Any]]:
    """Each line as JSON: one that is not fails here."""
    return [json.loads(line) for line in log.getvalue().splitlines()]


def request_lines(log: io.StringIO) -> list[dict[str, Any]]:
    return [line for line in lines(log) if line["name"] == "playground.request"]


def test_a_request_is_one_line_with_what_an_operator_needs(owner: User, owner_api: APIClient, log: io.StringIO) -> None:
    response = owner_api.get("/api/v1/keys?limit=1&q=planted-query", headers={"X-Request-ID": "trace-12345678"})

    [line] = request_lines(log)
    assert response.status_code == 200
    assert {name: line[name] for name in ("request_id", "method", "route", "status", "account")} == {
        "request_id": "trace-12345678",
        "method": "GET",
        "route": "api/v1/keys",
        "status": 200,
        "account": str(owner.pk),
    }
    assert isinstance(line["ms"], float)
    assert "planted-query" not in log.getvalue()


def test_the_route_is_a_pattern_and_not_the_path(owner_browser: Client, log: io.StringIO) -> None:
    owner_browser.delete("/api/v1/keys/0190a0a0-0000-7000-8000-00000000beef")

    assert request_lines(log)[0]["route"] == "api/v1/keys/<uuid:key_id>"
    assert "beef" not in log.getvalue()


def test_a_path_nobody_serves_is_not_repeated(log: io.StringIO) -> None:
    Client().get("/nobody/planted-token?key=planted-query")

    assert request_lines(log)[0]["route"] == "unmatched"
    assert "planted" not in log.getvalue()


def test_signing_in_leaves_neither_password_nor_address(owner: User, log: io.StringIO) -> None:
    browser = Client()
    browser.post("/accounts/login/", {"login": "owner@example.com", "password": "planted-wrong-password"})
    browser.post("/accounts/login/", {"login": "owner@example.com", "password": PASSWORD})

    written = log.getvalue()
    for secret in ("planted-wrong-password", PASSWORD, "owner@example.com", browser.cookies["sessionid"].value):
        assert secret not in written
    assert [line["status"] for line in request_lines(log)] == [200, 302]


def test_a_key_leaves_no_trace(owner: User, log: io.StringIO) -> None:
    key, plaintext = services.create_api_key(account=owner, name="planted-name", scopes=["api"])
    program = APIClient()
    program.get("/api/v1/me", headers={"Authorization": f"Bearer {plaintext}"})
    program.get("/api/v1/me", headers={"Authorization": "Bearer planted-wrong-key"})

    written = log.getvalue()
    for secret in (plaintext, "planted-wrong-key", bytes(key.digest).hex(), "Bearer"):
        assert secret not in written


def test_bad_json_is_refused_and_not_repeated(owner_browser: Client, log: io.StringIO) -> None:
    for body in ('{"name": "planted-body', '{"name": ["planted-body"]}', '{"planted-body": 1, "name": "x"}'):
        response = owner_browser.post("/api/v1/keys", body, content_type="application/json")
        assert response.status_code == 400

    assert "planted-body" not in log.getvalue()


def test_a_bug_is_logged_with_its_traceback_and_without_the_body(
    owner_browser: Client, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(**arguments: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(services, "create_api_key_once", broken)
    owner_browser.raise_request_exception = False
    response = owner_browser.post(
        "/api/v1/keys?q=planted-query",
        '{"name": "planted-body"}',
        content_type="application/json",
        headers={"X-Request-ID": "trace-12345678"},
    )

    written = log.getvalue()
    assert response.status_code == 500
    assert response.json()["request_id"] == "trace-12345678"
    assert "a bug" not in response.text
    assert "RuntimeError: a bug" in written
    assert {line["request_id"] for line in lines(log) if line["levelname"] == "ERROR"} == {"trace-12345678"}
    assert "planted" not in written


def test_a_broken_constraint_is_named_without_the_row(owner: User, log: io.StringIO) -> None:
    try:
        with transaction.atomic():
            User.objects.filter(pk=owner.pk).update(**ROW)
    except IntegrityError:
        logging.getLogger("playground").exception("It broke")

    [line] = lines(log)
    assert "user_tier_known" in line["exc_info"]
    assert "test_private_logs.py" in line["exc_info"]
    assert "planted" not in log.getvalue()


def test_a_refused_form_is_not_logged_with_its_path(owner: User, log: io.StringIO) -> None:
    Client(enforce_csrf_checks=True).post("/accounts/password/reset/key/planted-token/", {"x": "planted"})

    assert "CSRF" in log.getvalue()
    assert "planted" not in log.getvalue()


def test_a_forged_host_is_not_repeated(log: io.StringIO) -> None:
    assert Client().get("/accounts/login/", headers={"Host": "planted.example"}).status_code == 400

    assert "planted.example" not in log.getvalue()


def test_a_refusal_of_ours_is_one_line_and_no_alarm(log: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "readiness", Readiness([Probe("worker", lambda: "no worker")]))

    assert Client().get("/readyz").status_code == 503

    assert [(line["name"], line["levelname"]) for line in lines(log)] == [("playground.request", "INFO")]


def test_machines_that_ask_every_few_seconds_do_not_fill_the_log(log: io.StringIO) -> None:
    Client().get("/healthz")

    assert request_lines(log) == []


@pytest.mark.parametrize("secret", ["ppk_planted-planted", "psl_planted-planted", "sk-ant-api03-planted-planted"])
def test_a_key_that_somebody_logs_by_mistake_loses_all_but_its_mark(log: io.StringIO, secret: str) -> None:
    try:
        raise RuntimeError(f"refused: {secret}")
    except RuntimeError:
        logging.getLogger("playground.runs").exception("with %s", secret, extra={"told": secret})

    assert "planted" not in log.getvalue()
    assert log.getvalue().count("...") >= 3
