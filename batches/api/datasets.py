"""Test cases: typed in or announced as a file, listed, read a window at a time, changed while small."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from batches import edits
from batches.access import dataset_for
from batches.api.windows import LIMIT, OFFSET, window_asked
from batches.models import Dataset, DatasetFile
from batches.presenting import dataset_json, file_of
from batches.serializers import (
    AwaitedDatasetOutput,
    DatasetInput,
    DatasetListOutput,
    DatasetNameInput,
    DatasetOutput,
    RowEditsInput,
    RowEditsOutput,
    RowsOutput,
)
from batches.services import datasets, files, row_sets
from core.errors import Conflict, InvalidInput
from core.paging import NewestFirst
from playground import access
from playground.api.asking import IDEMPOTENCY_KEY, checked, idempotency_key, person
from playground.api.uploads import addresses_json
from playground.models import Prompt

MOST_ROWS_A_PAGE = 500
MOST_CELL_NAME = 1000


class DatasetList(APIView):
    @extend_schema(
        operation_id="datasets_list",
        parameters=[OpenApiParameter("cursor", OpenApiTypes.UUID), OpenApiParameter("limit", OpenApiTypes.INT)],
        responses=DatasetListOutput,
    )
    def get(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """The test cases of a prompt, newest first."""
        prompt = access.prompt_for(request.user, prompt_id, access.RUN)
        found = Dataset.objects.filter(prompt=prompt).select_related("maker", "rows", "file")
        pages = NewestFirst()
        rows = pages.paginate_queryset(found.defer("file__problems"), request)
        return pages.get_paginated_response([dataset_json(row, with_problems=False) for row in rows])

    @extend_schema(
        operation_id="datasets_create",
        request=DatasetInput,
        responses={201: AwaitedDatasetOutput},
        parameters=[IDEMPOTENCY_KEY],
    )
    def post(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """Keep test cases that were typed in (`rows`), or announce a file (`format`, `size`, `sha256`) of them.

        Send the bytes of a file to `url` or its parts to theirs, then complete it; a worker reads it.
        """
        prompt = access.prompt_for(request.user, prompt_id, access.RUN)
        given = checked(DatasetInput, request)
        if "format" in given:
            return _announced(request, prompt, given)
        rows = edits.read_rows(given.get("rows"), field="rows")
        made = datasets.create_dataset(
            account=person(request),
            prompt=prompt,
            name=given["name"],
            rows=rows,
            columns=edits.read_names(given.get("columns", []), field="columns"),
            idempotency_key=idempotency_key(request),
        )
        return Response(dataset_json(made), status=201)


def _announced(request: Request, prompt: Prompt, given: dict[str, Any]) -> Response:
    for name in ("size", "sha256"):
        if name not in given:
            raise InvalidInput("A file is announced with its size and its SHA-256.", field=name)
    announced = files.announce_file(
        account=person(request),
        prompt=prompt,
        name=given["name"],
        file_format=given["format"],
        size=given["size"],
        sha256=given["sha256"],
        part_sha256=given.get("part_sha256"),
        columns=_mapping(given.get("columns")),
        expected=given.get("expected"),
        skips_bad_rows=given["skip_bad_rows"],
        idempotency_key=idempotency_key(request),
    )
    shown = dataset_json(announced.dataset)
    return Response(shown | (addresses_json(announced.addresses) if announced.addresses else {}), status=201)


def _mapping(raw: object) -> dict[str, str | None]:
    """Names of a file's columns to variables, or null. Raises InvalidInput."""
    if raw is None:
        return {}
    if not isinstance(raw, dict) or len(raw) > 10 * MOST_CELL_NAME:
        raise InvalidInput("Columns of a file are an object from its names to variables or null.", field="columns")
    for name, target in raw.items():
        if len(name) > MOST_CELL_NAME or not (target is None or isinstance(target, str)):
            raise InvalidInput("A column becomes a variable, or null to leave it out.", field=f"columns.{name[:60]}")
    return raw


class DatasetDetail(APIView):
    @extend_schema(operation_id="datasets_read", responses=AwaitedDatasetOutput)
    def get(self, request: Request, dataset_id: uuid.UUID) -> Response:
        """A set of test cases without its rows; of a file, how far its reading is and what is wrong with it."""
        dataset = dataset_for(request.user, dataset_id)
        file = file_of(dataset)
        addresses = files.where_to_send(file) if file is not None else None
        return Response(dataset_json(dataset) | (addresses_json(addresses) if addresses else {}))

    @extend_schema(operation_id="datasets_rename", request=DatasetNameInput, responses=DatasetOutput)
    def patch(self, request: Request, dataset_id: uuid.UUID) -> Response:
        dataset = dataset_for(request.user, dataset_id)
        return Response(
            dataset_json(datasets.rename_dataset(dataset=dataset, name=checked(DatasetNameInput, request)["name"]))
        )

    @extend_schema(operation_id="datasets_delete", request=None, responses={204: None})
    def delete(self, request: Request, dataset_id: uuid.UUID) -> Response:
        """Remove test cases, or a file of them on its way. Batches keep the rows that they ran."""
        datasets.delete_dataset(dataset=dataset_for(request.user, dataset_id))
        return Response(status=204)


class DatasetComplete(APIView):
    @extend_schema(operation_id="datasets_complete", request=None, responses={200: DatasetOutput, 202: DatasetOutput})
    def post(self, request: Request, dataset_id: uuid.UUID) -> Response:
        """The bytes are sent: read them. 202 while that goes on; calling it again does no harm."""
        dataset = dataset_for(request.user, dataset_id)
        file = file_of(dataset)
        if file is None:
            raise Conflict("These test cases were typed in: no file is awaited.", code="no_file")
        dataset.file = files.complete_file(file=file)
        is_over = dataset.file.status in (DatasetFile.Status.READY, DatasetFile.Status.FAILED)
        return Response(dataset_json(dataset), status=200 if is_over else 202)


class DatasetRows(APIView):
    @extend_schema(operation_id="datasets_rows", parameters=[OFFSET, LIMIT], responses=RowsOutput)
    def get(self, request: Request, dataset_id: uuid.UUID) -> Response:
        """A window of the rows."""
        dataset = dataset_for(request.user, dataset_id)
        rows = datasets.ready_rows(dataset)
        window = window_asked(request, default=100, most=MOST_ROWS_A_PAGE)
        found = row_sets.read_window(rows.pk, offset=window.offset, limit=window.limit)
        return Response(
            {
                "count": rows.count,
                "revision": dataset.revision,
                "columns": rows.columns,
                "results": [{"index": number, **row.as_json()} for number, row in found],
            }
        )

    @extend_schema(operation_id="datasets_edit_rows", request=RowEditsInput, responses=RowEditsOutput)
    def patch(self, request: Request, dataset_id: uuid.UUID) -> Response:
        """Change rows, as long as nobody else did since `revision`."""
        dataset = dataset_for(request.user, dataset_id)
        given = checked(RowEditsInput, request)
        changed = datasets.edit_rows(
            dataset=dataset,
            revision=given["revision"],
            changes=given.get("edits", []),
            columns=given.get("columns"),
        )
        rows = datasets.ready_rows(changed)
        return Response({"revision": changed.revision, "count": rows.count, "columns": rows.columns})
