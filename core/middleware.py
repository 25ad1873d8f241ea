"""What wraps every request: its id, one log line, and the translation of errors outside the REST framework."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from core import boundary, metrics, requestid
from core.errors import InvalidInput, NotFound

log = logging.getLogger("playground.request")

GetResponse = Callable[[HttpRequest], HttpResponse]

#: Asked every few seconds by machines; a log line each would drown the rest, like one for each static file (no route).
QUIET_ROUTES = frozenset({"healthz", "readyz", "metrics"})


class RequestLogMiddleware:
    """Gives the request its id, and writes one line and one metric when it is answered.

    The route's pattern is logged, never the path or the query string: they can hold a token or a search text.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request_id = requestid.begin(request.headers.get("X-Request-ID"))
        started = time.monotonic()
        response = self.get_response(request)
        response["X-Request-ID"] = request_id
        seconds = time.monotonic() - started
        # When the answer is sent: nobody waits for a line of a log.
        response._resource_closers.append(lambda: self._record(request, response, seconds))  # type: ignore[attr-defined]
        return response

    def _record(self, request: HttpRequest, response: HttpResponse, seconds: float) -> None:
        match = request.resolver_match
        route = match.route if match else "unmatched"
        metrics.REQUEST_SECONDS.labels(request.method or "", route, response.status_code).observe(seconds)
        if response.status_code < 400 and (match is None or match.url_name in QUIET_ROUTES):
            return
        user = getattr(request, "user", None)
        log.info(
            "request",
            extra={
                "method": request.method,
                "route": route,
                "status": response.status_code,
                "ms": round(seconds * 1000, 1),
                "account": str(user.pk) if user is not None and user.is_authenticated else None,
            },
        )


class DomainErrorMiddleware:
    """A DomainError raised by a page view becomes its page; the API has REST framework's hook for the same."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        known = boundary.translate(error)
        return boundary.respond(request, known) if known else None


class RefuseNulMiddleware:
    """A NUL in the address is no address of ours. PostgreSQL cannot compare with one: each look-up would be a 500."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if "\0" in request.path_info:
            return boundary.respond(request, NotFound())
        if "%00" in request.META.get("QUERY_STRING", ""):
            return boundary.respond(request, InvalidInput("A NUL character is not possible here.", field="query"))
        return self.get_response(request)


class PrivatePagesMiddleware:
    """Headers of every answer that was made for one person: not stored by proxies, not leaking where from."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Cache-Control", "private, no-store")
        response.headers.setdefault(
            "Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()"
        )
        return response
