from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from accounts.models import User
from inference_client.models import Run
from inference_client.services import request_cancel

pytestmark = pytest.mark.django_db

MakeRun = Callable[..., Run]
LIST = "/api/v1/runs"


def ids(answer: object) -> list[str]:
    return [row["id"] for row in answer.json()["results"]]  # type: ignore[attr-defined]  # the client's response


def test_my_runs_come_newest_first(owner_api: APIClient, make_run: MakeRun, stranger: User) -> None:
    runs = [make_run() for _ in range(3)]
    make_run(account=stranger)
    answer = owner_api.get(LIST)
    assert ids(answer) == [str(run.pk) for run in reversed(runs)]
    assert answer.json()["next"] is None


def test_the_pages_hold_each_run_once(owner_api: APIClient, make_run: MakeRun) -> None:
    runs = {str(make_run().pk) for _ in range(5)}
    seen: list[str] = []
    url: str | None = f"{LIST}?limit=2"
    while url:
        page = owner_api.get(url)
        seen += ids(page)
        url = page.json()["next"]
    assert len(seen) == 5
    assert set(seen) == runs


def test_runs_are_filtered_by_status_and_model(owner_api: APIClient, make_run: MakeRun) -> None:
    other = make_run(model="other")
    stopped = request_cancel(run=make_run())
    assert ids(owner_api.get(f"{LIST}?status=cancelled")) == [str(stopped.pk)]
    assert ids(owner_api.get(f"{LIST}?model=other")) == [str(other.pk)]
    assert ids(owner_api.get(f"{LIST}?model=other&status=cancelled")) == []


@pytest.mark.parametrize(
    ("query", "field"), [("status=paused", "status"), ("cursor=x", "cursor"), ("limit=0", "limit")]
)
def test_a_bad_question_is_refused_by_name(owner_api: APIClient, query: str, field: str) -> None:
    answer = owner_api.get(f"{LIST}?{query}")
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)


def test_a_list_reads_no_requests_and_no_answers_and_asks_once(
    owner_api: APIClient, make_run: MakeRun, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(5):
        make_run(system="a long prompt")
    owner_api.get(LIST)
    with django_assert_num_queries(2) as asked:
        answer = owner_api.get(LIST)
    assert '"request"' not in asked.captured_queries[-1]["sql"]
    assert "a long prompt" not in json.dumps(answer.json())


def test_nobody_signed_in_is_asked_to_sign_in(anonymous_api: APIClient) -> None:
    assert anonymous_api.get(LIST).status_code == 401


def test_a_run_is_not_made_here(owner_api: APIClient) -> None:
    assert owner_api.post(LIST, {}).status_code == 405
