"""The id that ties an answer, its log lines and the calls it made together."""

from __future__ import annotations

import logging
import re
from contextvars import ContextVar

from core.ids import new_id

_current: ContextVar[str] = ContextVar("request_id", default="")
_ACCEPTABLE = re.compile(r"[A-Za-z0-9_.-]{8,64}\Z")


def current() -> str:
    """The id of the request being answered, or "" outside one."""
    return _current.get()


def begin(offered: str | None) -> str:
    """Start a request: the caller's own id if it is harmless to log, else a fresh `req_...`."""
    value = offered if offered and _ACCEPTABLE.match(offered) else f"req_{new_id().hex}"
    _current.set(value)
    return value


class RequestIdFilter(logging.Filter):
    """Stamps each log record with the current request id."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = current()
        return True
