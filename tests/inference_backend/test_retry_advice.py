"""What an error tells a client that retries by itself."""

import pytest

from inference_backend.dialect.errors import error_body, error_headers, shape_of
from inference_backend.errors import (
    BackendError,
    CapacityStartingError,
    ConflictError,
    DeadlineExceededError,
    DrainingError,
    InFlightElsewhereError,
    OverloadedError,
    RateLimitedError,
    StoreDownError,
    TooLargeToReplayError,
)


@pytest.mark.parametrize(
    ("error", "status", "kind", "headers"),
    [
        (RateLimitedError("m", retry_after_s=7), 429, "rate_limit_error", {"retry-after": "7"}),
        (RateLimitedError("m", retry_after_s=60), 429, "rate_limit_error", {"retry-after": "60"}),
        (
            RateLimitedError("m", retry_after_s=61),
            429,
            "rate_limit_error",
            {"retry-after": "61", "x-should-retry": "false"},
        ),
        (OverloadedError("m", retry_after_s=3), 529, "overloaded_error", {"retry-after": "3"}),
        (DeadlineExceededError("m"), 529, "overloaded_error", {"retry-after": "1"}),
        (
            CapacityStartingError("m", retry_after_s=30),
            529,
            "overloaded_error",
            {"retry-after": "30", "x-should-retry": "false"},
        ),
        (DrainingError(), 503, "api_error", {"retry-after": "1"}),
        (StoreDownError(), 503, "api_error", {"retry-after": "1"}),
        (InFlightElsewhereError("m"), 409, "conflict_error", {"retry-after": "2"}),
        (ConflictError("m"), 409, "conflict_error", {"x-should-retry": "false"}),
        (TooLargeToReplayError("m"), 409, "conflict_error", {"x-should-retry": "false"}),
    ],
)
def test_an_error_says_whether_and_when_to_come_back(
    error: BackendError, status: int, kind: str, headers: dict[str, str]
) -> None:
    shape = shape_of(error)
    assert (shape.status, shape.type) == (status, kind)
    assert error_headers(error) == headers
    assert error_body(error, request_id="r")["error"]["details"]["error_code"] == error.code
