"""A file of test cases on its way from a browser to rows."""

from __future__ import annotations

import json

import pytest
from rest_framework.test import APIClient

from batches.models import Dataset, RowSet
from playground.models import Prompt
from tests.batches.conftest import API
from tests.batches.sending_files import announce, rows_of, send, state_of, taken_in, work
from tests.playground.uploading import keys, put_parts, sha256

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_csv_file_becomes_rows_with_its_values_as_they_are(owner_api: APIClient, prompt: Prompt) -> None:
    data = '\ufeffname;größe;expected\r\n"a;b";" x ";yes\r\n"q""1\nline 2";;\r\n'.encode()
    dataset = taken_in(owner_api, prompt, data)
    assert (dataset["status"], dataset["count"], dataset["has_expected"]) == ("ready", 2, True)
    assert dataset["columns"] == ["name", "größe"]
    assert dataset["file"]["warnings"][0]["code"] == "delimiter"
    first, second = rows_of(owner_api, dataset)
    assert first == {"index": 0, "values": {"name": "a;b", "größe": " x "}, "expected": "yes"}
    assert second == {"index": 1, "values": {"name": 'q"1\nline 2', "größe": ""}, "expected": ""}
    assert keys(f"staging/{prompt.pk}/") == []


def test_values_of_json_lines_stay_json_and_null_is_no_value(owner_api: APIClient, prompt: Prompt) -> None:
    lines = [{"a": 1, "b": {"x": [1.5, None]}, "expected": {"y": 1}}, {"a": None, "b": True}, {"a": "1", "b": "\x00"}]
    data = "\n\n".join(json.dumps(line) for line in lines).encode()
    dataset = taken_in(owner_api, prompt, data, format="jsonl")
    assert dataset["status"] == "ready"
    rows = rows_of(owner_api, dataset)
    assert [row["values"] for row in rows] == [{"a": 1, "b": {"x": [1.5, None]}}, {"b": True}, {"a": "1", "b": "\x00"}]
    assert [row["expected"] for row in rows] == ['{"y": 1}', None, None]


def test_columns_are_named_anew_or_left_out_as_the_sender_says(owner_api: APIClient, prompt: Prompt) -> None:
    data = b"Full name,secret,Should be\nAda,x,yes\n"
    dataset = taken_in(owner_api, prompt, data, columns={"Full name": "name", "secret": None}, expected="Should be")
    assert rows_of(owner_api, dataset) == [{"index": 0, "values": {"name": "Ada"}, "expected": "yes"}]
    refused = taken_in(owner_api, prompt, data)
    assert (refused["status"], refused["file"]["error"]["code"]) == ("failed", "not_a_variable")


def test_rows_that_cannot_be_read_are_told_by_number_and_nothing_is_taken_in(
    owner_api: APIClient, prompt: Prompt
) -> None:
    data = b"a,b\n1,2\n3\n\n\xff,4\n5,6\n"
    failed = taken_in(owner_api, prompt, data)
    assert (failed["status"], failed["file"]["error"]["code"], failed["count"]) == ("failed", "bad_rows", 0)
    assert [(each["row"], each["line"], each["code"]) for each in failed["file"]["problems"]] == [
        (2, 3, "wrong_columns"),
        (3, 5, "not_utf8"),
    ]
    assert not RowSet.objects.exists()
    answer = owner_api.get(f"{API}/datasets/{failed['id']}/rows")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "dataset_not_ready")


def test_the_good_rows_of_a_bad_file_are_taken_in_if_that_was_asked_for(owner_api: APIClient, prompt: Prompt) -> None:
    dataset = taken_in(owner_api, prompt, b"a,b\n1,2\n3\n5,6\n", skip_bad_rows=True)
    assert (dataset["status"], dataset["count"], dataset["file"]["problem_count"]) == ("ready", 2, 1)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"a,a\n1,2\n", "repeated_name"),
        ("é,e\u0301\n1,2\n".encode(), "repeated_name"),
        (b"a,,c\n1,2,3\n", "bad_header"),
        (b"a,b\n", "no_rows"),
        ("a,b\n1,2\n".encode("utf-16"), "not_utf8"),
    ],
)
def test_a_file_that_cannot_be_read_at_all_says_why(
    owner_api: APIClient, prompt: Prompt, data: bytes, code: str
) -> None:
    failed = taken_in(owner_api, prompt, data)
    assert (failed["status"], failed["file"]["error"]["code"]) == ("failed", code)


def test_what_arrives_must_be_what_was_announced(owner_api: APIClient, prompt: Prompt) -> None:
    answer = announce(owner_api, prompt, b"a\n1\n")
    completed = owner_api.post(f"{API}/datasets/{answer.json()['id']}/complete")
    assert (completed.status_code, completed.json()["error"]["code"]) == (409, "not_uploaded")


def test_a_file_in_parts_is_read_like_any_other(owner_api: APIClient, prompt: Prompt) -> None:
    data = b"a\n" + b"0123456789abcdef\n" * 600_000
    pieces = [data[start : start + 8 * 1024 * 1024] for start in range(0, len(data), 8 * 1024 * 1024)]
    started = announce(owner_api, prompt, data, part_sha256=[sha256(piece) for piece in pieces]).json()
    assert put_parts(started, data) == [1, 2]
    owner_api.post(f"{API}/datasets/{started['id']}/complete")
    work(started)
    shown = state_of(owner_api, started)
    assert (shown["status"], shown["file"]["error"]["code"]) == ("failed", "too_many_rows")


def test_a_dataset_that_is_deleted_while_its_file_waits_leaves_nothing(owner_api: APIClient, prompt: Prompt) -> None:
    queued = send(owner_api, prompt, b"a\n1\n")
    assert owner_api.delete(f"{API}/datasets/{queued['id']}").status_code == 204
    work(queued)
    assert not Dataset.objects.exists()
    assert not RowSet.objects.exists()
    assert keys(f"staging/{prompt.pk}/") == []


def test_bytes_that_are_announced_as_too_many_are_refused(owner_api: APIClient, prompt: Prompt) -> None:
    answer = announce(owner_api, prompt, b"a\n1\n", size=2**40)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "file_too_large")
