"""An answer is held against the schema it was asked for, once, when it is whole; nothing that it holds can hang."""

from __future__ import annotations

import contextlib
import datetime as dt
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from inference_client import checker as checking
from inference_client import relay
from inference_client.checker import Checker
from inference_client.models import Run
from inference_client.structured import MOST_ERRORS, Structured, check, pointer, schema_of
from tests.inference_client.upstream import Upstream
from tests.waiting import wait_until

PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}},
    },
    "required": ["name"],
    "additionalProperties": False,
}
#: 2 ** 40 ways through it.
BRANCHING: dict[str, Any] = {
    "$ref": "#/$defs/d0",
    "$defs": {f"d{index}": {"allOf": [{"$ref": f"#/$defs/d{index + 1}"}] * 2} for index in range(40)}
    | {"d40": {"type": "integer"}},
}
BACKTRACKING = {"type": "string", "pattern": "^(a+)+$"}


def told(found: Structured) -> list[tuple[str, str]]:
    return [(problem.path, problem.message) for problem in found.errors]


@pytest.fixture
def checker() -> Iterator[Checker]:
    made = Checker()
    yield made
    made.close()


def test_an_answer_that_follows_its_schema_is_valid() -> None:
    assert check('{"name": "Ä", "tags": ["a"]}', PERSON) == Structured(valid=True)


def test_each_error_has_its_path_and_json_s_own_words() -> None:
    found = check('{"name": null, "tags": ["a", "c/d"], "x~/y": 1}', PERSON)
    assert found.valid is False
    assert ("/name", "Must be string, is null.") in told(found)
    assert ("/tags/1", 'Must be one of "a", "b", is "c/d".') in told(found)
    assert ("", "Additional properties are not allowed ('x~/y' was unexpected).") in told(found)


def test_a_missing_property_is_told_at_what_lacks_it() -> None:
    assert told(check("{}", PERSON)) == [("", "'name' is a required property.")]


@pytest.mark.parametrize(
    ("schema", "answer", "message"),
    [
        ({"type": ["integer", "null"]}, "true", "Must be integer or null, is boolean."),
        ({"const": {"a": 1}}, "2", 'Must be {"a": 1}, is 2.'),
        ({"minimum": 3}, "2.5", "Must be at least 3, is 2.5."),
        ({"minLength": 3}, '"ab"', "Must have at least 3 characters, has 2."),
        ({"maxItems": 1}, "[1, 2]", "May have at most 1 items, has 2."),
        ({"uniqueItems": True}, "[{}, {}]", "Has an item twice."),
        ({"pattern": "^b"}, '"a"', 'Must match "^b", is "a".'),
        ({"anyOf": [{"type": "null"}, {"type": "string"}]}, "1", "Fits none of the 2 alternatives of anyOf."),
        ({"oneOf": [{"type": "null"}, {"type": "string"}]}, "1", "Fits none of the 2 alternatives of oneOf."),
        ({"oneOf": [{}, {}]}, "1", "Fits more than one of the alternatives of oneOf."),
        ({"not": {}}, "1", "Is what the schema excludes by not."),
    ],
)
def test_what_is_wrong_is_one_sentence(schema: dict[str, Any], answer: str, message: str) -> None:
    assert told(check(answer, schema)) == [("", message)]


@pytest.mark.parametrize(
    ("answer", "message", "place"),
    [
        ('{"a": 1,\n "b": oops}', "Not JSON from line 2, column 7 on: Expecting value.", (2, 7)),
        ('{"😀": 1, x}', "Not JSON from line 1, column 10 on: ", (1, 10)),
        ('{"a": [1, 2', "The JSON is not finished: it ends in line 1, column 12.", (1, 12)),
        ('```json\n{"a": 1}\n```', "Not JSON: the answer stands in a Markdown code fence.", (1, 1)),
        ('{"a": 1} and more', "Not JSON from line 1, column 10 on: Extra data.", (1, 10)),
    ],
)
def test_where_an_answer_stops_being_json_is_told(answer: str, message: str, place: tuple[int, int]) -> None:
    found = check(answer, {})
    assert found.valid is False
    assert found.errors[0].message.startswith(message)
    assert found.place is not None
    assert (found.place.line, found.place.column) == place


@pytest.mark.parametrize("answer", ["NaN", "[Infinity]", "9" * 5000, "[" * 100_000])
def test_what_json_cannot_hold_is_no_answer(answer: str) -> None:
    found = check(answer, {})
    assert found.valid is False
    assert found.errors[0].message.startswith("Not usable as JSON")


def test_a_value_of_a_megabyte_is_not_quoted() -> None:
    found = check(json.dumps({"name": ["long"] * 100_000}), PERSON)
    assert len(json.dumps(found.plain())) < 1000


def test_no_more_errors_are_told_than_a_person_reads() -> None:
    found = check(json.dumps({"name": "x", "tags": ["c"] * 1000}), PERSON)
    assert len(found.errors) == MOST_ERRORS


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "objekt"}, "The schema itself is not valid"),
        ({"$ref": "#/$defs/absent"}, "which is not in it"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, "nested too deeply"),
    ],
)
def test_a_schema_that_cannot_be_used_says_nothing_about_the_answer(schema: dict[str, Any], words: str) -> None:
    found = check("1", schema)
    assert found.valid is None
    assert words in found.errors[0].message


def test_a_remote_reference_is_never_fetched() -> None:
    asked: list[str] = []

    class Listening(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

    server = http.server.HTTPServer(("127.0.0.1", 0), Listening)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        found = check("1", {"$ref": f"http://127.0.0.1:{server.server_port}/schema.json"})
    finally:
        server.shutdown()
        server.server_close()
    assert (found.valid, asked) == (None, [])
    assert "Nothing is fetched" in found.errors[0].message


@pytest.mark.parametrize(("schema", "answer"), [(BRANCHING, "1"), (BACKTRACKING, json.dumps("a" * 40 + "!"))])
def test_a_check_without_end_is_killed_and_the_next_one_works(
    checker: Checker, schema: dict[str, Any], answer: str
) -> None:
    found = checker.check(answer, schema)
    assert (found.valid, found.errors[0].message) == (None, checking.TOO_SLOW)
    assert checker.check('{"name": "x"}', PERSON).valid is True


def test_a_check_that_wants_all_memory_is_killed(checker: Checker) -> None:
    huge = json.dumps([{"a" * 10: index} for index in range(60_000)])
    schema = {"anyOf": [{"items": {"anyOf": [{"type": "null"}] * 400}}] * 50}
    assert checker.check(huge, schema).valid is None
    assert checker.check("{}", {}).valid is True


def test_what_is_too_large_is_not_looked_at(checker: Checker) -> None:
    assert checker.check("1" * (checking.MOST_TEXT_BYTES + 1), {}).errors[0].message == checking.TOO_LONG
    schema = {"enum": ["x" * checking.MOST_SCHEMA_BYTES]}
    assert checker.check("1", schema).errors[0].message == checking.TOO_LARGE


def test_a_process_that_died_is_replaced(checker: Checker) -> None:
    assert checker.check("1", {}).valid is True
    process = checker._process
    assert process is not None
    process.kill()
    process.wait()
    assert checker.check("1", {}).valid is True


def test_a_process_outlives_nobody(checker: Checker) -> None:
    """Its standard input ends with whoever started it."""
    checker.check("1", {})
    process = checker._process
    assert process is not None
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=30) == 0


def test_threads_take_turns(checker: Checker) -> None:
    found: list[bool | None] = []
    threads = [
        threading.Thread(
            target=lambda number: found.append(checker.check(str(number), {"const": number}).valid), args=[n]
        )
        for n in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert found == [True] * 20


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda each: st.lists(each) | st.dictionaries(st.text(), each),
    )
)
@settings(max_examples=25, deadline=None)
def test_every_json_value_is_what_const_says_it_is(value: Any) -> None:
    assert check(json.dumps(value), {"const": value}).valid is True


def test_a_pointer_is_written_as_rfc_6901_says() -> None:
    assert pointer(["a/b", 0, "c~d", ""]) == "/a~1b/0/c~0d/"


@pytest.mark.parametrize("request_body", [{}, {"output_config": None}, {"output_config": {"format": {"type": "text"}}}])
def test_a_request_without_a_schema_asks_for_none(request_body: dict[str, Any]) -> None:
    assert schema_of(request_body) is None


MakeRun = Callable[..., Run]
Send = Callable[[Run], Run]


def asking_for(schema: dict[str, Any]) -> dict[str, Any]:
    return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}


@pytest.mark.django_db(transaction=True)
def test_a_run_tells_how_its_answer_keeps_to_its_schema(
    owner_api: APIClient, upstream: Upstream, make_run: MakeRun, send: Send
) -> None:
    upstream.does(lambda call, wire: wire.whole('{"name":', " 7}"))
    run = send(make_run(**asking_for(PERSON)))
    found = owner_api.get(f"/api/v1/runs/{run.pk}").json()
    assert found["status"] == "succeeded"
    assert found["structured"] == {
        "valid": False,
        "errors": [{"path": "/name", "message": "Must be string, is integer."}],
        "place": None,
    }


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("reason", ["max_tokens", "end_turn"])
def test_a_cut_answer_is_not_finished_json(
    owner_api: APIClient, upstream: Upstream, make_run: MakeRun, send: Send, reason: str
) -> None:
    upstream.does(lambda call, wire: wire.whole('{"name": "A', reason=reason))
    run = send(make_run(**asking_for(PERSON)))
    found = owner_api.get(f"/api/v1/runs/{run.pk}").json()["structured"]
    assert (found["valid"], found["place"]) == (False, {"line": 1, "column": 10})


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("pieces", "reason", "body"),
    [
        (("text",), "end_turn", {}),
        ((), "end_turn", asking_for(PERSON)),
        (("No.",), "refusal", asking_for(PERSON)),
    ],
)
def test_there_is_nothing_to_tell_without_a_schema_a_text_or_a_willing_model(
    upstream: Upstream, make_run: MakeRun, send: Send, pieces: tuple[str, ...], reason: str, body: dict[str, Any]
) -> None:
    upstream.does(lambda call, wire: wire.whole(*pieces, reason=reason))
    assert send(make_run(**body)).structured is None


@pytest.mark.django_db(transaction=True)
def test_a_failed_run_is_not_checked(upstream: Upstream, make_run: MakeRun, send: Send) -> None:
    async def cut(call: Any, wire: Any) -> None:
        await wire.begin()
        await wire.start_message()
        await wire.text('{"name":')
        wire.cut()

    upstream.does(cut)
    run = send(make_run(**asking_for(PERSON)))
    assert (run.status, run.structured) == ("failed", None)


@pytest.mark.django_db(transaction=True)
def test_a_schema_without_end_ends_the_run_all_the_same_and_its_lease_is_kept_up_meanwhile(
    upstream: Upstream,
    make_run: MakeRun,
    sending: Callable[[Run], contextlib.AbstractContextManager[None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(relay, "RENEW_EVERY_S", 0.05)
    upstream.does(lambda call, wire: wire.whole("1"))
    run = make_run(**asking_for(BRANCHING))
    leases: set[dt.datetime | None] = set()

    def is_over() -> bool:
        run.refresh_from_db()
        leases.add(run.lease_expires_at)
        return run.is_terminal

    with sending(run):
        wait_until(is_over, within_s=60)
    assert (run.status, run.structured and run.structured["valid"]) == ("succeeded", None)
    assert len(leases - {None}) > 3
