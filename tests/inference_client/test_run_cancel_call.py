from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from django.test import Client
from rest_framework.test import APIClient

from inference_client.models import Run
from inference_client.services import claim_run

pytestmark = pytest.mark.django_db

MakeRun = Callable[..., Run]


def address(run_id: object) -> str:
    return f"/api/v1/runs/{run_id}/cancel"


def test_the_owner_stops_a_queued_run(owner_api: APIClient, make_run: MakeRun) -> None:
    run = make_run()
    answer = owner_api.post(address(run.pk))
    assert (answer.status_code, answer.json()) == (202, {"id": str(run.pk), "status": "cancelled"})


def test_a_running_run_is_asked_to_stop(owner_api: APIClient, make_run: MakeRun) -> None:
    run = make_run()
    claim_run(run_id=run.pk)
    assert owner_api.post(address(run.pk)).json()["status"] == "running"
    run.refresh_from_db()
    assert run.cancel_requested_at is not None


def test_stopping_twice_is_as_good_as_once(owner_api: APIClient, make_run: MakeRun) -> None:
    run = make_run()
    answers = [owner_api.post(address(run.pk)) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [202, 202]
    assert answers[0].json() == answers[1].json()


def test_a_browser_stops_a_run_with_its_session(owner_browser: Client, make_run: MakeRun) -> None:
    assert owner_browser.post(address(make_run().pk)).status_code == 202


def test_a_stranger_stops_nothing(stranger_api: APIClient, make_run: MakeRun) -> None:
    run = make_run()
    foreign, absent = stranger_api.post(address(run.pk)), stranger_api.post(address(uuid.uuid4()))
    assert (foreign.status_code, absent.status_code) == (404, 404)
    assert foreign.json()["error"] == absent.json()["error"]
    run.refresh_from_db()
    assert run.status == "queued"


def test_nobody_signed_in_stops_nothing(anonymous_api: APIClient, make_run: MakeRun) -> None:
    assert anonymous_api.post(address(make_run().pk)).status_code == 401


def test_a_bad_id_is_not_found(owner_api: APIClient) -> None:
    assert owner_api.post(address("x")).status_code == 404


def test_looking_does_not_stop(owner_api: APIClient, make_run: MakeRun) -> None:
    assert owner_api.get(address(make_run().pk)).status_code == 405
