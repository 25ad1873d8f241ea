"""Everything that can go wrong, as one tree. What a caller sees of it is decided in dialect/errors.py.

BackendError
+-- RequestError                the caller's to fix
|   +-- InvalidRequestError     names the field
|   +-- UnauthenticatedError
|   +-- ForbiddenError
|   +-- NotFoundError
|   +-- BodyTooLargeError
|   +-- SlowBodyError           the request did not arrive in time
|   +-- ConflictError           the idempotency key belongs to another request
|   |   +-- TooLargeToReplayError
|   +-- InFlightElsewhereError  a twin of this request is being answered by another process
|   +-- RateLimitedError        the caller's own limit
+-- OverloadedError             nobody's fault; worth trying again
|   +-- EngineUnavailableError
|   +-- CapacityStartingError   it will be better in minutes, not in seconds
|   +-- DeadlineExceededError   waited as long as it may
|   +-- SafetyUnavailableError  it cannot be checked, and must be
+-- KeyStoreError               keys cannot be checked, so nobody is let in
+-- StoreDownError              what the processes share cannot be reached
+-- DrainingError               this process is about to end
+-- EngineError                 the engine broke its side
    +-- EngineConnectionError   no byte of an answer came
    |   +-- EngineBusyError     it turned the request away
    +-- EngineCutError          the answer stopped before its end
    +-- EngineProtocolError     bytes that make no sense
    |   +-- EngineOffSchemaError
    +-- EngineFailedError       the engine says that it failed
    +-- EngineTimeoutError      silent for too long
    +-- EngineRefusedError      the engine finds the request wrong
        +-- PromptTooLongError
        +-- InputFailedError    one input of a batch, which failed alone

The text of an error goes to the caller. None of it holds a prompt, an answer or a key.
"""


class BackendError(Exception):
    """`code` is a machine-readable detail; `retry_after_s` says when another try makes sense."""

    code: str | None = None
    retry_after_s: int | None = None

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class RequestError(BackendError):
    pass


class InvalidRequestError(RequestError):
    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.field = field


class UnauthenticatedError(RequestError):
    pass


class ForbiddenError(RequestError):
    pass


class NotFoundError(RequestError):
    pass


class BodyTooLargeError(RequestError):
    pass


class SlowBodyError(RequestError):
    code = "body_timeout"


class ConflictError(RequestError):
    code = "idempotency_key_reused"


class TooLargeToReplayError(ConflictError):
    code = "idempotency_answer_too_large"


class InFlightElsewhereError(RequestError):
    code = "idempotency_in_flight"
    retry_after_s = 2


class RateLimitedError(RequestError):
    """`retry_after_s` is when the caller's own allowance holds enough again; `limit` is the one that was met."""

    code = "rate_limited"

    def __init__(self, message: str, *, retry_after_s: int, limit: str = "requests") -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        self.limit = limit


class OverloadedError(BackendError):
    code = "too_many_requests_in_flight"
    retry_after_s = 1

    def __init__(self, message: str, *, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        if retry_after_s is not None:
            self.retry_after_s = retry_after_s


class TooManyBytesError(OverloadedError):
    code = "too_many_bytes_in_hand"
    retry_after_s = 2


class EngineUnavailableError(OverloadedError):
    code = "engine_unavailable"
    retry_after_s = 2


class CapacityStartingError(OverloadedError):
    """Clients that retry by themselves are told not to: their few tries would all fall into the wait."""

    code = "capacity_starting"


class DeadlineExceededError(OverloadedError):
    code = "deadline"


class SafetyUnavailableError(OverloadedError):
    code = "safety_unavailable"
    retry_after_s = 2


class KeyStoreError(BackendError):
    code = "key_store_unavailable"
    retry_after_s = 1


class StoreDownError(BackendError):
    code = "store_unavailable"
    retry_after_s = 1

    def __init__(self, message: str = "The store that the processes of this service share is down.") -> None:
        super().__init__(message)


class DrainingError(BackendError):
    code = "draining"
    retry_after_s = 1

    def __init__(self) -> None:
        super().__init__("This process is about to end and takes nothing new; try again, another one will answer.")


class EngineError(BackendError):
    code = "engine_failed"


class EngineConnectionError(EngineError):
    code = "engine_unavailable"


class EngineBusyError(EngineConnectionError):
    """It answers, and takes nothing."""


class EngineCutError(EngineError):
    code = "replica_lost"


class EngineProtocolError(EngineError):
    code = "engine_garbage"


class EngineOffSchemaError(EngineProtocolError):
    """Words in good order that are not what was asked for: the model's doing, not a broken engine's."""


class EngineFailedError(EngineError):
    pass


class EngineTimeoutError(EngineError):
    code = "engine_timeout"


class EngineRefusedError(EngineError):
    code = "engine_refused"


class PromptTooLongError(EngineRefusedError):
    """Sizes in tokens; `tokens` is None where the engine does not say, and a lower bound where `is_bound`."""

    code = "prompt_too_long"

    def __init__(self, *, tokens: int | None, context: int | None, is_bound: bool = False) -> None:
        least = "at least " if is_bound else ""
        sizes = f": {least}{tokens} tokens > {context} maximum" if tokens and context else ""
        super().__init__(f"prompt is too long{sizes}")


class InputFailedError(EngineRefusedError):
    """`index` is its place among the inputs of one request, where there were several."""

    code = "input_failed"

    def __init__(self, message: str, *, index: int | None = None) -> None:
        super().__init__(message if index is None else f"input.{index}: {message}")
        self.index = index
