"""Test cases that are typed in: kept, read a window at a time, changed by one person after the other."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from batches.models import RowSet
from playground.models import Prompt
from tests.batches.conftest import API
from tests.batches.running import MODELS, asked, row
from tests.batches.sending_files import rows_of
from tests.inference_client.upstream import Call, Script, Upstream, Wire

pytestmark = pytest.mark.django_db
ROWS = [row("Ada", "yes"), row("Bo"), row("Cy")]


def typed(api: APIClient, prompt: Prompt, rows: list[Any], **more: Any) -> Any:
    body = {"name": "Cases", "rows": rows, **more}
    return api.post(f"{API}/prompts/{prompt.pk}/datasets", body, format="json")


def edit(api: APIClient, dataset: dict[str, Any], *edits: Any, revision: int = 1, **more: Any) -> Any:
    body = {"revision": revision, "edits": list(edits), **more}
    return api.patch(f"{API}/datasets/{dataset['id']}/rows", body, format="json")


@pytest.fixture
def cases(owner_api: APIClient, prompt: Prompt) -> dict[str, Any]:
    made: dict[str, Any] = typed(owner_api, prompt, ROWS).json()
    return made


def test_rows_are_kept_as_they_are_sent_and_read_a_window_at_a_time(owner_api: APIClient, prompt: Prompt) -> None:
    rows = [{"values": {"n": number, "t": f" {number}\r\n\x00"}, "expected": None} for number in range(1200)]
    made = typed(owner_api, prompt, rows, columns=["t", "n", "later"]).json()
    assert (made["count"], made["columns"], made["editable"], made["file"]) == (1200, ["t", "n", "later"], True, None)
    for offset, limit, numbers in ((0, 2, [0, 1]), (499, 3, [499, 500, 501]), (1199, 500, [1199]), (1200, 10, [])):
        found = rows_of(owner_api, made, offset=offset, limit=limit)
        assert [each["index"] for each in found] == numbers
        assert [each["values"] for each in found] == [rows[number]["values"] for number in numbers]


def test_an_editor_sees_and_writes_them_a_stranger_does_not(
    owner_api: APIClient, friend_api: APIClient, stranger_api: APIClient, shared: Prompt, cases: dict[str, Any]
) -> None:
    listed = friend_api.get(f"{API}/prompts/{shared.pk}/datasets").json()["results"]
    assert [each["id"] for each in listed] == [cases["id"]]
    assert edit(friend_api, cases, {"op": "remove", "index": 0, "count": 1}).status_code == 200
    assert edit(stranger_api, cases, revision=2).status_code == 404
    assert stranger_api.get(f"{API}/prompts/{shared.pk}/datasets").status_code == 404


def test_edits_are_applied_in_their_order(owner_api: APIClient, cases: dict[str, Any]) -> None:
    answer = edit(
        owner_api,
        cases,
        {"op": "set", "index": 0, "values": {"name": None, "city": "Ulm"}, "expected": None},
        {"op": "insert", "index": 1, "rows": [row("New", "z")]},
        {"op": "remove", "index": 2, "count": 1},
        {"op": "rename", "from": "name", "to": "who"},
    )
    assert answer.json() == {"revision": 2, "count": 3, "columns": ["who", "city"]}
    assert [(each["values"], each["expected"]) for each in rows_of(owner_api, cases)] == [
        ({"city": "Ulm"}, None),
        ({"who": "New"}, "z"),
        ({"who": "Cy"}, None),
    ]
    assert RowSet.objects.count() == 1, "the rows of before are gone"


def test_who_comes_second_is_told_and_changes_nothing(owner_api: APIClient, cases: dict[str, Any]) -> None:
    assert edit(owner_api, cases, {"op": "set", "index": 0, "expected": "first"}).status_code == 200
    second = edit(owner_api, cases, {"op": "set", "index": 0, "expected": "second"})
    assert (second.status_code, second.json()["error"]["code"]) == (409, "dataset_changed")
    assert second.json()["error"]["data"] == {"revision": 2}
    assert rows_of(owner_api, cases)[0]["expected"] == "first"


def test_columns_are_put_in_order_and_values_of_others_dropped(owner_api: APIClient, cases: dict[str, Any]) -> None:
    added = edit(owner_api, cases, {"op": "set", "index": 0, "values": {"x": 1}}, columns=["x", "empty"])
    assert added.json()["columns"] == ["x", "empty"]
    assert [each["values"] for each in rows_of(owner_api, cases)] == [{"x": 1}, {}, {}]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"op": "jump"}, "edits.0.op"),
        ("set", "edits.0.op"),
        ({"op": "set", "index": 3}, "edits.0.index"),
        ({"op": "set", "index": True}, "edits.0.index"),
        ({"op": "set", "index": 0, "values": {"a b": 1}}, "edits.0.values.a b"),
        ({"op": "insert", "index": 4, "rows": []}, "edits.0.index"),
        ({"op": "insert", "index": 0, "rows": [{"value": {}}]}, "edits.0.rows.0"),
        ({"op": "remove", "index": 1, "count": 3}, "edits.0.count"),
        ({"op": "rename", "from": "name", "to": ""}, "edits.0.to"),
    ],
)
def test_an_edit_that_makes_no_sense_is_refused_by_its_field_and_none_is_done(
    change: Any, field: str, owner_api: APIClient, cases: dict[str, Any]
) -> None:
    answer = edit(owner_api, cases, change)
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)
    assert owner_api.get(f"{API}/datasets/{cases['id']}").json()["revision"] == 1


def test_more_than_can_be_written_by_hand_is_refused_and_what_was_there_is_kept(
    owner_api: APIClient, prompt: Prompt, cases: dict[str, Any]
) -> None:
    assert typed(owner_api, prompt, [row("x")] * 2001).json()["error"]["code"] == "dataset_too_large"
    answer = edit(owner_api, cases, {"op": "insert", "index": 0, "rows": [row("x")] * 1998})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "dataset_too_large")
    large = edit(owner_api, cases, {"op": "set", "index": 0, "values": {"name": "x" * 5_000_000}})
    assert large.json()["error"]["code"] == "dataset_too_large"
    assert [each["values"] for each in rows_of(owner_api, cases)] == [each["values"] for each in ROWS]


def test_a_row_of_a_hundred_thousand_variables_is_refused_at_once(
    owner_api: APIClient, prompt: Prompt, save: Any
) -> None:
    save()
    wide = [{"values": {f"a{number}": "" for number in range(100_000)}}]
    path = f"{API}/prompts/{prompt.pk}"
    refused = owner_api.post(f"{path}/datasets", {"name": "Wide", "rows": wide}, format="json")
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "too_many_columns")
    for call in ("batches", "batches/estimate"):
        assert owner_api.post(f"{path}/{call}", {"rows": wide, "versions": [1]}, format="json").status_code == 400


def test_columns_are_renamed_a_few_at_a_time(owner_api: APIClient, cases: dict[str, Any]) -> None:
    back_and_forth = [{"op": "rename", "from": "name", "to": "x"}, {"op": "rename", "from": "x", "to": "name"}] * 11
    path = f"{API}/datasets/{cases['id']}/rows"
    refused = owner_api.patch(path, {"revision": 1, "edits": back_and_forth}, format="json")
    assert (refused.status_code, refused.json()["error"]["field"]) == (400, "edits")
    done = owner_api.patch(path, {"revision": 1, "edits": back_and_forth[:20]}, format="json")
    assert done.status_code == 200


def test_a_batch_keeps_the_rows_that_it_was_started_with(
    owner_api: APIClient, prompt: Prompt, cases: dict[str, Any], save: Any
) -> None:
    save()
    body = {"dataset": cases["id"], "versions": ["main"]}
    batch = owner_api.post(f"{API}/prompts/{prompt.pk}/batches", body, format="json").json()
    edit(owner_api, cases, {"op": "remove", "index": 0, "count": 3})
    assert owner_api.delete(f"{API}/datasets/{cases['id']}").status_code == 204
    shown = owner_api.get(f"{API}/batches/{batch['id']}/results").json()
    assert [each["values"]["name"] for each in shown["results"]] == ["Ada", "Bo", "Cy"]
    assert owner_api.get(f"{API}/batches/{batch['id']}").json()["dataset"] is None


def test_a_dataset_of_another_prompt_cannot_be_run(owner: Any, owner_api: APIClient, cases: dict[str, Any]) -> None:
    from playground import services

    other = services.create_prompt(owner=owner, name="Other")
    body = {"dataset": cases["id"], "versions": [1]}
    assert owner_api.post(f"{API}/prompts/{other.pk}/batches", body, format="json").status_code == 404


def test_the_same_call_twice_keeps_one_dataset(owner_api: APIClient, prompt: Prompt) -> None:
    body = {"name": "Cases", "rows": ROWS}
    path = f"{API}/prompts/{prompt.pk}/datasets"
    made = [owner_api.post(path, body, format="json", HTTP_IDEMPOTENCY_KEY="k").json()["id"] for _ in range(2)]
    assert made[0] == made[1]


def test_an_estimate_counts_runs_and_tells_what_is_unset_without_starting_anything(
    owner_api: APIClient, prompt: Prompt, save: Any
) -> None:
    save("{{name}} lives in {{city}}", max_tokens=10)
    body = {
        "rows": [{"values": {"name": "x" * 400, "city": "y"}}, row("Bo")],
        "versions": [1, 1],
        "checks": [{"kind": "model", "question": "?"}],
    }
    shown = owner_api.post(f"{API}/prompts/{prompt.pk}/batches/estimate", body, format="json").json()
    assert (shown["rows"], shown["runs"], shown["grading_runs"]) == (2, 4, 4)
    assert shown["output_tokens_most"] == 40
    assert shown["unset"] == {"city": 1}
    assert shown["cost_usd"] is None
    # Nobody counts here: 4 characters a token, and 411 of them in the one row that can be sent.
    assert (shown["counted_rows"], shown["input_tokens"]) == (0, 412)
    assert owner_api.get(f"{API}/prompts/{prompt.pk}/batches").json()["results"] == []


def counting(tokens_a_character: int) -> Script:
    """A model server that counts and answers nothing else."""

    async def script(call: Call, wire: Wire) -> None:
        if call.method == "GET":
            await wire.answer(200, MODELS)
        elif call.path.endswith("/count_tokens"):
            await wire.answer(200, {"input_tokens": tokens_a_character * len(asked(call))})
        else:
            await wire.error(500, "api_error", "No answers here.")

    return script


def test_an_estimate_is_made_of_the_model_servers_count_of_five_rows(
    owner_api: APIClient, prompt: Prompt, save: Any, upstream: Upstream
) -> None:
    upstream.does(counting(3))
    save("{{name}}")
    save("{{name}}{{name}}")
    # 20 rows of 10 and 20 characters in turn: 15 in the mean, and twice as many in the second version.
    rows = [row(f"{number:02}" * (5 if number % 2 else 10)) for number in range(20)]
    body = {"rows": rows, "versions": [1, 2]}
    shown = owner_api.post(f"{API}/prompts/{prompt.pk}/batches/estimate", body, format="json").json()
    assert (shown["counted_rows"], shown["input_tokens"]) == (5, 20 * (15 + 30) * 3)
    counts = [call for call in upstream.calls if call.method == "POST"]
    assert len(counts) == 10
    assert {call.path for call in counts} == {"/v1/messages/count_tokens"}
    # What was counted is known for a while.
    assert owner_api.post(f"{API}/prompts/{prompt.pk}/batches/estimate", body, format="json").json() == shown
    assert len([call for call in upstream.calls if call.method == "POST"]) == 10


def test_who_cannot_count_is_asked_once_for_an_estimate(
    owner_api: APIClient, prompt: Prompt, save: Any, upstream: Upstream
) -> None:
    async def busy(call: Call, wire: Wire) -> None:
        await (wire.answer(200, MODELS) if call.method == "GET" else wire.error(529, "overloaded_error", "Busy."))

    upstream.does(busy)
    save("Say {{name}}.")
    body = {"rows": [row(str(number)) for number in range(12)], "versions": [1]}
    shown = owner_api.post(f"{API}/prompts/{prompt.pk}/batches/estimate", body, format="json").json()
    assert shown["counted_rows"] == 0
    assert shown["input_tokens"] > 0
    assert len([call for call in upstream.calls if call.method == "POST"]) == 1
