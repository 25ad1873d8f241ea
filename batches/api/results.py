"""The grid of a batch, a window of it or one row whole."""

from __future__ import annotations

import uuid

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView

from batches import results
from batches.access import batch_for
from batches.api.windows import LIMIT, OFFSET, window_asked
from batches.models import ItemStatus
from batches.results import ONLY, Filter, read_filter
from batches.serializers import ResultRowOutput, ResultsOutput
from core.errors import NotFound
from playground.api.asking import person

MOST_ROWS_A_PAGE = 200
FILTERS = [
    OpenApiParameter("only", OpenApiTypes.STR, enum=ONLY),
    OpenApiParameter("status", OpenApiTypes.STR, enum=ItemStatus.values),
    OpenApiParameter("version", OpenApiTypes.INT, description="Position of the version that a filter is about."),
]


def filter_asked(request: Request) -> Filter:
    asked = request.query_params
    return read_filter(asked.get("only"), asked.get("status"), asked.get("version"), asked.get("q"))


class Results(APIView):
    @extend_schema(
        operation_id="batches_results",
        parameters=[OFFSET, LIMIT, *FILTERS, OpenApiParameter("q", OpenApiTypes.STR)],
        responses=ResultsOutput,
    )
    def get(self, request: Request, batch_id: uuid.UUID) -> Response:
        """A window of the rows that match, each with a cell for each version."""
        batch = batch_for(request.user, batch_id)
        window = window_asked(request, default=50, most=MOST_ROWS_A_PAGE)
        found = results.window_of(batch, filter_asked(request), offset=window.offset, limit=window.limit)
        cells = results.cells_of(batch, [number for number, _ in found.rows])
        versions = batch.versions.count()
        following = window.offset + len(found.rows)
        is_last = following >= found.count or not found.rows
        address = replace_query_param(request.build_absolute_uri(), "offset", str(following))
        return Response(
            {
                "count": found.count,
                "offset": found.offset,
                "results": [
                    results.row_json(number, row, cells.get(number, {}), versions) for number, row in found.rows
                ],
                "next": None if is_last else address,
                "searched": found.searched,
            }
        )


class ResultRow(APIView):
    @extend_schema(operation_id="batches_result_row", responses=ResultRowOutput)
    def get(self, request: Request, batch_id: uuid.UUID, index: int) -> Response:
        """One row with whole values and whole answers."""
        batch = batch_for(request.user, batch_id)
        if index >= batch.rows.count:
            raise NotFound
        return Response(results.full_row(batch, index, person(request).pk))
