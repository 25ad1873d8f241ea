"""`POST /api/v1/prompts/{id}/comparisons`: columns side by side, all their runs made by one call."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone
from rest_framework.test import APIClient

from inference_client.models import Run, RunStatus
from playground import services
from playground.models import Comparison, Prompt, VersionRun
from playground.services import SavedVersion
from playground.spec import parse

pytestmark = pytest.mark.django_db
Save = Callable[..., SavedVersion]
API = "/api/v1"
#: Two of the kinds of column: another temperature, another model.
COLUMNS = [
    {"version": 1, "parameters": {"temperature": 0}},
    {"version": 1, "model": "other", "parameters": {"temperature": 1, "stop_sequences": ["END"]}},
]


@pytest.fixture
def url(prompt: Prompt, save: Save) -> str:
    save()
    return f"{API}/prompts/{prompt.pk}/comparisons"


def post(api: APIClient, url: str, body: dict[str, Any] | None = None, *, key: str | None = None) -> Any:
    headers = {"Idempotency-Key": key} if key else {}
    given = {"columns": COLUMNS, "variables": {"name": "Ada"}, "repetitions": 3, **(body or {})}
    return api.post(url, given, format="json", headers=headers)


def end(run_id: str, status: str = RunStatus.SUCCEEDED, output: str = "", **fields: Any) -> None:
    now = timezone.now()
    error = "stream_cut" if status == RunStatus.FAILED else ""
    Run.objects.filter(pk=run_id).update(
        status=status, finished_at=now, output_json=json.dumps(output), error_code=error, **fields
    )


def test_each_column_is_queued_so_many_times_and_says_where_it_stands(owner_api: APIClient, url: str) -> None:
    answer = post(owner_api, url)
    assert answer.status_code == 201
    told = answer.json()
    assert (told["repetitions"], told["variables"], told["counts"]) == (3, {"name": "Ada"}, {"queued": 6})
    first, second = told["columns"]
    assert (first["version"], first["model"], first["parameters"]) == (1, None, {"temperature": 0})
    assert (second["model"], second["parameters"]) == ("other", {"temperature": 1, "stop_sequences": ["END"]})
    for column in (first, second):
        assert [(run["repetition"], run["attempt"], run["status"]) for run in column["runs"]] == [
            (0, 1, "queued"),
            (1, 1, "queued"),
            (2, 1, "queued"),
        ]
    assert owner_api.get(f"{API}/comparisons/{told['id']}").json() == told


def test_parameters_reach_the_wire_zero_as_zero_and_null_not_at_all(
    owner_api: APIClient, prompt: Prompt, raw_spec: dict[str, Any]
) -> None:
    spec = parse({**raw_spec, "temperature": 0.7, "top_k": 4})
    services.save_version(author=prompt.owner, prompt=prompt, spec=spec)
    columns = [
        {"version": 1, "parameters": {"temperature": 0, "top_k": None}},
        {"version": "latest", "parameters": {"max_tokens": 5, "api_version": "2023-06-01"}},
    ]
    told = post(owner_api, f"{API}/prompts/{prompt.pk}/comparisons", {"columns": columns, "repetitions": 1}).json()
    bodies = [json.loads(Run.objects.get(pk=column["runs"][0]["id"]).request) for column in told["columns"]]
    assert json.dumps([bodies[0]["temperature"], bodies[1]["temperature"]]) == "[0, 0.7]"
    assert "top_k" not in bodies[0]
    assert (bodies[1]["top_k"], bodies[1]["max_tokens"], bodies[0]["max_tokens"]) == (4, 5, 16)
    assert bodies[0]["messages"][0]["content"] == "Greet Ada."
    kept = VersionRun.objects.get(run=told["columns"][0]["runs"][0]["id"])
    assert json.loads(kept.parameters) == {"temperature": 0, "top_k": None}


def test_a_single_run_takes_parameters_and_one_key_for_others_is_409(
    owner_api: APIClient, prompt: Prompt, save: Save
) -> None:
    save()
    path = f"{API}/prompts/{prompt.pk}/versions/1/runs"
    answers = [
        owner_api.post(
            path,
            {"variables": {"name": "x"}, "parameters": {"temperature": value}},
            format="json",
            headers={"Idempotency-Key": "k"},
        )
        for value in (0, 0, 1)
    ]
    assert [answer.status_code for answer in answers] == [201, 201, 409]
    assert answers[0].json()["id"] == answers[1].json()["id"]
    assert json.loads(Run.objects.get().request)["temperature"] == 0


def test_a_replay_finds_what_the_first_call_made(owner_api: APIClient, url: str) -> None:
    answers = [post(owner_api, url, key="k").json() for _ in range(2)]
    assert answers[0] == answers[1]
    assert (Comparison.objects.count(), Run.objects.count()) == (1, 6)
    again = post(owner_api, url, {"repetitions": 2}, key="k")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "idempotency_key_reused")


def test_a_replay_after_its_label_moved_finds_what_the_first_call_made(
    owner_api: APIClient, url: str, prompt: Prompt, raw_spec: dict[str, Any]
) -> None:
    label = f"{API}/prompts/{prompt.pk}/labels/production"
    assert owner_api.put(label, {"version": 1}, format="json").status_code in (200, 201)
    body = {"columns": [{"version": "production"}, COLUMNS[1]], "repetitions": 1}
    first = post(owner_api, url, body, key="k")
    # The version it points at now needs a value that the call does not give.
    asks_more = parse({**raw_spec, "messages": [{"role": "user", "content": "{{name}} {{more}}"}]})
    services.save_version(author=prompt.owner, prompt=prompt, spec=asks_more)
    assert owner_api.put(label, {"version": 2}, format="json").status_code == 200
    again = post(owner_api, url, body, key="k")
    assert (again.status_code, again.json()) == (201, first.json())
    assert (Comparison.objects.count(), Run.objects.count()) == (1, 2)
    other = post(owner_api, url, {**body, "columns": [{"version": 2}, COLUMNS[1]]}, key="k")
    assert (other.status_code, other.json()["error"]["code"]) == (409, "idempotency_key_reused")


def test_a_column_that_cannot_run_makes_nothing(owner_api: APIClient, url: str) -> None:
    answer = post(owner_api, url, {"variables": {}})
    assert (answer.status_code, answer.json()["error"]["data"]) == (422, {"names": ["name"]})
    assert not Comparison.objects.exists()
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"columns": COLUMNS[:1]}, "columns"),
        ({"columns": COLUMNS * 3}, "columns"),
        ({"repetitions": 0}, "repetitions"),
        ({"repetitions": 21}, "repetitions"),
        ({"columns": [COLUMNS[0], {"version": 9}]}, "columns.1.version"),
        ({"columns": [COLUMNS[0], {"version": True}]}, "columns.1.version"),
        ({"columns": [COLUMNS[0], {"version": 1, "parameters": {"top_p": 7}}]}, "columns.1.parameters.top_p"),
        ({"columns": [COLUMNS[0], {"version": 1, "parameters": {"system": "x"}}]}, "columns.1.parameters.system"),
        ({"columns": [COLUMNS[0], {"version": 1, "model": "m" * 300}]}, "columns.1.model"),
        ({"variables": "x"}, "variables"),
    ],
)
def test_bad_input_names_its_field(owner_api: APIClient, url: str, body: dict[str, Any], field: str) -> None:
    answer = post(owner_api, url, body)
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)
    assert not Run.objects.exists()


def test_requests_that_are_too_large_together_are_refused(owner_api: APIClient, prompt: Prompt, save: Save) -> None:
    save(text="x" * 1_900_000 + "{{name}}")
    path = f"{API}/prompts/{prompt.pk}/comparisons"
    answer = post(owner_api, path, {"repetitions": 20})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "comparison_too_large")
    assert not Run.objects.exists()


def test_an_answer_is_measured_where_it_is(owner_api: APIClient, url: str) -> None:
    told = post(owner_api, url).json()
    # A quote, an escape that is none, a line break; and a NUL, which PostgreSQL's JSON cannot read.
    texts = ['a"b\\u0041\n', "日本 😀\0", 'a"b\\u0041\n']
    for run, text in zip(told["columns"][0]["runs"], texts, strict=True):
        end(run["id"], output=text)
    runs = owner_api.get(f"{API}/comparisons/{told['id']}").json()["columns"][0]["runs"]
    assert [run["output_chars"] for run in runs] == [len(text) for text in texts]
    assert runs[0]["output_digest"] == runs[2]["output_digest"] != runs[1]["output_digest"]
    for text in ("مرحبا 😀 بالعالم", "\\u0000 😀", "", "x" * 300_000):
        end(told["columns"][1]["runs"][0]["id"], output=text)
        run = owner_api.get(f"{API}/comparisons/{told['id']}").json()["columns"][1]["runs"][0]
        assert run["output_chars"] == (len(text) if len(text) < 200_000 else None)


def test_the_answers_of_a_repetition_come_by_column(owner_api: APIClient, url: str) -> None:
    told = post(owner_api, url).json()
    end(told["columns"][1]["runs"][2]["id"], output="مرحبا")
    found = owner_api.get(f"{API}/comparisons/{told['id']}/answers?repetition=2").json()["results"]
    assert [(each["column"], each["status"], each["output"]) for each in found] == [
        (0, "queued", ""),
        (1, "succeeded", "مرحبا"),
    ]
    for wrong in ("3", "-1", "x", "²"):
        answer = owner_api.get(f"{API}/comparisons/{told['id']}/answers", {"repetition": wrong})
        assert (answer.status_code, answer.json()["error"]["field"]) == (400, "repetition")


def test_stopping_ends_what_has_not_ended(owner_api: APIClient, url: str) -> None:
    told = post(owner_api, url).json()
    end(told["columns"][0]["runs"][0]["id"], output="kept")
    path = f"{API}/comparisons/{told['id']}/cancel"
    assert owner_api.post(path, {"column": 1}, format="json").json() == {"count": 3}
    assert owner_api.post(path).json() == {"count": 2}
    assert owner_api.post(path).json() == {"count": 0}
    counts = owner_api.get(f"{API}/comparisons/{told['id']}").json()["counts"]
    assert counts == {"succeeded": 1, "cancelled": 5}


def test_what_failed_or_was_stopped_is_run_again_once(owner_api: APIClient, url: str) -> None:
    told = post(owner_api, url).json()
    first, second = told["columns"]
    end(first["runs"][0]["id"], output="good")
    end(first["runs"][1]["id"], status=RunStatus.FAILED, output="half")
    end(second["runs"][2]["id"], status=RunStatus.CANCELLED)
    path = f"{API}/comparisons/{told['id']}"
    assert owner_api.post(f"{path}/retry", {"column": 1}, format="json").json() == {"count": 1}
    assert [owner_api.post(f"{path}/retry").json() for _ in range(2)] == [{"count": 1}, {"count": 0}]
    now = owner_api.get(path).json()
    attempts = [[run["attempt"] for run in column["runs"]] for column in now["columns"]]
    assert attempts == [[1, 2, 1], [1, 1, 2]]
    assert now["columns"][0]["runs"][0]["id"] == first["runs"][0]["id"]
    assert Run.objects.get(pk=first["runs"][1]["id"]).output == "half"
    again = Run.objects.get(pk=now["columns"][0]["runs"][1]["id"])
    assert json.loads(again.request) == json.loads(Run.objects.get(pk=first["runs"][1]["id"]).request)


def test_a_place_is_run_once_an_attempt_whatever_the_code_does(owner_api: APIClient, url: str) -> None:
    told = post(owner_api, url).json()
    row = VersionRun.objects.get(run=told["columns"][0]["runs"][0]["id"])
    row.run_id = Run.objects.exclude(pk=row.run_id).latest("id").pk
    VersionRun.objects.filter(run=row.run_id).delete()
    with pytest.raises(IntegrityError, match="run_once_a_place"), transaction.atomic():
        row.save(force_insert=True)


def test_a_friend_who_edits_compares_for_themselves(
    owner_api: APIClient, friend_api: APIClient, url: str, shared: Prompt
) -> None:
    mine = post(owner_api, url).json()["id"]
    theirs = post(friend_api, url)
    assert theirs.status_code == 201
    listed = [[each["id"] for each in api.get(url).json()["results"]] for api in (owner_api, friend_api)]
    assert listed == [[mine], [theirs.json()["id"]]]
    for api, other in ((owner_api, theirs.json()["id"]), (friend_api, mine)):
        assert api.get(f"{API}/comparisons/{other}").status_code == 404
        assert api.post(f"{API}/comparisons/{other}/cancel").status_code == 404
    assert Run.objects.filter(status=RunStatus.CANCELLED).count() == 0


def test_a_stranger_and_somebody_signed_out_find_nothing(
    owner_api: APIClient, stranger_api: APIClient, anonymous_api: APIClient, url: str
) -> None:
    made = post(owner_api, url).json()["id"]
    for path in ("", "/answers", "/cancel", "/retry"):
        for api, status in ((stranger_api, 404), (anonymous_api, 401)):
            send = api.post if path in ("/cancel", "/retry") else api.get
            assert send(f"{API}/comparisons/{made}{path}").status_code == status
    assert owner_api.get(f"{API}/comparisons/{uuid.uuid4()}").status_code == 404
    assert [post(api, url).status_code for api in (stranger_api, anonymous_api)] == [404, 401]


def test_in_the_trash_it_is_gone_and_erased_with_its_prompt(owner_api: APIClient, url: str, prompt: Prompt) -> None:
    made = post(owner_api, url).json()["id"]
    assert owner_api.post(f"{API}/prompts/{prompt.pk}/trash").status_code == 200
    assert owner_api.get(f"{API}/comparisons/{made}").status_code == 404
    assert owner_api.delete(f"{API}/prompts/{prompt.pk}", {"name": "Greeting"}, format="json").status_code == 204
    assert (Comparison.objects.count(), Run.objects.count(), VersionRun.objects.count()) == (0, 0, 0)
