"""Errors as the Messages API writes them."""

import json
from dataclasses import dataclass
from typing import Any

from inference_backend.errors import (
    BackendError,
    BodyTooLargeError,
    CapacityStartingError,
    ConflictError,
    DrainingError,
    EngineRefusedError,
    EngineTimeoutError,
    ForbiddenError,
    InFlightElsewhereError,
    KeyStoreError,
    NotFoundError,
    OverloadedError,
    RateLimitedError,
    RequestError,
    SlowBodyError,
    StoreDownError,
    UnauthenticatedError,
)

LONGEST_RETRY_AFTER_S = 60


@dataclass(frozen=True, slots=True)
class Shape:
    status: int
    type: str


# From the most general to the most special; the last that fits wins.
_SHAPES: tuple[tuple[type[BackendError], Shape], ...] = (
    (BackendError, Shape(500, "api_error")),
    (RequestError, Shape(400, "invalid_request_error")),
    (EngineRefusedError, Shape(400, "invalid_request_error")),
    (UnauthenticatedError, Shape(401, "authentication_error")),
    (ForbiddenError, Shape(403, "permission_error")),
    (NotFoundError, Shape(404, "not_found_error")),
    (SlowBodyError, Shape(408, "timeout_error")),
    (ConflictError, Shape(409, "conflict_error")),
    (InFlightElsewhereError, Shape(409, "conflict_error")),
    (BodyTooLargeError, Shape(413, "request_too_large")),
    (RateLimitedError, Shape(429, "rate_limit_error")),
    (KeyStoreError, Shape(503, "api_error")),
    (StoreDownError, Shape(503, "api_error")),
    (DrainingError, Shape(503, "api_error")),
    (EngineTimeoutError, Shape(504, "timeout_error")),
    (OverloadedError, Shape(529, "overloaded_error")),
)


def shape_of(error: BackendError) -> Shape:
    return next(shape for kind, shape in reversed(_SHAPES) if isinstance(error, kind))


def error_body(error: BackendError, *, request_id: str) -> dict[str, Any]:
    """`{"type": "error", "error": {type, message, details?}, "request_id"}`."""
    content: dict[str, Any] = {"type": shape_of(error).type, "message": error.message}
    if error.code:
        content["details"] = {"error_code": error.code}
    return {"type": "error", "error": content, "request_id": request_id}


def error_headers(error: BackendError) -> dict[str, str]:
    headers = {"retry-after": str(error.retry_after_s)} if error.retry_after_s else {}
    # The SDKs retry 409, 429 and 529 by themselves; here all of their tries would end the same way. A longer
    # retry-after than they honour makes them come back after half a second.
    too_long = error.retry_after_s is not None and error.retry_after_s > LONGEST_RETRY_AFTER_S
    if too_long or isinstance(error, CapacityStartingError | ConflictError):
        headers["x-should-retry"] = "false"
    return headers


def error_event(error: BackendError, *, request_id: str) -> bytes:
    """The frame that ends a stream which cannot be completed."""
    return f"event: error\ndata: {json.dumps(error_body(error, request_id=request_id))}\n\n".encode()
