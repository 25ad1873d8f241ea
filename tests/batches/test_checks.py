"""What each check says of an answer, and which checks cannot be asked for."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.conf import settings as django_settings
from pytest_django import Settings

from batches import grading
from batches.checks import label, read_checks
from batches.judging import Answer, Judgement, judge
from core.errors import InvalidInput
from tests.inference_client.upstream import Call, Upstream, Wire


def judged(check: dict[str, Any], text: str, **answer: Any) -> Judgement:
    found = judge(read_checks([check])[0], Answer(text=text, values=answer.pop("values", {}), **answer))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("check", "text", "verdict"),
    [
        ({"kind": "contains", "text": "Paris"}, "It is Paris.", "pass"),
        ({"kind": "contains", "text": "paris"}, "It is Paris.", "fail"),
        ({"kind": "contains", "text": "STRASSE", "ignore_case": True}, "Die Straße", "pass"),
        ({"kind": "contains", "text": "{{city}}"}, "It is Paris.", "pass"),
        ({"kind": "contains", "text": "{{{{city}}"}, "Say {{city}}.", "pass"),
        ({"kind": "contains", "text": "{{expected}}"}, "It is yes", "pass"),
        ({"kind": "not_contains", "text": "London"}, "It is Paris.", "pass"),
        ({"kind": "not_contains", "text": "Paris"}, "It is Paris.", "fail"),
        ({"kind": "equals"}, " yes\n", "pass"),
        ({"kind": "equals", "mode": "exact"}, " yes\n", "fail"),
        ({"kind": "equals", "text": "e\u0301"}, "é", "fail"),
        ({"kind": "regex", "pattern": "^[A-Z]\\w+ is"}, "Paris is", "pass"),
        ({"kind": "regex", "pattern": "PARIS", "ignore_case": True, "negate": True}, "Paris is", "fail"),
        ({"kind": "json"}, '{"a": [1, "x"]}', "pass"),
        ({"kind": "json"}, '```json\n{"a": 1}\n```', "fail"),
        ({"kind": "json"}, "NaN", "fail"),
        ({"kind": "json"}, "[" * 20_000, "fail"),
        ({"kind": "similarity", "threshold": 0.5, "text": "the cat sat"}, "the cat sits", "pass"),
        ({"kind": "similarity", "threshold": 0.9, "text": "the cat sat"}, "a dog ran", "fail"),
        ({"kind": "similarity", "threshold": 0.9, "text": "x" * 10}, "x" * 30_000, "error"),
        ({"kind": "regex", "pattern": "half"}, "half a pair \ud83d", "error"),
    ],
)
def test_a_check_says_pass_or_fail(check: dict[str, Any], text: str, verdict: str) -> None:
    found = judged(check, text, values={"city": "Paris"}, expected="yes")
    assert found.verdict == verdict, found.reason
    assert found.reason or verdict == "pass"


@pytest.mark.parametrize(
    "check",
    [
        {"kind": "equals"},
        {"kind": "similarity", "threshold": 0.5},
        {"kind": "contains", "text": "so {{ expected }}"},
        {"kind": "model", "question": "Is it {{expected}}?"},
    ],
)
def test_what_needs_an_expected_text_is_skipped_where_there_is_none(check: dict[str, Any]) -> None:
    assert judged(check, "anything").verdict == "skip"


def test_a_pattern_that_would_run_for_ever_elsewhere_ends_at_once() -> None:
    began = time.monotonic()
    assert judged({"kind": "regex", "pattern": "^(a+)+$"}, "a" * 100_000 + "!").verdict == "fail"
    assert time.monotonic() - began < 20


def test_a_schema_is_held_against_the_answer_with_the_place_of_what_is_wrong() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    check = {"kind": "json_schema", "schema": schema}
    assert judged(check, '{"n": 1}').verdict == "pass"
    found = judged(check, '{"n": "1"}')
    assert found.verdict == "fail"
    assert "/n" in found.reason
    assert judged({"kind": "json_schema"}, '{"n": "1"}', schema=schema).verdict == "fail"
    assert judged({"kind": "json_schema"}, '{"n": "1"}').verdict == "skip"


@pytest.mark.parametrize(
    ("check", "field"),
    [
        ({"kind": "sounds_nice"}, "checks.0.kind"),
        ({"kind": "contains"}, "checks.0.text"),
        ({"kind": "contains", "text": "x", "pattern": "y"}, "checks.0.pattern"),
        ({"kind": "contains", "text": "x", "ignore_case": 1}, "checks.0.ignore_case"),
        ({"kind": "regex", "pattern": "(unclosed"}, "checks.0.pattern"),
        ({"kind": "regex", "pattern": "(?=look)"}, "checks.0.pattern"),
        ({"kind": "regex", "pattern": "(a{1000}){1000}"}, "checks.0.pattern"),
        ({"kind": "json_schema", "schema": "{"}, "checks.0.schema"),
        ({"kind": "similarity", "threshold": True}, "checks.0.threshold"),
        ({"kind": "similarity", "threshold": 2}, "checks.0.threshold"),
        ({"kind": "similarity", "threshold": 0.5, "method": "vibes"}, "checks.0.method"),
        ({"kind": "model", "question": ""}, "checks.0.question"),
        ("contains", "checks.0.kind"),
    ],
)
def test_a_check_that_makes_no_sense_is_refused_by_its_field(check: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_checks([check])
    assert refused.value.field == field


def test_a_check_is_named_in_words_or_as_its_maker_says() -> None:
    kept = read_checks([{"kind": "contains", "text": "yes"}, {"kind": "equals"}, {"kind": "json", "name": " Is data "}])
    assert [label(each) for each in kept] == ["contains “yes”", "equals the expected text", "Is data"]


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ('{"reason": "Fine.", "verdict": "yes"}', "pass"),
        ('I think: {"verdict": "No", "reason": "Too long"} indeed', "fail"),
        ('{"verdict": "yes"} on second thought {"verdict": "no"}', "fail"),
        ("yes", "error"),
        ('{"verdict": "maybe"}', "error"),
        ('{"verdict": ["yes"]}', "error"),
        ("", "error"),
    ],
)
def test_a_judge_that_is_not_clear_is_an_error_and_not_a_fail(said: str, verdict: str) -> None:
    assert grading.read(said).verdict == verdict


def test_what_a_judged_answer_says_stays_between_its_lines() -> None:
    check = read_checks([{"kind": "model", "question": "Is {{name}} greeted?"}])[0]
    body = grading.request(check, Answer(text="Ignore all {{name}}.", values={"name": "Ada"}), model="tiny")
    assert body["messages"][0]["content"] == "Is Ada greeted?\n\n<answer>\nIgnore all {{name}}.\n</answer>"
    long = grading.request(check, Answer(text="x" * 10**6, values={"name": "Ada"}), model="tiny")
    assert len(long["messages"][0]["content"]) < 2 * grading.MOST_JUDGED


@pytest.fixture
def embedder(settings: Settings) -> Any:
    server = Upstream()
    settings.INFERENCE_BASE_URL = server.url
    yield server
    server.close()


def test_nearness_in_meaning_is_that_of_the_backends_embeddings(embedder: Upstream) -> None:
    async def embed(call: Call, wire: Wire) -> None:
        assert call.path == "/v1/embeddings"
        assert call.json["model"] == django_settings.EMBEDDING_MODEL
        vectors = [[1.0, 0.0] if "cat" in text else [0.6, 0.8] for text in call.json["input"]]
        await wire.answer(200, {"data": [{"embedding": each, "index": i} for i, each in enumerate(vectors)]})

    embedder.does(embed)
    check = {"kind": "similarity", "text": "a cat", "threshold": 0.7, "method": "embedding"}
    assert judged(check, "my cat").verdict == "pass"
    found = judged(check, "a dog")
    assert (found.verdict, found.reason) == ("fail", "0.600, at least 0.7 is asked for.")


def test_a_backend_without_embeddings_is_an_error_and_not_a_fail(embedder: Upstream) -> None:
    async def refuse(call: Call, wire: Wire) -> None:
        del call
        await wire.error(404, "not_found_error", "no")

    embedder.does(refuse)
    check = {"kind": "similarity", "text": "a cat", "threshold": 0.7, "method": "embedding"}
    assert judged(check, "a dog").verdict == "error"
