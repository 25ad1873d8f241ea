"""One tree of errors that a person may see; everything else is a bug and stays a 500 with its request id.

DomainError
├── InvalidInput          400  the request is malformed; `field` names the part
├── NotAuthenticated      401
├── NotAllowed            403  only for a person who already reads the object
├── NotFound              404  absent and forbidden are told apart by nobody
├── Conflict              409
│   └── IdempotencyKeyReused
├── TooLarge              413
├── Unprocessable         422  well-formed, but it cannot be done (an unset variable, say)
├── RateLimited           429
└── Unavailable           503  a service we need does not answer; nothing was changed
    ├── StorageUnavailable
    └── InferenceUnavailable

`core.boundary` turns one into a page, a fragment or JSON. Raise them from services; never format them in views.
"""

from __future__ import annotations

from typing import ClassVar


class DomainError(Exception):
    """Base: a machine code, an HTTP status, a safe sentence, and optionally the field and data it is about.

    `message` says what happened; `kept` what was kept; `next_step` what the person can do. None of the three may
    hold a prompt, an output, a token or a header: they are logged.
    """

    status: ClassVar[int] = 400
    code: str = "error"
    default_message: ClassVar[str] = "Something about this request cannot be done."
    default_kept: ClassVar[str] = ""
    default_next_step: ClassVar[str] = ""

    def __init__(
        self,
        message: str = "",
        *,
        code: str | None = None,
        field: str | None = None,
        data: dict[str, object] | None = None,
        kept: str | None = None,
        next_step: str | None = None,
        retry_after_s: int | None = None,
    ) -> None:
        self.message = message or self.default_message
        self.code = code or type(self).code
        self.field = field
        self.data = data
        self.kept = self.default_kept if kept is None else kept
        self.next_step = self.default_next_step if next_step is None else next_step
        self.retry_after_s = retry_after_s
        super().__init__(self.message)

    def as_json(self) -> dict[str, object]:
        """The body of `error` in an answer: code, message and, where there is one, field, data, kept, next."""
        optional = {"field": self.field, "data": self.data, "kept": self.kept, "next": self.next_step}
        return {"code": self.code, "message": self.message, **{key: value for key, value in optional.items() if value}}


class InvalidInput(DomainError):
    status = 400
    code = "invalid_input"
    default_message = "The request is malformed."


class NotAuthenticated(DomainError):
    status = 401
    code = "not_authenticated"
    default_message = "Sign in, or send an API key as `Authorization: Bearer <key>`."


class NotAllowed(DomainError):
    status = 403
    code = "not_allowed"
    default_message = "You can read this, but not change it."


class NotFound(DomainError):
    status = 404
    code = "not_found"
    default_message = "There is nothing here, or it is not shared with you."


class Conflict(DomainError):
    status = 409
    code = "conflict"
    default_message = "Somebody changed this at the same time."


class IdempotencyKeyReused(Conflict):
    code = "idempotency_key_reused"
    default_message = "This Idempotency-Key was already used for a different request."
    default_next_step = "Use a new key for a new request."


class TooLarge(DomainError):
    status = 413
    code = "too_large"
    default_message = "This is larger than the limit."


class Unprocessable(DomainError):
    status = 422
    code = "unprocessable"
    default_message = "This cannot be done as asked."


class RateLimited(DomainError):
    status = 429
    code = "rate_limited"
    default_message = "Too many requests."


class Unavailable(DomainError):
    status = 503
    code = "unavailable"
    default_message = "A service this needs does not answer."
    default_next_step = "Try again in a moment."


class StorageUnavailable(Unavailable):
    code = "storage_unavailable"
    default_message = "The text store does not answer, so nothing was saved or read."
    default_kept = "Your text is still in this page."


class InferenceUnavailable(Unavailable):
    code = "inference_unavailable"
    default_message = "The inference backend does not answer."
