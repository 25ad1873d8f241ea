from __future__ import annotations

import pytest
from django.test import Client
from pytest_django import Settings


def test_a_living_process_says_so_without_asking_anything() -> None:
    """No `django_db` mark: a query would fail this test."""
    response = Client().get("/healthz")

    assert (response.status_code, response.text) == (200, "ok\n")


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/api/docs/"])
@pytest.mark.parametrize("verb", ["post", "put", "patch", "delete"])
def test_they_can_only_be_read(path: str, verb: str) -> None:
    assert getattr(Client(), verb)(path).status_code == 405


def test_metrics_are_open_where_no_token_is_set(settings: Settings) -> None:
    settings.METRICS_TOKEN = ""
    Client().get("/healthz")

    response = Client().get("/metrics")

    assert response.status_code == 200
    assert response["Content-Type"].startswith("text/plain")
    assert 'playground_request_seconds_count{method="GET",route="healthz",status="200"}' in response.text


@pytest.mark.parametrize(
    "header", [None, "Bearer", "Bearer ", "Bearer wrong", "metrics-token", "Basic metrics-token", "Bearer é"]
)
def test_a_metrics_token_is_asked_for_where_it_is_set(settings: Settings, header: str | None) -> None:
    settings.METRICS_TOKEN = "metrics-token"

    response = Client().get("/metrics", headers={"Authorization": header} if header else {})

    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "Bearer"
    assert "playground_" not in response.text


def test_the_right_metrics_token_opens_them(settings: Settings) -> None:
    settings.METRICS_TOKEN = "metrics-token"

    assert Client().get("/metrics", headers={"Authorization": "Bearer metrics-token"}).status_code == 200


def test_no_path_that_a_person_made_up_becomes_a_metric(settings: Settings) -> None:
    settings.METRICS_TOKEN = ""
    Client().get("/planted-path")

    assert "planted-path" not in Client().get("/metrics").text
