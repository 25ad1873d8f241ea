"""What was decided about prompts of others while a request was answered, for the access log.

The backend of permissions decides and knows no request; the middleware knows the request and what was answered.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from playground import access


@dataclass(kw_only=True)
class Noted:
    """By prompt: whether this person may see it, and whether anything else that was asked for was refused."""

    person_id: uuid.UUID | None = None
    allowed: dict[uuid.UUID, bool] = field(default_factory=dict)

    @property
    def any(self) -> bool:
        return bool(self.allowed)


_current: ContextVar[Noted | None] = ContextVar("sharing_noted", default=None)


@contextmanager
def noted() -> Iterator[Noted]:
    """Collects inside the block."""
    found = Noted()
    token = _current.set(found)
    try:
        yield found
    finally:
        _current.reset(token)


def decided(*, prompt_id: uuid.UUID, person_id: uuid.UUID, permission: str, allowed: bool) -> None:
    """Asking what else somebody may do, as a page does for its buttons, refuses nothing: seeing it is what counts."""
    found = _current.get()
    if found is not None and permission == access.VIEW:
        found.person_id = person_id
        found.allowed[prompt_id] = found.allowed.get(prompt_id, True) and allowed
