"""What an exchange with a model yields, and how that ends a run. Values only; no I/O and no clock."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Any

from inference_client.models import RunStatus

#: PostgreSQL's integer; a count above it is a broken upstream, not a reason to lose the run.
_MOST_TOKENS = 2**31 - 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Failure:
    """Why a run has no complete answer: a code for programs, a sentence for people, and whether to try again.

    `retry_after_s` is what the upstream asked for, in seconds; None if it named nothing.
    """

    code: str
    message: str
    retryable: bool = False
    retry_after_s: float | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
    """One exchange with the model, whole or broken off.

    `text` is all the text that arrived; `response` the message as far as it arrived, or the body of an error answer;
    `complete` whether the stream came to its `message_stop`.
    """

    text: str = ""
    response: dict[str, Any] | None = None
    stop_reason: str | None = None
    complete: bool = False
    stopped: bool = False
    failure: Failure | None = None
    first_token_at: dt.datetime | None = None
    upstream_request_id: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ending:
    """The columns of a run that its end writes."""

    status: RunStatus
    output: str = ""
    response: dict[str, Any] | None = None
    structured: dict[str, Any] | None = None
    stop_reason: str = ""
    error_code: str = ""
    error_message: str = ""
    first_token_at: dt.datetime | None = None
    upstream_request_id: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None


STREAM_CUT = Failure(
    code="stream_cut",
    message="The connection to the model ended before the answer did. What had arrived is kept.",
)
WORKER_LOST = Failure(
    code="worker_lost",
    message="The worker that relayed this run died. What had arrived is kept.",
)
INTERNAL_ERROR = Failure(code="internal_error", message="Something broke on our side while this run was sent.")


def conclude(outcome: Outcome, *, structured: dict[str, Any] | None = None) -> Ending:
    """The end of a run. An answer without its `message_stop` or without a stop reason is never a success."""
    failure = outcome.failure
    whole = outcome.complete and bool(outcome.stop_reason)
    if failure is None and not whole and not outcome.stopped:
        failure = STREAM_CUT
    return Ending(
        status=_status(outcome, failure),
        output=outcome.text,
        response=outcome.response,
        structured=structured,
        stop_reason=(outcome.stop_reason or "")[:64] if whole else "",
        error_code=failure.code if failure else "",
        error_message=failure.message if failure else "",
        first_token_at=outcome.first_token_at,
        upstream_request_id=outcome.upstream_request_id[:128],
        input_tokens=_input_tokens(outcome.response),
        # Told at the end of an answer only; what its beginning says is a placeholder.
        output_tokens=_count(outcome.response, "output_tokens") if outcome.complete else None,
    )


def _status(outcome: Outcome, failure: Failure | None) -> RunStatus:
    if failure is not None:
        return RunStatus.FAILED
    return RunStatus.CANCELLED if outcome.stopped else RunStatus.SUCCEEDED


def ending_of(failure: Failure, *, output: str = "") -> Ending:
    """The end of a run whose exchange told us nothing more."""
    return Ending(status=RunStatus.FAILED, output=output, error_code=failure.code, error_message=failure.message)


def _input_tokens(response: dict[str, Any] | None) -> int | None:
    """All tokens read, whether or not from the prompt cache."""
    counts = [
        _count(response, name) for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    ]
    return None if counts[0] is None else min(sum(count or 0 for count in counts), _MOST_TOKENS)


def _count(response: dict[str, Any] | None, name: str) -> int | None:
    usage = (response or {}).get("usage")
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and 0 <= value <= _MOST_TOKENS else None
