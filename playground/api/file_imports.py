"""Files too large for one request: announced here, sent to the store directly, taken in by a worker."""

from __future__ import annotations

import uuid
from typing import Any

from django.urls import reverse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from playground import access, services
from playground.api.asking import IDEMPOTENCY_KEY, checked, idempotency_key, person
from playground.api.uploads import AddressesOutput, addresses_json
from playground.library_serializers import AwaitedFileImportOutput, FileImportInput, FileImportOutput
from playground.models import FileImport


class FileImportList(APIView):
    @extend_schema(
        operation_id="imports_create",
        request=FileImportInput,
        responses={202: AwaitedFileImportOutput},
        parameters=[IDEMPOTENCY_KEY],
    )
    def post(self, request: Request) -> Response:
        """Announce an export (zip or JSON) of any size. Send its bytes to `url` or its parts to theirs, then start it.

        What is small may go to `prompts/import` in one call instead.
        """
        given = checked(FileImportInput, request)
        into = given.pop("prompt", None)
        announced = services.announce_import(
            account=person(request),
            into=access.prompt_for(request.user, into, access.CHANGE) if into else None,
            file_format=given.pop("format"),
            idempotency_key=idempotency_key(request),
            **given,
        )
        addresses = announced.addresses
        where = AddressesOutput(addresses_json(addresses)).data if addresses else {}
        return accepted(announced.file_import, **where)


class FileImportDetail(APIView):
    @extend_schema(operation_id="imports_read", responses=AwaitedFileImportOutput)
    def get(self, request: Request, import_id: uuid.UUID) -> Response:
        """How far an import of mine is; while it is `pending`, fresh addresses for what has not arrived."""
        row = access.file_import_for(request.user, import_id)
        shown: dict[str, Any] = dict(FileImportOutput(row).data)
        if row.takes_bytes(timezone.now()):
            shown |= AddressesOutput(addresses_json(services.addresses_of(row))).data
        return Response(shown)

    @extend_schema(operation_id="imports_cancel", request=None, responses={204: None})
    def delete(self, request: Request, import_id: uuid.UUID) -> Response:
        """End an import of mine; nothing of it is kept. Twice is no error; 409 once its versions are there."""
        services.cancel_import(file_import=access.file_import_for(request.user, import_id))
        return Response(status=204)


class FileImportStart(APIView):
    @extend_schema(operation_id="imports_start", request=None, responses={200: FileImportOutput, 202: FileImportOutput})
    def post(self, request: Request, import_id: uuid.UUID) -> Response:
        """The bytes are sent: take them in. 202 while that goes on; calling it again does no harm."""
        row = services.start_import(file_import=access.file_import_for(request.user, import_id))
        if row.status in (FileImport.Status.DONE, FileImport.Status.FAILED):
            return Response(FileImportOutput(row).data)
        return accepted(row)


def accepted(row: FileImport, **more: Any) -> Response:
    """202, and where to ask how far it is."""
    place = reverse("api-import", args=[row.pk])
    return Response({**FileImportOutput(row).data, **more}, status=202, headers={"Location": place})
