"""From an upstream's error to a code, a sentence and the decision to try again; no server needed."""

from __future__ import annotations

from typing import Any

import pytest

from http_stream.client import BrokenOff, Unanswered, Unreachable
from inference_client.failures import ErrorAnswer, classify, plain_sentence, retry_delay_s
from inference_client.models import Provider, RunStatus
from inference_client.outcomes import Ending, Failure, Outcome, conclude
from inference_client.posting import NoAnswerInTime
from inference_client.providers import Target

OURS = Target(
    provider=Provider.SELF_HOSTED,
    base_url="http://upstream",
    public_url="http://upstream",
    api_key="service-key",
    source="service",
    reference="service",
)


def status_error(
    status: int, kind: str = "", message: str = "told", *, details: Any = None, **headers: str
) -> ErrorAnswer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = {"type": "error", "error": {"type": kind, "message": message, "details": details}}
    return ErrorAnswer(status=status, headers=named, body=body)


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (400, "invalid_request_error", "invalid_request"),
        (401, "authentication_error", "unauthorized"),
        (403, "permission_error", "unauthorized"),
        (404, "not_found_error", "invalid_request"),
        (413, "request_too_large", "invalid_request"),
        (408, "", "timeout"),
        (429, "rate_limit_error", "rate_limited"),
        (500, "api_error", "upstream_error"),
        (502, "", "inference_unavailable"),
        (503, "", "inference_unavailable"),
        (504, "timeout_error", "timeout"),
        (529, "overloaded_error", "upstream_overloaded"),
        (200, "overloaded_error", "upstream_overloaded"),
        (200, "rate_limit_error", "rate_limited"),
        (200, "invalid_request_error", "invalid_request"),
        (200, "something_new", "upstream_error"),
        (200, "", "upstream_error"),
    ],
)
def test_each_error_has_its_code(status: int, kind: str, code: str) -> None:
    failure = classify(status_error(status, kind), begun=False, target=OURS)
    assert failure.code == code
    assert failure.message.strip()


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        (Unreachable("x"), "inference_unavailable", False),
        (NoAnswerInTime(), "timeout", False),
        (Unanswered("x"), "inference_unavailable", True),
    ],
)
def test_no_answer_is_told_apart_by_its_cause(error: Exception, code: str, retryable: bool) -> None:
    failure = classify(error, begun=False, target=OURS)
    assert (failure.code, failure.retryable) == (code, retryable)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BrokenOff("x"), "stream_cut"),
        (TimeoutError("x"), "timeout"),
        (ValueError("x"), "upstream_error"),
    ],
)
def test_an_answer_that_breaks_off_is_told_apart_by_how(error: Exception, code: str) -> None:
    failure = classify(error, begun=True, target=OURS)
    assert (failure.code, failure.retryable) == (code, False)


@pytest.mark.parametrize("body", ["Bad Gateway", None, [], {"error": "no"}, {"error": {"details": 7}}])
def test_an_error_answer_of_another_shape_is_told_by_its_status(body: object) -> None:
    failure = classify(ErrorAnswer(status=500, headers={}, body=body), begun=False, target=OURS)
    assert (failure.code, failure.message) == ("upstream_error", "The model server reported an error.")


@pytest.mark.parametrize(
    ("error", "begun", "retryable"),
    [
        (status_error(529, "overloaded_error"), False, True),
        (status_error(529, "overloaded_error"), True, False),
        (status_error(200, "overloaded_error"), False, True),
        (status_error(429, "rate_limit_error"), False, True),
        (status_error(409, "conflict_error", retry_after="2"), False, True),
        (status_error(409, "conflict_error", x_should_retry="false"), False, False),
        (status_error(529, "overloaded_error", x_should_retry="false"), False, False),
        (status_error(503, "api_error", x_should_retry="true"), False, True),
        (status_error(500, "api_error"), False, False),
        (status_error(400, "invalid_request_error"), False, False),
    ],
)
def test_only_what_may_help_is_tried_again(error: Exception, begun: bool, retryable: bool) -> None:
    assert classify(error, begun=begun, target=OURS).retryable is retryable


@pytest.mark.parametrize(
    ("asked", "attempt", "delay"),
    [(None, 1, 1.0), (None, 2, 2.0), (None, 3, None), (7.0, 1, 7.0), (60.0, 1, 60.0), (61.0, 1, None)],
)
def test_the_wait_is_what_the_upstream_asked_for_or_doubles(
    asked: float | None, attempt: int, delay: float | None
) -> None:
    failure = Failure(code="x", message="x", retryable=True, retry_after_s=asked)
    assert retry_delay_s(failure, attempt=attempt) == delay


@pytest.mark.parametrize(
    ("asked", "attempt", "delay"),
    [(None, 3, 4.0), (None, 11, 8.0), (None, 12, None), (60.0, 2, 60.0), (60.0, 3, None), (61.0, 1, None)],
)
def test_a_full_server_is_asked_again_for_a_minute_or_two(
    asked: float | None, attempt: int, delay: float | None
) -> None:
    failure = Failure(code="upstream_overloaded", message="x", retryable=True, retry_after_s=asked)
    assert retry_delay_s(failure, attempt=attempt) == delay


@pytest.mark.parametrize("value", ["soon", "-1", "0", "nan", "Wed, 21 Oct 2026 07:28:00 GMT"])
def test_a_retry_after_that_is_no_number_of_seconds_is_ignored(value: str) -> None:
    assert (
        classify(status_error(529, "overloaded_error", retry_after=value), begun=False, target=OURS).retry_after_s
        is None
    )


def test_a_message_is_one_storable_bounded_line() -> None:
    assert plain_sentence("a\x00b\nc\ud800d") == "a b c d"
    assert len(plain_sentence("x" * 5000)) == 1000
    assert plain_sentence(None) == ""


def test_an_answer_that_was_cut_has_no_count_of_its_tokens() -> None:
    """The count at the beginning of an answer is a placeholder: 0 would say that nothing arrived."""
    usage = {"input_tokens": 7, "output_tokens": 0}
    ending = conclude(Outcome(stopped=True, text="some text", response={"usage": usage}))
    assert (ending.status, ending.input_tokens, ending.output_tokens) == (RunStatus.CANCELLED, 7, None)


def test_usage_that_is_nonsense_is_not_stored() -> None:
    ending = conclude(
        Outcome(
            complete=True,
            stop_reason="end_turn",
            response={"usage": {"input_tokens": -4, "output_tokens": "many"}},
        )
    )
    assert (ending.status, ending.input_tokens, ending.output_tokens) == (RunStatus.SUCCEEDED, None, None)


def test_tokens_from_the_prompt_cache_count_as_read() -> None:
    usage = {"input_tokens": 1, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 300, "output_tokens": 2}
    ending = conclude(Outcome(complete=True, stop_reason="end_turn", response={"usage": usage}))
    assert ending.input_tokens == 321


def test_a_stop_after_the_failure_is_still_a_failure() -> None:
    failure = Failure(code="x", message="y")
    assert conclude(Outcome(stopped=True, failure=failure)) == Ending(
        status=RunStatus.FAILED, error_code="x", error_message="y"
    )
