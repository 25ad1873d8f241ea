"""What is remembered of one request for its log line and the metrics. Never text, keys or headers."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.types import Scope

from inference_backend.dialect.ids import new_id
from inference_backend.tiers import Tier

CLIENT_GONE_STATUS = 499
_STATE_KEY = "inference_record"


@dataclass(kw_only=True, slots=True)
class RequestRecord:
    """Seconds are monotonic; `first_token_s` counts from the arrival of the request."""

    request_id: str = field(default_factory=lambda: new_id("req"))
    started_at: float = field(default_factory=time.monotonic)
    ended_at: float | None = None
    status: int | None = None
    account: str | None = None
    tier: Tier | None = None
    model: str | None = None
    stream: bool | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    first_token_s: float | None = None
    stop_reason: str | None = None
    error: str | None = None
    replica: str | None = None
    version: str | None = None
    #: Replicas lost to the answer, before and after its first byte; how it went on after it.
    replaced: int | None = None
    continued: int | None = None
    continued_by: str | None = None
    #: generated, joined or replayed, where the request had a key.
    idempotency: str | None = None
    #: The headers that tell of the account's limits, as they are when the answer begins.
    quota: Callable[[], Sequence[tuple[bytes, bytes]]] | None = None
    #: Of its body, as far as it has come.
    body_bytes: int = 0
    #: The line is written and counted: what happens now must be counted by itself.
    is_closed: bool = False

    def elapsed_s(self) -> float:
        """Up to now, or to its end."""
        return (self.ended_at or time.monotonic()) - self.started_at

    def as_log_fields(self, scope: Scope) -> dict[str, Any]:
        fields = {
            "request_id": self.request_id,
            "method": scope["method"],
            "path": scope["path"],
            "status": self.status,
            "duration_s": round(self.elapsed_s(), 4),
            "account": self.account,
            "tier": self.tier,
            "model": self.model,
            "stream": self.stream,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "first_token_s": round(self.first_token_s, 4) if self.first_token_s is not None else None,
            "stop_reason": self.stop_reason,
            "error": self.error,
            "replica": self.replica,
            "version": self.version,
            "replaced": self.replaced or None,
            "continued": self.continued or None,
            "continued_by": self.continued_by,
            "idempotency": self.idempotency,
        }
        return {name: value for name, value in fields.items() if value is not None}


def open_record(scope: Scope) -> RequestRecord:
    record = RequestRecord()
    # The server gives each request its own copy of `state`, so nothing here is shared.
    scope.setdefault("state", {})[_STATE_KEY] = record
    return record


def record_of(scope: Scope) -> RequestRecord:
    record = scope["state"][_STATE_KEY]
    if not isinstance(record, RequestRecord):
        raise TypeError("the request did not pass through RequestEnvelope")
    return record
