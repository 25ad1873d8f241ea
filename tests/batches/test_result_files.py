"""The grid filtered, searched, and as a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest
from django.test import AsyncClient
from django.utils import timezone
from rest_framework.test import APIClient

from playground.models import Prompt
from playground.services import SavedVersion
from tests.batches.conftest import API
from tests.batches.running import Work, as_lines, row
from tests.batches.test_running_batches import read

pytestmark = pytest.mark.django_db(transaction=True)
NASTY = '=1+1 "quoted"; a,b\nnext line \U0001f600 \u05d0'


@pytest.fixture
def grid(save: Callable[..., SavedVersion], start: Callable[..., dict[str, Any]], work: Work) -> dict[str, Any]:
    """Four rows through two versions: both pass, one fails, both fail, one cannot be sent."""
    save("A {{name}}")
    save("B {{name}}{{city}}", variables=[{"name": "city", "type": "text"}])
    work.says(lambda prompt: NASTY if "nasty" in prompt else prompt)
    checks = [{"kind": "not_contains", "text": "A wrong"}, {"kind": "not_contains", "text": "quoted"}]
    both = {"city": "Ulm"}
    rows = [
        {"values": {"name": "fine", **both}},
        {"values": {"name": "wrong", **both}, "expected": "=2"},
        {"values": {"name": "nasty", **both}},
        row("lone"),
    ]
    batch = start(rows, versions=[1, 2], checks=checks)
    work.finish(batch)
    return batch


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ({}, [0, 1, 2, 3]),
        ({"only": "different"}, [1, 3]),
        ({"only": "different_output"}, [0, 1, 3]),
        ({"only": "failed"}, [1, 2, 3]),
        ({"only": "error"}, [3]),
        ({"only": "passed"}, [0, 1, 3]),
        ({"only": "failed", "version": 0}, [1, 2]),
        ({"status": "passed", "version": 1}, [0, 1]),
        ({"only": "open"}, []),
        ({"q": "QUOTED"}, [2]),
        ({"q": "ulm"}, [0, 1, 2]),
        ({"q": "ulm", "only": "different"}, [1]),
        ({"q": "%"}, []),
    ],
)
def test_rows_are_found_by_how_they_ended_and_what_they_say(
    query: dict[str, Any], rows: list[int], owner_api: APIClient, grid: dict[str, Any]
) -> None:
    shown = read(owner_api, grid, "/results", **query)
    assert [each["index"] for each in shown["results"]] == rows
    assert shown["count"] == len(rows)


def test_a_page_leads_to_the_next_one(owner_api: APIClient, grid: dict[str, Any]) -> None:
    first = read(owner_api, grid, "/results", only="failed", limit=2)
    assert [each["index"] for each in first["results"]] == [1, 2]
    second = owner_api.get(first["next"]).json()
    assert ([each["index"] for each in second["results"]], second["next"]) == ([3], None)


@pytest.mark.parametrize("query", [{"only": "x"}, {"status": "x"}, {"version": "4"}, {"limit": "0"}, {"offset": "-1"}])
def test_a_filter_that_makes_no_sense_is_refused(
    query: dict[str, Any], owner_api: APIClient, grid: dict[str, Any]
) -> None:
    assert owner_api.get(f"{API}/batches/{grid['id']}/results", query).status_code == 400


def test_one_row_is_shown_whole(owner_api: APIClient, friend_api: APIClient, shared: Any, grid: dict[str, Any]) -> None:
    shown = read(owner_api, grid, "/results/2")
    assert shown["cells"][0]["output"] == NASTY
    assert shown["cells"][0]["run_visible"] is True
    assert read(friend_api, grid, "/results/2")["cells"][0]["run_visible"] is False
    assert owner_api.get(f"{API}/batches/{grid['id']}/results/4").status_code == 404


def table(api: APIClient, grid: dict[str, Any], **query: Any) -> tuple[str, list[list[str]]]:
    answer = api.get(f"{API}/batches/{grid['id']}/results.csv", query, HTTP_ACCEPT="text/csv")
    assert answer.status_code == 200
    text = answer.getvalue().decode()
    return text, list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True))


def test_a_csv_file_holds_values_and_answers_as_they_are(owner_api: APIClient, grid: dict[str, Any]) -> None:
    text, lines = table(owner_api, grid)
    head = dict(enumerate(lines[0]))
    assert [head[place] for place in range(4)] == ["row", "name", "city", "expected"]
    assert lines[0][4:7] == ["v1 status", "v1 output", "v1 does not contain “A wrong”"]
    by_name = [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]
    assert [each["v1 status"] for each in by_name] == ["passed", "failed", "failed", "passed"]
    assert by_name[2]["v1 output"] == NASTY
    assert by_name[1]["expected"] == "=2"
    assert "{{city}}" in by_name[3]["v2 error"]
    assert not text.startswith("\ufeff")


def test_cells_that_a_spreadsheet_would_run_are_marked_only_if_that_was_asked_for(
    owner_api: APIClient, grid: dict[str, Any]
) -> None:
    text, lines = table(owner_api, grid, spreadsheet="true")
    by_name = [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]
    assert by_name[2]["v1 output"] == f"'{NASTY}"
    assert by_name[1]["expected"] == "'=2"
    assert text.startswith("\ufeff")


def test_json_lines_hold_every_row_or_those_that_match(owner_api: APIClient, grid: dict[str, Any]) -> None:
    answer = owner_api.get(f"{API}/batches/{grid['id']}/results.jsonl")
    lines = as_lines(answer.getvalue().decode())
    assert [line["index"] for line in lines] == [0, 1, 2, 3]
    assert lines[2]["answers"][1]["output"] == NASTY
    assert lines[0]["answers"][0]["checks"] == [{"verdict": "pass", "reason": ""}] * 2
    answer = owner_api.get(f"{API}/batches/{grid['id']}/results.jsonl", {"only": "error"})
    assert [line["index"] for line in as_lines(answer.getvalue().decode())] == [3]


def test_test_cases_that_are_downloaded_can_be_taken_in_again(owner_api: APIClient, prompt: Any) -> None:
    from tests.batches.sending_files import rows_of, taken_in

    rows = [{"values": {"name": NASTY, "n": "1"}, "expected": "a"}, {"values": {"name": "", "n": "2"}, "expected": ""}]
    made = owner_api.post(f"{API}/prompts/{prompt.pk}/datasets", {"name": "x", "rows": rows}, format="json").json()
    for kind in ("csv", "jsonl"):
        data = owner_api.get(f"{API}/datasets/{made['id']}/rows.{kind}").getvalue()
        again = taken_in(owner_api, prompt, data, format=kind)
        assert [{name: each[name] for name in ("values", "expected")} for each in rows_of(owner_api, again)] == rows


async def test_a_file_is_streamed_a_page_at_a_time_and_cut_off_from_who_lost_access(
    owner: Any, owner_api: APIClient, grid: dict[str, Any], monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    del owner_api
    monkeypatch.setattr("batches.exports.PAGE_ROWS", 1)
    monkeypatch.setattr("batches.api.downloads.ASK_AGAIN_S", 0.0)
    client = AsyncClient()
    await client.aforce_login(owner)
    answer: Any = await client.get(f"{API}/batches/{grid['id']}/results.jsonl")
    pieces = answer.streaming_content
    first = await anext(pieces)
    assert [line["index"] for line in as_lines(first.decode())] == [0]
    await Prompt.objects.aupdate(trashed_at=timezone.now())
    with pytest.raises(ConnectionAbortedError):
        await anext(pieces)
