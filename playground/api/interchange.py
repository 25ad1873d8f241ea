"""Export, import, and the preview of an import."""

from __future__ import annotations

import asyncio
import io
import json
import re
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from typing import IO, Any

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.errors import InferenceUnavailable, InvalidInput, NotFound
from core.parsers import parse_json
from inference_client import catalogue
from playground import access, services
from playground.api.asking import IDEMPOTENCY_KEY, checked, idempotency_key, person
from playground.api.file_imports import accepted
from playground.api.parsing import PIECE, ImportJSONParser, ZipParser
from playground.importing import reading
from playground.importing.imported import Imported
from playground.interchange.archive import Archive, InlineTexts, Texts
from playground.interchange.manifest import check, is_manifest
from playground.library_serializers import FileImportOutput, ImportedOutput, PreviewInput, PreviewOutput
from playground.models import FileImport, Prompt
from playground.services.imports import ImportedTree
from playground.spec import parse

#: What an import inside its request may have: about a second of work. More is for a worker.
MOST_VERSIONS = 50
MOST_BYTES = 1024 * 1024
#: Filled in where the source names no model and none is on offer.
NO_MODEL = "choose-a-model"
#: Who takes long to fetch an export is asked about again this often.
ASK_AGAIN_S = 10.0


class Export(APIView):
    @extend_schema(operation_id="prompts_export", responses={(200, "application/zip"): OpenApiTypes.BINARY})
    def get(self, request: Request, prompt_id: uuid.UUID) -> StreamingHttpResponse:
        """The prompt with its whole tree as a zip file: docs/export-format.md. The same prompt, the same bytes."""
        prompt = access.prompt_for(request.user, prompt_id)
        file = services.export_prompt(prompt=prompt)
        length = file.seek(0, 2)
        file.seek(0)
        name = re.sub(r"[^A-Za-z0-9]+", "-", prompt.name).strip("-")[:60] or "prompt"
        asking = person(request)

        def may_go_on() -> bool:
            try:
                access.prompt_for(asking, prompt_id)
            except NotFound:
                return False
            return True

        return StreamingHttpResponse(
            pieces_async(file, may_go_on) if isinstance(request._request, ASGIRequest) else _pieces(file),
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


async def pieces_async(file: IO[bytes], may_go_on: Callable[[], bool]) -> AsyncIterator[bytes]:
    """Under ASGI: Django would first collect all of a plain iterator.

    A reader that takes long is asked about again, and what follows is not sent to one who lost access meanwhile: the
    file then ends before its length, which no client takes for the whole.
    """
    with file:
        asked_at = time.monotonic()
        while piece := await asyncio.to_thread(file.read, PIECE):
            if time.monotonic() - asked_at > ASK_AGAIN_S:
                if not await sync_to_async(may_go_on)():
                    raise ConnectionAbortedError
                asked_at = time.monotonic()
            yield piece


class Import(APIView):
    parser_classes = [ImportJSONParser, ZipParser]

    @extend_schema(
        operation_id="prompts_import",
        request={"application/zip": OpenApiTypes.BINARY, "application/json": OpenApiTypes.OBJECT},
        responses={200: ImportedOutput, 201: ImportedOutput, 202: FileImportOutput},
        parameters=[
            IDEMPOTENCY_KEY,
            OpenApiParameter("prompt", OpenApiTypes.UUID, description="Add what is missing to this prompt."),
        ],
    )
    def post(self, request: Request) -> Response:
        """A new prompt from an export (zip or JSON), from the JSON of another product, or from `{"text": "..."}`.

        201 if versions were made, 200 if the prompt named had them all. An export of more than 50 versions or about a
        megabyte of texts is taken in by a worker: 202, and `Location` says where to ask how far it is.
        """
        into = _into(request)
        data: Any = request.data
        if is_manifest(data):
            return _export_as_json(request, data, into)
        if isinstance(data, dict | list):
            tree, kind, warnings = _foreign(request, data, into)
            return _made(tree, kind, warnings, into)
        with data as file:
            archive = Archive(file)
            manifest = parse_json(archive.manifest)
            if _is_large(manifest, archive):
                return accepted(_hand_over(request, file, FileImport.Format.ZIP, into))
            return _made(_take_in(request, manifest, archive, into), "export", [], into)


def _export_as_json(request: Request, value: Any, into: Prompt | None) -> Response:
    bodies = value.get("bodies")
    texts = InlineTexts(bodies if isinstance(bodies, dict) else {})
    if not _is_large(value, texts):
        return _made(_take_in(request, value, texts, into), "export", [], into)
    with io.BytesIO(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")) as file:
        return accepted(_hand_over(request, file, FileImport.Format.JSON, into))


def _is_large(manifest: Any, texts: Texts) -> bool:
    """Whether this takes longer than a request should. Raises InvalidInput for a manifest that is none."""
    return len(check(manifest).versions) > MOST_VERSIONS or texts.unpacked_bytes > MOST_BYTES


def _hand_over(request: Request, file: IO[bytes], file_format: str, into: Prompt | None) -> FileImport:
    return services.hand_over(
        account=person(request),
        file=file,
        file_format=file_format,
        into=into,
        idempotency_key=idempotency_key(request),
    )


def _made(tree: ImportedTree, kind: str, warnings: list[str], into: Prompt | None) -> Response:
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


def _foreign(request: Request, value: Any, into: Prompt | None) -> tuple[ImportedTree, str, list[str]]:
    """One version, like any save."""
    found = _read(request, value)
    if isinstance(value, dict) and isinstance(value.get("name"), str) and "text" in value:
        found.name = value["name"]
    tree = services.import_single(
        actor=person(request), found=found, into=into, idempotency_key=idempotency_key(request)
    )
    return tree, found.kind, found.warnings


def _read(request: Request, value: Any) -> Imported:
    """`{"text": ...}` is something pasted; anything else is the JSON of a prompt itself."""
    if isinstance(value, dict) and set(value) <= {"text", "name"} and isinstance(value.get("text"), str):
        return reading.read(value["text"], default_model=_default_model(request))
    return reading.read_value(value, default_model=_default_model(request))


def _take_in(request: Request, manifest: Any, texts: Texts, into: Prompt | None) -> ImportedTree:
    return services.import_tree(
        actor=person(request),
        manifest=check(manifest),
        texts=texts,
        into=into,
        idempotency_key=idempotency_key(request),
    )


def _default_model(request: Request) -> str:
    try:
        return catalogue.list_models(person(request))[0].id
    except InferenceUnavailable:
        return NO_MODEL


class ImportPreview(APIView):
    @extend_schema(operation_id="prompts_import_preview", request=PreviewInput, responses=PreviewOutput)
    def post(self, request: Request) -> Response:
        """What an import of a text would be: the format it is of, the spec, and what would be left behind."""
        person(request)
        found = reading.read(checked(PreviewInput, request)["text"], default_model=_default_model(request))
        parse(found.spec)
        return Response(PreviewOutput(found).data)
