"""Holds one answer against the checks of its batch, except those that a model is asked about (`batches.grading`)."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import re2
from rapidfuzz import fuzz

from batches import checks, nearness
from batches.checks import Check, Verdict
from inference_client.checker import check_answer

log = logging.getLogger("playground.batches")

#: Longer texts are not compared letter by letter: that takes time with the product of their lengths.
MOST_COMPARED = 20_000
#: Longer answers are not searched.
MOST_SEARCHED = 2_000_000
MOST_REASON = 500


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What came of one check; `reason` is a sentence for people, empty for a plain pass."""

    verdict: Verdict
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An answer and what it is held against: the row's values as texts, its expected text, its version's schema."""

    text: str
    values: Mapping[str, str]
    expected: str | None = None
    schema: Any = None


def judge(check: Check, answer: Answer) -> Judgement | None:
    """The judgement of one check; None if a model has to be asked. Never raises for what a text or a schema holds."""
    if len(answer.text) > MOST_SEARCHED:
        return _error(f"The answer is longer than {MOST_SEARCHED:,} characters and was not looked through.")
    if checks.needs_expected(check) and answer.expected is None and "expected" not in answer.values:
        return Judgement(verdict="skip", reason="This row has no expected text.")
    if check["kind"] == "model":
        return None
    try:
        found = _JUDGES[check["kind"]](check, answer)
    except (ValueError, RecursionError, MemoryError):
        # Texts of models hold everything. A cell that cannot be judged would keep its batch from ending.
        log.exception("a check broke", extra={"kind": check["kind"]})
        return _error("This check could not be done.")
    return Judgement(verdict=found.verdict, reason=found.reason[:MOST_REASON])


def _wanted(check: Check, answer: Answer) -> str:
    return checks.filled(check["text"], answer.values, answer.expected)


def _contains(check: Check, answer: Answer) -> Judgement:
    wanted, text = _wanted(check, answer), answer.text
    if check["ignore_case"]:
        wanted, text = wanted.casefold(), text.casefold()
    is_there = wanted in text
    if check["kind"] == "not_contains":
        return _told(ok=not is_there, reason=f"{_quoted(wanted)} is in the answer.")
    return _told(ok=is_there, reason=f"{_quoted(wanted)} is not in the answer.")


def _equals(check: Check, answer: Answer) -> Judgement:
    wanted, text = _wanted(check, answer), answer.text
    if check["mode"] == "trimmed":
        wanted, text = wanted.strip(), text.strip()
    return _told(ok=wanted == text, reason=_first_difference(wanted, text))


def _first_difference(wanted: str, text: str) -> str:
    place = next((i for i, (a, b) in enumerate(zip(wanted, text, strict=False)) if a != b), min(len(wanted), len(text)))
    here, there = _quoted(text[place : place + 30]), _quoted(wanted[place : place + 30])
    return f"Different from character {place + 1:,} on: {here} in place of {there}."


def _regex(check: Check, answer: Answer) -> Judgement:
    try:
        match = checks.compiled(check).search(answer.text)
    except re2.error:
        return _error("The pattern cannot be used.")
    if check["negate"]:
        return _told(ok=match is None, reason=f"It matches: {_quoted(match[0])}." if match else "")
    return _told(ok=match is not None, reason="Nothing in the answer matches.")


def _json(check: Check, answer: Answer) -> Judgement:
    del check
    try:
        json.loads(answer.text, parse_constant=_refuse_constant)
    except RecursionError:
        return _told(ok=False, reason="Nested too deeply to be read.")
    except ValueError as error:
        return _told(ok=False, reason=f"Not JSON: {error}.")
    return Judgement(verdict="pass")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _json_schema(check: Check, answer: Answer) -> Judgement:
    schema = check["schema"] if check["schema"] is not None else answer.schema
    if schema is None:
        return Judgement(verdict="skip", reason="This version has no output schema.")
    found = check_answer(answer.text, schema)
    told = "; ".join(f"{each.path or 'the whole'}: {each.message}" for each in found.errors[:3])
    if found.valid is None:
        return _error(told or "It could not be checked.")
    return _told(ok=found.valid, reason=told)


def _similarity(check: Check, answer: Answer) -> Judgement:
    wanted, text = _wanted(check, answer), answer.text
    if check["method"] == "embedding":
        try:
            score = nearness.of(wanted, text)
        except nearness.NoEmbeddings as error:
            return _error(str(error))
    elif max(len(wanted), len(text)) > MOST_COMPARED:
        return _error(f"Texts of more than {MOST_COMPARED:,} characters are not compared letter by letter.")
    else:
        score = fuzz.ratio(wanted.strip(), text.strip()) / 100
    ok = score >= check["threshold"]
    return Judgement(
        verdict="pass" if ok else "fail", reason=f"{score:.3f}, at least {check['threshold']:g} is asked for."
    )


_JUDGES: Mapping[str, Callable[[Check, Answer], Judgement]] = {
    "contains": _contains,
    "not_contains": _contains,
    "equals": _equals,
    "regex": _regex,
    "json": _json,
    "json_schema": _json_schema,
    "similarity": _similarity,
}


def _told(*, ok: bool, reason: str) -> Judgement:
    return Judgement(verdict="pass") if ok else Judgement(verdict="fail", reason=reason)


def _error(reason: str) -> Judgement:
    return Judgement(verdict="error", reason=reason)


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return f"“{line if len(line) <= 80 else line[:79] + '…'}”"
