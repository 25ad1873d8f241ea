"""Export, import, and the preview of an import."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import AsyncIterator, Iterator
from typing import IO, Any

from django.core.handlers.asgi import ASGIRequest
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.errors import InferenceUnavailable, InvalidInput
from core.parsers import parse_json
from inference_client import catalogue
from playground import access, services
from playground.api.asking import IDEMPOTENCY_KEY, checked, idempotency_key, person
from playground.api.parsing import PIECE, ImportJSONParser, ZipParser
from playground.importing import reading
from playground.importing.imported import Imported
from playground.interchange.archive import Archive, InlineTexts, Texts
from playground.interchange.manifest import check, is_manifest
from playground.library_serializers import ImportedOutput, PreviewInput, PreviewOutput
from playground.models import Prompt
from playground.services.imports import ImportedTree
from playground.spec import parse

#: Filled in where the source names no model and none is on offer.
NO_MODEL = "choose-a-model"


class Export(APIView):
    @extend_schema(operation_id="prompts_export", responses={(200, "application/zip"): OpenApiTypes.BINARY})
    def get(self, request: Request, prompt_id: uuid.UUID) -> StreamingHttpResponse:
        """The prompt with its whole tree as a zip file: docs/export-format.md. The same prompt, the same bytes."""
        prompt = access.prompt_for(request.user, prompt_id)
        file = services.export_prompt(prompt=prompt)
        length = file.seek(0, 2)
        file.seek(0)
        name = re.sub(r"[^A-Za-z0-9]+", "-", prompt.name).strip("-")[:60] or "prompt"
        return StreamingHttpResponse(
            pieces_async(file) if isinstance(request._request, ASGIRequest) else _pieces(file),
            content_type="application/zip",
            headers={
                "Content-Disposition": f'attachment; filename="{name}.zip"',
                "Content-Length": str(length),
                "Cache-Control": "private, no-store",
            },
        )


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(PIECE):
            yield piece


async def pieces_async(file: IO[bytes]) -> AsyncIterator[bytes]:
    """Under ASGI: Django would first collect all of a plain iterator."""
    with file:
        while piece := await asyncio.to_thread(file.read, PIECE):
            yield piece


class Import(APIView):
    parser_classes = [ImportJSONParser, ZipParser]

    @extend_schema(
        operation_id="prompts_import",
        request={"application/zip": OpenApiTypes.BINARY, "application/json": OpenApiTypes.OBJECT},
        responses={200: ImportedOutput, 201: ImportedOutput},
        parameters=[
            IDEMPOTENCY_KEY,
            OpenApiParameter("prompt", OpenApiTypes.UUID, description="Add what is missing to this prompt."),
        ],
    )
    def post(self, request: Request) -> Response:
        """A new prompt from an export (zip or JSON), from the JSON of another product, or from `{"text": "..."}`.

        201 if versions were made, 200 if the prompt named had them all.
        """
        into = _into(request)
        data: Any = request.data
        if isinstance(data, dict | list):
            tree, kind, warnings = _from_json(request, data, into)
        else:
            with data as file:
                archive = Archive(file)
                tree = _take_in(request, parse_json(archive.manifest), archive, into)
            kind, warnings = "export", []
        prompt = Prompt.objects.with_latest_number().get(pk=tree.prompt.pk)
        body = {"prompt": prompt, "kind": kind, "versions_made": tree.versions_made, "warnings": warnings}
        return Response(ImportedOutput(body).data, status=201 if tree.versions_made or not into else 200)


def _into(request: Request) -> Prompt | None:
    named = request.query_params.get("prompt")
    if named is None:
        return None
    try:
        return access.prompt_for(request.user, uuid.UUID(named), access.CHANGE)
    except ValueError as error:
        raise InvalidInput("This is no id of a prompt.", field="prompt") from error


def _from_json(request: Request, value: Any, into: Prompt | None) -> tuple[ImportedTree, str, list[str]]:
    if is_manifest(value):
        bodies = value.get("bodies")
        texts = InlineTexts(bodies if isinstance(bodies, dict) else {})
        return _take_in(request, value, texts, into), "export", []
    found = _read(value)
    if isinstance(value, dict) and isinstance(value.get("name"), str) and "text" in value:
        found.name = value["name"]
    tree = services.import_single(
        actor=person(request), found=found, into=into, idempotency_key=idempotency_key(request)
    )
    return tree, found.kind, found.warnings


def _read(value: Any) -> Imported:
    """`{"text": ...}` is something pasted; anything else is the JSON of a prompt itself."""
    if isinstance(value, dict) and set(value) <= {"text", "name"} and isinstance(value.get("text"), str):
        return reading.read(value["text"], default_model=_default_model())
    return reading.read_value(value, default_model=_default_model())


def _take_in(request: Request, manifest: Any, texts: Texts, into: Prompt | None) -> ImportedTree:
    return services.import_tree(
        actor=person(request),
        manifest=check(manifest),
        texts=texts,
        into=into,
        idempotency_key=idempotency_key(request),
    )


def _default_model() -> str:
    try:
        return catalogue.list_models()[0].id
    except InferenceUnavailable:
        return NO_MODEL


class ImportPreview(APIView):
    @extend_schema(operation_id="prompts_import_preview", request=PreviewInput, responses=PreviewOutput)
    def post(self, request: Request) -> Response:
        """What an import of a text would be: the format it is of, the spec, and what would be left behind."""
        person(request)
        found = reading.read(checked(PreviewInput, request)["text"], default_model=_default_model())
        parse(found.spec)
        return Response(PreviewOutput(found).data)
