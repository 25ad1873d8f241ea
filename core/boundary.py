"""One translator: an exception becomes a page, a fragment or JSON, always with the true status and the request id."""

from __future__ import annotations

import json
from typing import TypeVar

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from rest_framework import exceptions as drf
from rest_framework.response import Response

from core import requestid
from core.errors import (
    DomainError,
    InvalidInput,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    RateLimited,
    TooLarge,
)

AnyResponse = TypeVar("AnyResponse", bound=HttpResponse)


def wants_json(request: HttpRequest) -> bool:
    """API paths always answer JSON; elsewhere only who asks for it gets it."""
    return request.path.startswith("/api/") or request.headers.get("Accept", "").startswith("application/json")


def translate(error: Exception) -> DomainError | None:
    """The DomainError an expected exception stands for; None for a bug, which stays a 500."""
    if isinstance(error, DomainError):
        return error
    if isinstance(error, Http404):
        return NotFound()
    if isinstance(error, PermissionDenied):
        return NotAllowed("This request was refused.")
    if isinstance(error, RequestDataTooBig):
        return TooLarge("The request body is larger than the limit.", field="body")
    if isinstance(error, drf.APIException):
        return _from_rest_framework(error)
    return None


def _from_rest_framework(error: drf.APIException) -> DomainError:
    if isinstance(error, drf.NotAuthenticated | drf.AuthenticationFailed):
        return NotAuthenticated()
    if isinstance(error, drf.PermissionDenied):
        return NotAllowed(str(error.detail))
    if isinstance(error, drf.NotFound):
        return NotFound()
    if isinstance(error, drf.Throttled):
        wait = int(getattr(error, "wait", None) or 1)
        return RateLimited(f"Too many requests. Try again in {wait} s.", retry_after_s=wait)
    if isinstance(error, drf.ValidationError):
        field, message = first_problem(error.detail)
        return InvalidInput(message, field=field or None)
    if isinstance(error, drf.ParseError):
        return InvalidInput("The body is not valid JSON.", code="invalid_json", field="body")
    other = DomainError(str(error.detail), code=str(error.default_code))
    other.status = error.status_code  # type: ignore[misc]  # 405, 406, 415: the framework's own statuses
    return other


def first_problem(detail: object, path: str = "") -> tuple[str, str]:
    """The first (dotted field path, sentence) inside a REST framework error detail."""
    if isinstance(detail, dict):
        for key, value in detail.items():
            here = path if key == "non_field_errors" else f"{path}.{key}".lstrip(".")
            return first_problem(value, here)
    if isinstance(detail, list):
        for index, item in enumerate(detail):
            if not isinstance(item, dict | list):
                return path, str(item)
            if item:  # an item without a problem is an empty place
                return first_problem(item, f"{path}.{index}".lstrip("."))
    return path, str(detail)


def error_json(error: DomainError) -> dict[str, object]:
    return {"error": error.as_json(), "request_id": requestid.current()}


def respond(request: HttpRequest, error: DomainError) -> HttpResponse:
    """The answer for `error`: JSON for the API, a fragment for a scripted page request, else a page."""
    response: HttpResponse
    if wants_json(request):
        response = JsonResponse(error_json(error), status=error.status)
    else:
        template = "error_fragment.html" if request.headers.get("X-Fragment") else "error.html"
        context = {"error": error, "request_id": requestid.current()}
        response = render(request, template, context, status=error.status)
    return finish(response, error)


def finish(response: AnyResponse, error: DomainError) -> AnyResponse:
    if error.retry_after_s is not None:
        response["Retry-After"] = str(error.retry_after_s)
    if error.status == 401:
        response["WWW-Authenticate"] = "Bearer"
    response["Cache-Control"] = "no-store"
    return response


def rest_exception_handler(error: Exception, context: dict[str, object]) -> Response | None:
    """REST framework's hook; None lets an unknown exception become a 500."""
    del context
    known = translate(error)
    if known is None:
        return None
    return finish(Response(error_json(known), status=known.status), known)


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler500: says that it is our fault, and the request id to report."""
    request_id = requestid.current()
    if wants_json(request):
        body = {
            "error": {"code": "internal_error", "message": "Something broke on our side."},
            "request_id": request_id,
        }
        return HttpResponse(json.dumps(body), status=500, content_type="application/json")
    return render(request, "500.html", {"request_id": request_id}, status=500)


def too_many_attempts(request: HttpRequest) -> HttpResponse:
    """For allauth, which counts attempts to sign in, sign up and reset. The longest count runs for five minutes."""
    error = RateLimited("Too many attempts.", next_step="Wait a few minutes, then try again.", retry_after_s=300)
    if wants_json(request):
        return respond(request, error)
    return finish(render(request, "429.html", {"request_id": requestid.current()}, status=429), error)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    del exception
    return respond(request, NotFound())


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return respond(request, translate(exception) or InvalidInput())


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return respond(request, translate(exception) or NotAllowed("This request was refused."))
