"""Keeps out of the log what libraries would put in: paths and query strings, requests, rows of the database."""

from __future__ import annotations

import logging
import re
import traceback
from types import TracebackType

from django.http import HttpRequest
from pythonjsonlogger.json import JsonFormatter

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class RouteInsteadOfPath(logging.Filter):
    """Django hangs the request on its records and names its path, which can hold a token; its route cannot."""

    def filter(self, record: logging.LogRecord) -> bool:
        request = record.__dict__.pop("request", None)
        if isinstance(request, HttpRequest):
            route = request.resolver_match.route if request.resolver_match else "unmatched"
            if isinstance(record.args, tuple):
                record.args = tuple(route if argument == request.path else argument for argument in record.args)
        return True


class OnlyExceptions(logging.Filter):
    """Django repeats each 5xx as an error; only one with a traceback says more than our own line of the request."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.exc_info is not None


#: API keys, the tokens of share links, keys of providers, by their marks: somebody puts one where nothing looks for it.
_SECRET = re.compile(r"\b(ppk_|psl_|sk-)[A-Za-z0-9_-]{8,}")


class PrivateJsonFormatter(JsonFormatter):
    """JSON lines without keys and tokens, whose tracebacks stop where PostgreSQL would go on with values of the row."""

    def format(self, record: logging.LogRecord) -> str:
        return _SECRET.sub(r"\1...", super().format(record))

    def formatException(self, ei: ExcInfo) -> str:  # noqa: N802  # the name is logging's
        if ei[1] is None:
            return ""
        return "\n".join(_described(error) for error in reversed(_chain(ei[1])))


def _chain(error: BaseException) -> list[BaseException]:
    """`error`, what caused it, what caused that."""
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain:
        chain.append(current)
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return chain


def _described(error: BaseException) -> str:
    frames = "".join(traceback.format_tb(error.__traceback__))
    message, _, _ = str(error).partition("\nDETAIL:")
    return f"{frames}{type(error).__module__}.{type(error).__qualname__}: {message}"
