"""What operators and programs read: is it alive, would a run work, the metrics, and the API in words."""

from __future__ import annotations

import functools
import hmac
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator

from config.api_reference import Section, read_sections
from config.readiness import readiness
from core import metrics as measured
from core.errors import NotAuthenticated


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """The process lives. Touches nothing, so that a dead database does not get web processes restarted."""
    del request
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """200 only when a run would work now; else 503 with what is missing."""
    del request
    report = readiness.report()
    return JsonResponse({"ready": report.ready, "checks": report.checks}, status=200 if report.ready else 503)


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus text. With METRICS_TOKEN set, only for who sends it: counts tell how much the product is used."""
    expected = f"Bearer {settings.METRICS_TOKEN}".encode()
    given = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
    if settings.METRICS_TOKEN and not hmac.compare_digest(given, expected):
        raise NotAuthenticated("Metrics need `Authorization: Bearer <METRICS_TOKEN>`.")
    body, content_type = measured.render()
    return HttpResponse(body, content_type=content_type)


@require_safe
def api_docs(request: HttpRequest) -> HttpResponse:
    """Every call of the API in words, from the same schema that programs read; no sign-in, it holds nothing private."""
    return render(request, "api_docs.html", {"sections": _sections(), "public_url": settings.PUBLIC_URL})


@functools.cache
def _sections() -> tuple[Section, ...]:
    return read_sections(api_schema(), public_url=settings.PUBLIC_URL)


def api_schema() -> dict[str, Any]:
    """The whole OpenAPI schema, as whoever may call everything sees it."""
    schema: dict[str, Any] = SchemaGenerator().get_schema(  # type: ignore[no-untyped-call]  # the package has no types
        request=None, public=True
    )
    return schema
