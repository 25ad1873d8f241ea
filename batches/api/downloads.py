"""Results and test cases as files, streamed a page of rows at a time."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db import close_old_connections
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request
from rest_framework.views import APIView

from batches import exports
from batches.access import batch_for, dataset_for
from batches.api.results import FILTERS, filter_asked
from batches.services.datasets import ready_rows
from core.errors import NotFound
from inference_client.api import AnyAccept

#: Who takes long to fetch a file is asked about again this often.
ASK_AGAIN_S = 10.0
CSV, JSONL = "text/csv; charset=utf-8", "application/jsonl; charset=utf-8"
SPREADSHEET = OpenApiParameter(
    "spreadsheet",
    OpenApiTypes.BOOL,
    description="An apostrophe before cells that a spreadsheet would take for a formula. Default: cells are exact.",
)


class Download(APIView):
    """A file may be asked for with any Accept header."""

    content_negotiation_class: type[BaseContentNegotiation] = AnyAccept


class ResultsCsv(Download):
    @extend_schema(
        operation_id="batches_results_csv",
        parameters=[SPREADSHEET, *FILTERS],
        responses={(200, "text/csv"): OpenApiTypes.STR},
    )
    def get(self, request: Request, batch_id: uuid.UUID) -> StreamingHttpResponse:
        """The whole grid as CSV, with whole answers."""
        batch = batch_for(request.user, batch_id)
        lines = exports.results_csv(batch, filter_asked(request), spreadsheet=_for_spreadsheet(request))
        return streamed(
            request, lines, lambda: batch_for(request.user, batch_id), kind=CSV, name=f"batch-{batch_id}.csv"
        )


class ResultsJsonl(Download):
    @extend_schema(
        operation_id="batches_results_jsonl",
        parameters=FILTERS,
        responses={(200, "application/jsonl"): OpenApiTypes.STR},
    )
    def get(self, request: Request, batch_id: uuid.UUID) -> StreamingHttpResponse:
        """The whole grid as JSON lines, with whole answers."""
        batch = batch_for(request.user, batch_id)
        lines = exports.results_jsonl(batch, filter_asked(request))
        name = f"batch-{batch_id}.jsonl"
        return streamed(request, lines, lambda: batch_for(request.user, batch_id), kind=JSONL, name=name)


class RowsCsv(Download):
    @extend_schema(
        operation_id="datasets_rows_csv", parameters=[SPREADSHEET], responses={(200, "text/csv"): OpenApiTypes.STR}
    )
    def get(self, request: Request, dataset_id: uuid.UUID) -> StreamingHttpResponse:
        """The test cases as CSV."""
        rows = ready_rows(dataset_for(request.user, dataset_id))
        lines = exports.rows_csv(rows, spreadsheet=_for_spreadsheet(request))
        name = f"test-cases-{dataset_id}.csv"
        return streamed(request, lines, lambda: dataset_for(request.user, dataset_id), kind=CSV, name=name)


class RowsJsonl(Download):
    @extend_schema(operation_id="datasets_rows_jsonl", responses={(200, "application/jsonl"): OpenApiTypes.STR})
    def get(self, request: Request, dataset_id: uuid.UUID) -> StreamingHttpResponse:
        """The test cases as JSON lines."""
        rows = ready_rows(dataset_for(request.user, dataset_id))
        lines = exports.rows_jsonl(rows)
        name = f"test-cases-{dataset_id}.jsonl"
        return streamed(request, lines, lambda: dataset_for(request.user, dataset_id), kind=JSONL, name=name)


def _for_spreadsheet(request: Request) -> bool:
    return request.query_params.get("spreadsheet") in ("true", "1")


def streamed(
    request: Request, lines: Iterator[str], ask: Callable[[], object], *, kind: str, name: str
) -> StreamingHttpResponse:
    """`lines` as a file called `name`. `ask` raises NotFound for who may not read on."""
    pieces = _pieces_async(lines, ask) if isinstance(request._request, ASGIRequest) else lines
    return StreamingHttpResponse(
        pieces,
        content_type=kind,
        headers={
            "Content-Disposition": f'attachment; filename="{name}"',
            "Cache-Control": "private, no-store",
            "X-Accel-Buffering": "no",
        },
    )


async def _pieces_async(lines: Iterator[str], ask: Callable[[], object]) -> AsyncIterator[str]:
    """Under ASGI: Django would first collect all of a plain iterator.

    The connection to the database goes back between pages, however slowly they are fetched. Who takes long is asked
    about again, and what follows is not sent to one who lost access meanwhile: the connection is then cut.
    """
    asked_at = time.monotonic()
    while (piece := await sync_to_async(_next_of)(lines)) is not None:
        if time.monotonic() - asked_at > ASK_AGAIN_S:
            if not await sync_to_async(_may_read)(ask):
                raise ConnectionAbortedError
            asked_at = time.monotonic()
        yield piece


def _next_of(lines: Iterator[str]) -> str | None:
    try:
        return next(lines, None)
    finally:
        close_old_connections()


def _may_read(ask: Callable[[], object]) -> bool:
    try:
        ask()
    except NotFound:
        return False
    finally:
        close_old_connections()
    return True
