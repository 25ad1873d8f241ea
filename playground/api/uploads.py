"""Large texts on their way in: announced here, sent to the store directly, then named in a spec by upload id."""

from __future__ import annotations

import uuid
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from playground import access, services
from playground.api.asking import IDEMPOTENCY_KEY, checked, idempotency_key, person
from playground.bodies import objects, parts
from playground.models import MAX_UPLOAD_BYTES, Upload

_WHY = {
    "expired": "The bytes did not arrive in time.",
    "not_uploaded": "The bytes were gone before they were read.",
    "wrong_length": "What arrived has another length than was announced.",
    "wrong_hash": "What arrived is not what was announced: its SHA-256 differs.",
    "invalid_utf8": "This is not UTF-8 text: byte {position} belongs to no character.",
    "cancelled": "It was cancelled.",
    "gave_up": "The bytes could not be stored for a whole day.",
}


class UploadInput(serializers.Serializer[Any]):
    size = serializers.IntegerField(min_value=0, max_value=2**62, help_text="Of the text in UTF-8, in bytes.")
    sha256 = serializers.CharField(max_length=64, help_text="Of those bytes, 64 hex digits.")
    near = serializers.CharField(
        max_length=64, required=False, allow_null=True, help_text="SHA-256 of the text it was edited from: saves space."
    )
    part_sha256 = serializers.ListField(
        child=serializers.CharField(max_length=64),
        max_length=parts.count(MAX_UPLOAD_BYTES),
        required=False,
        allow_null=True,
        help_text=(
            f"SHA-256 of each {parts.PART_BYTES:,} bytes, the last part being what remains. With them the text can be "
            "sent in parts, and only what is missing is sent after a cut."
        ),
    )


class PartOutput(serializers.Serializer[Any]):
    number = serializers.IntegerField(help_text="From 1.")
    offset = serializers.IntegerField(help_text="Where the part begins in the text, in bytes.")
    size = serializers.IntegerField()
    received = serializers.BooleanField(help_text="Whether it is there. If not, PUT it to `url`.")
    url = serializers.CharField(required=False)
    method = serializers.CharField(required=False)
    headers = serializers.DictField(child=serializers.CharField(), required=False)


class AddressesOutput(serializers.Serializer[Any]):
    url = serializers.CharField(help_text="Where the bytes go. Valid until `expires_at`.")
    method = serializers.CharField()
    headers = serializers.DictField(child=serializers.CharField(), help_text="To be sent with the bytes, unchanged.")
    expires_at = serializers.DateTimeField(help_text="Of the addresses. `GET uploads/{id}` answers fresh ones.")
    parts = PartOutput(many=True, required=False, help_text="If `part_sha256` was given: instead of one PUT.")


class StartedUploadOutput(AddressesOutput):
    id = serializers.UUIDField()


class UploadErrorOutput(serializers.Serializer[Any]):
    code = serializers.CharField(help_text=", ".join(f"`{code}`" for code in _WHY))
    message = serializers.CharField()
    position = serializers.IntegerField(required=False, help_text="With `invalid_utf8`: the first such byte, from 0.")


class UploadOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    status = serializers.CharField(help_text="`pending`, `processing`, `complete` or `failed`.")
    body = serializers.CharField(allow_null=True, help_text="SHA-256 of the text, when complete.")
    error = UploadErrorOutput(required=False, help_text="When failed.")


class AwaitedUploadOutput(UploadOutput):
    url = serializers.CharField(required=False, help_text="While `pending`: a fresh address for the bytes.")
    method = serializers.CharField(required=False)
    headers = serializers.DictField(child=serializers.CharField(), required=False)
    expires_at = serializers.DateTimeField(required=False, help_text="Of the addresses.")
    parts = PartOutput(many=True, required=False, help_text="While `pending`, of an upload in parts.")


class UploadList(APIView):
    @extend_schema(
        operation_id="uploads_create",
        request=UploadInput,
        responses={201: StartedUploadOutput},
        parameters=[IDEMPOTENCY_KEY],
    )
    def post(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """Announce a text of up to 64 MiB. Send its bytes to `url` or its parts to theirs, then complete it."""
        prompt = access.prompt_for(request.user, prompt_id, access.CHANGE)
        started = services.start_upload(
            account=person(request),
            prompt=prompt,
            idempotency_key=idempotency_key(request),
            **checked(UploadInput, request),
        )
        body = {"id": started.upload.pk, **addresses_json(started.addresses)}
        return Response(StartedUploadOutput(body).data, status=201)


class UploadDetail(APIView):
    @extend_schema(operation_id="uploads_read", responses=AwaitedUploadOutput)
    def get(self, request: Request, upload_id: uuid.UUID) -> Response:
        """How far an upload of mine is; while it is `pending`, fresh addresses for what has not arrived."""
        upload = access.upload_for(request.user, upload_id)
        shown = _as_json(upload)
        if upload.takes_bytes(timezone.now()):
            shown |= AddressesOutput(addresses_json(services.addresses_of(upload))).data
        return Response(shown)

    @extend_schema(operation_id="uploads_cancel", request=None, responses={204: None})
    def delete(self, request: Request, upload_id: uuid.UUID) -> Response:
        """End an upload of mine that I do not want: its bytes go, and it counts against no limit. Twice is no error.

        409 while its bytes are being checked (`upload_processing`), and once a version has its text
        (`upload_in_version`).
        """
        services.cancel_upload(upload=access.upload_for(request.user, upload_id))
        return Response(status=204)


def addresses_json(addresses: services.Addresses) -> dict[str, Any]:
    """Where the bytes go, as an announcement answers it."""
    shown: dict[str, Any] = {**_put(addresses.put), "expires_at": addresses.expires_at}
    if addresses.parts:
        shown["parts"] = [
            {
                "number": each.part.number,
                "offset": each.part.offset,
                "size": each.part.size,
                "received": each.put is None,
                **(_put(each.put) if each.put else {}),
            }
            for each in addresses.parts
        ]
    return shown


def _put(put: objects.SignedPut) -> dict[str, Any]:
    return {"url": put.url, "method": "PUT", "headers": put.headers}


class UploadComplete(APIView):
    @extend_schema(operation_id="uploads_complete", request=None, responses={200: UploadOutput, 202: UploadOutput})
    def post(self, request: Request, upload_id: uuid.UUID) -> Response:
        """The bytes are sent: check and store them. 202 while that goes on; calling it again does no harm."""
        upload = services.complete_upload(upload=access.upload_for(request.user, upload_id))
        ended = upload.status in (Upload.Status.COMPLETE, Upload.Status.FAILED)
        return Response(_as_json(upload), status=200 if ended else 202)


def _as_json(upload: Upload) -> dict[str, Any]:
    body = bytes(upload.body_sha256).hex() if upload.body_sha256 else None
    shown: dict[str, Any] = {"id": str(upload.pk), "status": upload.status, "body": body}
    if upload.error_code:
        message = _WHY.get(upload.error_code, "It failed.").format(position=upload.error_position)
        shown["error"] = {"code": upload.error_code, "message": message}
        if upload.error_position is not None:
            shown["error"]["position"] = upload.error_position
    return shown
