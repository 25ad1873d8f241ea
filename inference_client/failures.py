"""From what went wrong upstream to an error code, a sentence, and the decision to try again. Pure.

An error answer and an `error` event inside a stream are the same exception, told apart by the status.

code                   when
invalid_request        the upstream refuses the request (400, 404, 409, 413, 422): its own words are shown
unauthorized           401, 403 of our backend
provider_key_refused   401, 403 of Anthropic: the key is wrong, and whose it is decides who can mend it
provider_key_missing   there is no key for it any more; nothing was sent
rate_limited           429
upstream_overloaded    529, or an overload reported inside the stream
inference_unavailable  nobody answers, or a proxy in front says so (502, 503)
timeout                silence for too long, or the whole run took too long (408, 504)
stream_cut             the answer broke off
upstream_error         any other error, or an answer that cannot be read
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

from http_stream.client import BrokenOff, Unanswered, Unreachable
from inference_client.outcomes import STREAM_CUT, Failure
from inference_client.posting import NoAnswerInTime
from inference_client.providers import Target

MAX_ATTEMPTS = 3
#: An overload passes, and the run lost nothing by waiting: it is asked for again for a minute or two.
MAX_ATTEMPTS_WHEN_FULL = 12
LONGEST_PAUSE_S = 8.0
LONGEST_WAIT_WHEN_FULL_S = 120.0
LONGEST_RETRY_AFTER_S = 60.0
_LONGEST_MESSAGE = 1000
#: Controls (NUL among them) and halves of surrogate pairs: not for PostgreSQL, not for a page.
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]+")

_BY_STATUS: Mapping[int, str] = {
    401: "unauthorized",
    403: "unauthorized",
    408: "timeout",
    429: "rate_limited",
    502: "inference_unavailable",
    503: "inference_unavailable",
    504: "timeout",
    529: "upstream_overloaded",
}
_BY_TYPE: Mapping[str, str] = {
    "overloaded_error": "upstream_overloaded",
    "rate_limit_error": "rate_limited",
    "invalid_request_error": "invalid_request",
    "not_found_error": "invalid_request",
    "request_too_large": "invalid_request",
    "authentication_error": "unauthorized",
    "permission_error": "unauthorized",
    "timeout_error": "timeout",
}
_SENTENCES: Mapping[str, str] = {
    "invalid_request": "The model server refused this request.",
    "unauthorized": "The model server does not accept this playground's key for this request.",
    "provider_key_refused": "Anthropic does not accept this playground's key for this request.",
    "timeout": "The model did not answer in time.",
    "rate_limited": "The model server takes no more requests from here for now.",
    "upstream_overloaded": "The model server is overloaded.",
    "inference_unavailable": "The inference backend does not answer.",
    "upstream_error": "The model server reported an error.",
}
_ABOUT_OUR_BACKEND = (("The model server", "Anthropic"), ("The inference backend", "Anthropic"))
_OWN_KEY_REFUSED = "Anthropic does not accept your key for this request."
#: Only these quote the upstream: a refusal is about the person's own request, the rest about our installation.
_QUOTED = frozenset({"invalid_request", "upstream_error"})

TOTAL_TIMEOUT = Failure(code="timeout", message="The run was stopped after 15 minutes. What had arrived is kept.")
UNREADABLE = Failure(code="upstream_error", message="The model server sent an answer that cannot be read.")


class ErrorAnswer(Exception):
    """An answer that is an error, or an `error` event inside one (status 200). `body`: its JSON, or its text."""

    def __init__(self, *, status: int, headers: Mapping[str, str], body: object) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def type(self) -> str:
        return str(_under(self.body, "error", "type") or "")

    @property
    def message(self) -> object:
        return _under(self.body, "error", "message")

    @property
    def error_code(self) -> object:
        """What our backend names as the cause."""
        return _under(self.body, "error", "details", "error_code")


def _under(value: object, *names: str) -> object:
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def classify(error: BaseException, *, begun: bool, target: Target) -> Failure:
    """The Failure that an exception of an exchange stands for; `begun`: a token had already arrived."""
    failure = _classify(error, begun=begun, target=target)
    if target.is_ours:
        return failure
    message = failure.message
    for ours, theirs in _ABOUT_OUR_BACKEND:
        message = message.replace(ours, theirs, 1) if message.startswith(ours) else message
    return dataclasses.replace(failure, message=message)


def _classify(error: BaseException, *, begun: bool, target: Target) -> Failure:
    if isinstance(error, ErrorAnswer):
        return _from_answer(error, begun=begun, target=target)
    if isinstance(error, Unreachable):
        return Failure(
            code="inference_unavailable", message="The inference backend does not answer. Nothing was generated."
        )
    if isinstance(error, Unanswered):
        # Tried again only where the run's id makes that harmless: Anthropic would generate, and charge, a second time.
        return Failure(
            code="inference_unavailable",
            message="The inference backend closed the connection before it answered.",
            retryable=target.is_ours,
        )
    if isinstance(error, NoAnswerInTime):
        return Failure(code="timeout", message="The model did not begin to answer in time.")
    if isinstance(error, TimeoutError):
        return Failure(code="timeout", message="The model stopped sending. What had arrived is kept.")
    return STREAM_CUT if isinstance(error, BrokenOff) else UNREADABLE


def retry_delay_s(failure: Failure, *, attempt: int) -> float | None:
    """Seconds to wait before attempt `attempt` + 1; None to give up. Waits of over a minute are not ours to wait."""
    full = failure.code in ("rate_limited", "upstream_overloaded")
    if not failure.retryable or attempt >= (MAX_ATTEMPTS_WHEN_FULL if full else MAX_ATTEMPTS):
        return None
    usual = min(float(2 ** (attempt - 1)), LONGEST_PAUSE_S)
    delay = failure.retry_after_s if failure.retry_after_s is not None else usual
    if full and attempt * delay > LONGEST_WAIT_WHEN_FULL_S:
        return None
    return delay if delay <= LONGEST_RETRY_AFTER_S else None


def plain_sentence(text: object) -> str:
    """`text` as one bounded line that can be stored and shown."""
    return _UNPRINTABLE.sub(" ", str(text or "")).strip()[:_LONGEST_MESSAGE]


def _from_answer(error: ErrorAnswer, *, begun: bool, target: Target) -> Failure:
    code = _code_of(error)
    if code == "unauthorized" and not target.is_ours:
        code = "provider_key_refused"
    message = _OWN_KEY_REFUSED if code == "provider_key_refused" and target.source == "own" else _SENTENCES[code]
    if error.error_code == "capacity_starting":
        message = "The GPUs for this model are starting. Try again in a minute."
    told = plain_sentence(error.message) if code in _QUOTED else ""
    return Failure(
        code=code,
        message=f"{message.removesuffix('.')}: {told}" if told else message,
        retryable=not begun and _may_retry(error, code),
        retry_after_s=_retry_after_s(error.headers),
    )


def _code_of(error: ErrorAnswer) -> str:
    if error.status == 200:
        return _BY_TYPE.get(error.type, "upstream_error")
    if error.status in _BY_STATUS:
        return _BY_STATUS[error.status]
    return "invalid_request" if 400 <= error.status < 500 else "upstream_error"


def _may_retry(error: ErrorAnswer, code: str) -> bool:
    """The upstream's own word (`x-should-retry`) first; then 429, 529, and a twin in flight for the same key (409)."""
    advice = error.headers.get("x-should-retry")
    if advice in {"true", "false"}:
        return bool(advice == "true")
    return code in {"rate_limited", "upstream_overloaded"} or error.status == 409


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    try:
        seconds = float(headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if 0 < seconds < 1e9 else None
