from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import User
from core.errors import NotFound
from inference_client import catalogue
from playground import access, freezing, proofs, snippets, targets, wire
from playground.api.asking import POINTER, checked, person, query_json
from playground.models import Version

LANGUAGE = OpenApiParameter(
    "language", OpenApiTypes.STR, OpenApiParameter.PATH, enum=[*snippets.LANGUAGES, snippets.OWN_API]
)


class SnippetInput(serializers.Serializer[Any]):
    variables = serializers.JSONField(required=False, default=dict, help_text="Values by variable name.")
    stream = serializers.BooleanField(default=True, help_text="False asks for the whole answer at once.")
    fill = serializers.BooleanField(default=True, help_text="False leaves every variable as `{{name}}`.")


class NoteOutput(serializers.Serializer[Any]):
    field = serializers.CharField(help_text="As it is named on the wire.")
    message = serializers.CharField()
    refused = serializers.BooleanField(help_text="Whether the target would refuse the request for it.")


class ProvenRunOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    queued_at = serializers.DateTimeField()
    request_sha256 = serializers.SerializerMethodField()

    def get_request_sha256(self, run: Any) -> str:
        return bytes(run.request_sha256).hex()


class ProvenSnippetOutput(serializers.Serializer[Any]):
    text = serializers.CharField()
    request_sha256 = serializers.CharField(help_text="Hex SHA-256 of the canonical form (RFC 8785) of what it sends.")
    notes = NoteOutput(many=True)
    last_run = ProvenRunOutput(allow_null=True, help_text="Your last run of this version.")
    equal = serializers.BooleanField(allow_null=True, help_text="Whether that run sent the same request.")
    differences = serializers.ListField(
        child=serializers.CharField(), help_text="Fields in which the two requests differ."
    )


class Snippet(APIView):
    @extend_schema(
        operation_id="versions_snippet",
        parameters=[
            POINTER,
            LANGUAGE,
            OpenApiParameter("variables", OpenApiTypes.STR, description="JSON object of values to fill in."),
            OpenApiParameter("stream", OpenApiTypes.BOOL, description="Default true: the request that a run sends."),
            OpenApiParameter("fill", OpenApiTypes.BOOL, description="Default true; false leaves every `{{name}}`."),
        ],
        responses={(200, "text/plain"): OpenApiTypes.STR},
    )
    def get(self, request: Request, prompt_id: uuid.UUID, pointer: str, language: str) -> HttpResponse:
        """The version as a call from your own code. Variables without a value stay as `{{name}}`."""
        version = _version(request, prompt_id, pointer, language)
        call = _Call(
            person(request),
            version,
            query_json(request, "variables"),
            stream=request.query_params.get("stream", "true") != "false",
            fill=request.query_params.get("fill", "true") != "false",
        )
        # Content negotiation is not asked: a snippet is plain text whatever the caller accepts.
        return HttpResponse(call.text(language), content_type="text/plain; charset=utf-8")

    @extend_schema(
        operation_id="versions_snippet_proven",
        parameters=[POINTER, LANGUAGE],
        request=SnippetInput,
        responses=ProvenSnippetOutput,
    )
    def post(self, request: Request, prompt_id: uuid.UUID, pointer: str, language: str) -> Response:
        """The same for values of any length, with the hash of its request beside that of your last run.

        Changes nothing. `notes` say what the target would refuse or what travels in another way.
        """
        version = _version(request, prompt_id, pointer, language)
        given = checked(SnippetInput, request)
        call = _Call(person(request), version, given["variables"], stream=given["stream"], fill=given["fill"])
        proof = proofs.prove(person(request), version, call.sent(language))
        answer = {
            "text": call.text(language),
            "request_sha256": proof.sha256,
            "notes": call.notes(language),
            "last_run": proof.run,
            "equal": proof.is_equal,
            "differences": proof.differences,
        }
        return Response(ProvenSnippetOutput(answer).data)


def _version(request: Request, prompt_id: uuid.UUID, pointer: str, language: str) -> Version:
    """Raises NotFound, also for a language that there is not."""
    version = access.version_of(access.prompt_for(request.user, prompt_id), pointer)
    if language not in snippets.LANGUAGES and language != snippets.OWN_API:
        raise NotFound
    return version


class _Call:
    """A version with values, as a call in any language. Raises InvalidInput for what cannot be a value."""

    def __init__(self, caller: User, version: Version, variables: object, *, stream: bool, fill: bool) -> None:
        spec = freezing.thaw(version)
        self._caller = caller
        self._version = version
        self._stream = stream
        self._values = wire.variable_values(variables)
        self._body = wire.build(spec, wire.complete_values(spec, self._values) if fill else {}, stream=stream)
        self._api_version = wire.api_version(spec)

    def text(self, language: str) -> str:
        if language == snippets.OWN_API:
            return snippets.own_api.render(
                self._version.prompt_id,
                self._pointer(),
                self._values,
                site_url=settings.PUBLIC_URL,
                stream=self._stream,
            )
        render = snippets.LANGUAGES[language]
        address = catalogue.address_of(self._caller, str(self._body["model"]))
        return render(self._body, base_url=address, api_version=self._api_version)

    def sent(self, language: str) -> dict[str, Any]:
        """The request as the model server gets it: a run is always streamed, a batch never."""
        if language == snippets.OWN_API:
            return {**self._body, "stream": True}
        return {name: value for name, value in self._body.items() if language != "batch" or name != "stream"}

    def notes(self, language: str) -> list[targets.Misfit]:
        capabilities = catalogue.capabilities_of(str(self._body["model"]))
        found = targets.misfits(self._body, api_version=self._api_version, capabilities=capabilities)
        return [*found, *targets.sdk_notes(self._body, language)]

    def _pointer(self) -> str:
        """A label that points at the version, so that the caller follows it when it moves; else the number."""
        label = self._version.labels.order_by("name").values_list("name", flat=True).first()
        return str(label or self._version.number)
