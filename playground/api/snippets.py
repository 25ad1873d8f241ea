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

from core.errors import InferenceUnavailable, NotFound
from inference_client import catalogue
from playground import access, freezing, proofs, snippets, targets, wire
from playground.api.asking import POINTER, checked, person, query_json
from playground.models import Version

LANGUAGE = OpenApiParameter("language", OpenApiTypes.STR, OpenApiParameter.PATH, enum=list(snippets.LANGUAGES))


class SnippetInput(serializers.Serializer[Any]):
    variables = serializers.JSONField(required=False, default=dict, help_text="Values by variable name.")
    stream = serializers.BooleanField(default=True, help_text="False asks for the whole answer at once.")
    fill = serializers.BooleanField(default=True, help_text="False leaves every variable as `{{name}}`.")


class NoteOutput(serializers.Serializer[Any]):
    field = serializers.CharField(help_text="As it is named on the wire.")
    message = serializers.CharField()
    refused = serializers.BooleanField(help_text="Whether the target would refuse the request for it.")


class ComparedRunOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    queued_at = serializers.DateTimeField()
    request_sha256 = serializers.SerializerMethodField()

    def get_request_sha256(self, run: Any) -> str:
        return bytes(run.request_sha256).hex()


class ProvenSnippetOutput(serializers.Serializer[Any]):
    text = serializers.CharField()
    request_sha256 = serializers.CharField(help_text="Hex SHA-256 of the canonical form (RFC 8785) of what it sends.")
    notes = NoteOutput(many=True)
    last_run = ComparedRunOutput(allow_null=True, help_text="Your last run of this version.")
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
        body, api_version = _request(
            version,
            query_json(request, "variables"),
            stream=request.query_params.get("stream", "true") != "false",
            fill=request.query_params.get("fill", "true") != "false",
        )
        # Content negotiation is not asked: a snippet is plain text whatever the caller accepts.
        return HttpResponse(_text(language, body, api_version), content_type="text/plain; charset=utf-8")

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
        body, api_version = _request(version, given["variables"], stream=given["stream"], fill=given["fill"])
        sent = {name: value for name, value in body.items() if language != "batch" or name != "stream"}
        proof = proofs.prove(person(request), version, sent)
        notes = [
            *targets.misfits(body, api_version=api_version, capabilities=_capabilities(str(body["model"]))),
            *targets.sdk_notes(body, language),
        ]
        answer = {
            "text": _text(language, body, api_version),
            "request_sha256": proof.sha256,
            "notes": notes,
            "last_run": proof.run,
            "equal": proof.is_equal,
            "differences": proof.differences,
        }
        return Response(ProvenSnippetOutput(answer).data)


def _version(request: Request, prompt_id: uuid.UUID, pointer: str, language: str) -> Version:
    """Raises NotFound, also for a language that there is not."""
    version = access.version_of(access.prompt_for(request.user, prompt_id), pointer)
    if language not in snippets.LANGUAGES:
        raise NotFound
    return version


def _request(version: Version, variables: object, *, stream: bool, fill: bool) -> tuple[dict[str, Any], str]:
    """The body and the API version it is sent under."""
    spec = freezing.thaw(version)
    values = wire.variable_values(variables)
    filled = wire.complete_values(spec, values) if fill else {}
    return wire.build(spec, filled, stream=stream), wire.api_version(spec)


def _text(language: str, body: dict[str, Any], api_version: str) -> str:
    return snippets.LANGUAGES[language](body, base_url=settings.INFERENCE_PUBLIC_URL, api_version=api_version)


def _capabilities(model: str) -> object:
    try:
        return next((each.capabilities for each in catalogue.list_models() if each.id == model), None)
    except InferenceUnavailable:
        return None
