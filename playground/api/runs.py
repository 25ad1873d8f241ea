from __future__ import annotations

import uuid
from typing import ClassVar

from django.conf import settings
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.errors import NotFound
from inference_client import catalogue
from playground import access, freezing, services, snippets, wire
from playground import spec as specs
from playground.api.asking import IDEMPOTENCY_KEY, POINTER, checked, idempotency_key, person, query_json
from playground.serializers import QueuedRunOutput, RunInput


class RunList(APIView):
    @extend_schema(
        operation_id="versions_run",
        request=RunInput,
        responses={201: QueuedRunOutput},
        parameters=[POINTER, IDEMPOTENCY_KEY],
    )
    def post(self, request: Request, prompt_id: uuid.UUID, pointer: str) -> Response:
        """Send a version to a model once. Follow it at `runs/{id}/events`."""
        prompt = access.prompt_for(request.user, prompt_id, access.RUN)
        version = access.version_of(prompt, pointer)
        given = checked(RunInput, request)
        model = given["model"] or version.model
        catalogue.refuse_unknown(model)
        run = services.run_version(
            account=person(request),
            version=version,
            values=wire.variable_values(given["variables"]),
            model=given["model"],
            turns=specs.parse_turns(given.get("messages", [])),
            idempotency_key=idempotency_key(request),
        )
        return Response(QueuedRunOutput({"id": run.pk, "status": run.status}).data, status=201)


class Snippet(APIView):
    # Content negotiation is not asked: a snippet is plain text whatever the caller accepts.
    _plain: ClassVar[str] = "text/plain; charset=utf-8"

    @extend_schema(
        operation_id="versions_snippet",
        parameters=[
            POINTER,
            OpenApiParameter("language", OpenApiTypes.STR, OpenApiParameter.PATH, enum=list(snippets.LANGUAGES)),
            OpenApiParameter("variables", OpenApiTypes.STR, description="JSON object of values to fill in."),
            OpenApiParameter("stream", OpenApiTypes.BOOL, description="Default true: the request that a run sends."),
        ],
        responses={(200, "text/plain"): OpenApiTypes.STR},
    )
    def get(self, request: Request, prompt_id: uuid.UUID, pointer: str, language: str) -> HttpResponse:
        """The version as a call from your own code. Variables without a value stay as `{{name}}`."""
        prompt = access.prompt_for(request.user, prompt_id)
        version = access.version_of(prompt, pointer)
        render = snippets.LANGUAGES.get(language)
        if render is None:
            raise NotFound
        spec = freezing.thaw(version)
        values = wire.variable_values(query_json(request, "variables"))
        stream = request.query_params.get("stream", "true") != "false"
        body = wire.build(spec, wire.complete_values(spec, values), stream=stream)
        text = render(body, base_url=settings.INFERENCE_PUBLIC_URL, api_version=wire.api_version(spec))
        return HttpResponse(text, content_type=self._plain)
