from __future__ import annotations

import uuid

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from inference_client import catalogue
from playground import access, services, wire
from playground import spec as specs
from playground.api.asking import IDEMPOTENCY_KEY, POINTER, checked, idempotency_key, person
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
