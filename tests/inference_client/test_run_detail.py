from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable

import pytest
from pytest_django import Settings
from redis import Redis
from rest_framework.test import APIClient

from inference_client.events import text_key
from inference_client.models import Run, RunStatus
from inference_client.outcomes import Ending
from inference_client.services import claim_run, finish_run
from tests.inference_client.conftest import hello

pytestmark = pytest.mark.django_db

MakeRun = Callable[..., Run]


def address(run_id: object) -> str:
    return f"/api/v1/runs/{run_id}"


def test_the_owner_sees_a_queued_run(owner_api: APIClient, make_run: MakeRun) -> None:
    run = make_run()
    answer = owner_api.get(address(run.pk))
    assert answer.status_code == 200
    found = answer.json()
    assert found["id"] == str(run.pk)
    assert (found["status"], found["output"], found["error"], found["stop_reason"]) == ("queued", "", None, None)
    assert found["wire_request"] == hello(stream=True)
    assert found["request_sha256"] == bytes(run.request_sha256).hex()
    assert found["wire_response"] is None
    assert found["timings"]["started_at"] is None
    assert answer.headers["Cache-Control"] == "private, no-store"


def test_a_running_run_shows_the_text_so_far(owner_api: APIClient, make_run: MakeRun, redis: Redis) -> None:
    run = make_run()
    claim_run(run_id=run.pk)
    redis.set(text_key(run.pk), "so fär")
    found = owner_api.get(address(run.pk)).json()
    assert (found["status"], found["output"]) == ("running", "so fär")


def test_an_ended_run_shows_everything(owner_api: APIClient, make_run: MakeRun) -> None:
    run = claim_run(run_id=make_run().pk)
    assert run is not None
    ending = Ending(
        status=RunStatus.FAILED,
        output="half\x00",
        response={"id": "msg_1", "content": [{"type": "text", "text": "half\x00"}]},
        error_code="stream_cut",
        error_message="It broke off.",
        first_token_at=run.started_at,
        upstream_request_id="req_9",
        input_tokens=3,
        output_tokens=4,
    )
    finish_run(run=run, ending=ending)
    found = owner_api.get(address(run.pk)).json()
    assert (found["status"], found["output"]) == ("failed", "half\x00")
    assert found["error"] == {"code": "stream_cut", "message": "It broke off."}
    assert found["usage"] == {"input_tokens": 3, "output_tokens": 4}
    assert found["wire_response"] == ending.response
    assert found["upstream_request_id"] == "req_9"
    assert found["timings"]["ttft_ms"] >= 0
    assert found["timings"]["tokens_per_s"] > 0


def test_a_run_tells_how_long_it_waited_for_a_worker(owner_api: APIClient, make_run: MakeRun) -> None:
    run = make_run()
    assert owner_api.get(address(run.pk)).json()["timings"]["queue_ms"] is None
    claim_run(run_id=run.pk, now=run.queued_at + dt.timedelta(milliseconds=1250))
    assert owner_api.get(address(run.pk)).json()["timings"]["queue_ms"] == 1250


def test_the_headers_that_matter_are_shown_and_no_key_is(
    owner_api: APIClient, make_run: MakeRun, settings: Settings
) -> None:
    settings.INFERENCE_API_KEY = "sk-secret-of-the-operator"
    run = make_run()
    answer = owner_api.get(address(run.pk))
    assert answer.json()["wire_headers"] == {"anthropic-version": "2023-06-01", "Idempotency-Key": str(run.pk)}
    assert "sk-secret" not in answer.text


def test_the_request_can_be_left_out(owner_api: APIClient, make_run: MakeRun) -> None:
    run = make_run(messages=[{"role": "user", "content": "only here"}])
    answer = owner_api.get(address(run.pk), {"leave_out": "request"})
    assert answer.json()["wire_request"] is None
    assert "only here" not in answer.text
    assert answer.json().keys() == owner_api.get(address(run.pk)).json().keys()


def test_what_went_over_the_wire_can_be_had_to_the_character(owner_api: APIClient, make_run: MakeRun) -> None:
    text = "line\u2028separator, ü, \U0001f388 and \\u0041"
    run = claim_run(
        run_id=make_run(temperature=1.0, metadata={"b": 1e-7, "a": 1}, messages=[{"role": "user", "content": text}]).pk
    )
    assert run is not None
    message = {"id": "msg_1", "content": [{"type": "tool_use", "input": {"z": 2.0, "größe": 1}}]}
    finish_run(run=run, ending=Ending(status=RunStatus.SUCCEEDED, output="", response=message))
    found = owner_api.get(address(run.pk), {"wire": "text"}).json()
    assert found["wire_request"] == run.request
    assert '"temperature":1.0,"metadata":{"b":1e-07,"a":1}' in found["wire_request"]
    assert found["wire_response"] == (
        '{"id": "msg_1", "content": [{"type": "tool_use", "input": {"z": 2.0, "größe": 1}}]}'
    )


def test_no_response_is_none_as_text_either(owner_api: APIClient, make_run: MakeRun) -> None:
    answer = owner_api.get(address(make_run().pk), {"wire": "text", "leave_out": "request"}).json()
    assert (answer["wire_request"], answer["wire_response"]) == (None, None)


def test_a_run_without_a_schema_has_no_verdict(owner_api: APIClient, make_run: MakeRun) -> None:
    assert owner_api.get(address(make_run().pk)).json()["structured"] is None


def test_a_stranger_and_an_unknown_id_get_the_same_answer(stranger_api: APIClient, make_run: MakeRun) -> None:
    foreign = stranger_api.get(address(make_run().pk))
    absent = stranger_api.get(address(uuid.uuid4()))
    assert (foreign.status_code, absent.status_code) == (404, 404)
    assert foreign.json()["error"] == absent.json()["error"]


def test_a_friend_sees_no_run_either(friend_api: APIClient, make_run: MakeRun) -> None:
    assert friend_api.get(address(make_run().pk)).status_code == 404


def test_nobody_signed_in_is_asked_to_sign_in(anonymous_api: APIClient, make_run: MakeRun) -> None:
    assert anonymous_api.get(address(make_run().pk)).status_code == 401


def test_a_bad_id_is_not_found(owner_api: APIClient) -> None:
    answer = owner_api.get(address("1-or-1"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_a_run_is_not_changed_by_the_api(owner_api: APIClient, make_run: MakeRun) -> None:
    run = make_run()
    for call in (owner_api.post, owner_api.put, owner_api.patch, owner_api.delete):
        assert call(address(run.pk)).status_code == 405
