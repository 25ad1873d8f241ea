from __future__ import annotations

import uuid

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from inference_client import catalogue
from inference_client.api import AnyAccept, event_stream
from inference_client.awaiting import answer_of
from inference_client.models import Run
from inference_client.serializers import RunAnswerSerializer
from inference_client.streaming import stream_events, take_slot
from playground import access, overrides, services, wire
from playground import spec as specs
from playground.api.asking import IDEMPOTENCY_KEY, POINTER, checked, idempotency_key, person
from playground.serializers import QueuedRunOutput, RunInput


class RunList(APIView):
    content_negotiation_class = AnyAccept

    @extend_schema(
        operation_id="versions_run",
        request=RunInput,
        responses={
            200: RunAnswerSerializer,
            (200, "text/event-stream"): OpenApiTypes.STR,
            201: QueuedRunOutput,
        },
        parameters=[POINTER, IDEMPOTENCY_KEY],
    )
    def post(self, request: Request, prompt_id: uuid.UUID, pointer: str) -> HttpResponseBase:
        """Send a version, by its number, label or branch, to a model once.

        Answers at once with 201, and the run is followed at `runs/{id}/events`; with `stream`, by those events; with
        `wait_s`, by the run when it has ended (or as it is after that time: `status` tells), with 200 whatever came of
        it. `Location` names the run. A label means the version it points at when the call arrives.
        """
        prompt = access.prompt_for(request.user, prompt_id, access.RUN)
        version = access.version_of(prompt, pointer)
        given = checked(RunInput, request)
        model = given["model"] or version.model
        runs_at = catalogue.choose_provider(person(request), model, given["provider"])
        run = services.run_version(
            account=person(request),
            version=version,
            values=wire.variable_values(given["variables"]),
            model=given["model"],
            provider=given["provider"],
            runs_at=runs_at,
            turns=specs.parse_turns(given.get("messages", [])),
            parameters=overrides.checked(given["parameters"]),
            idempotency_key=idempotency_key(request),
            asked=pointer,
        )
        response = _answer(run, stream=given["stream"], wait_s=given["wait_s"])
        response["Location"] = reverse("api-run", args=[run.pk])
        return response


def _answer(run: Run, *, stream: bool, wait_s: float) -> HttpResponseBase:
    """Raises RateLimited for who holds too many open answers; the run is queued all the same, and its key finds it."""
    if not stream and not wait_s:
        return Response(QueuedRunOutput({"id": run.pk, "status": run.status}).data, status=201)
    slot = take_slot(run.account_id)
    if stream:
        return event_stream(stream_events(run, last_event_id=None, slot=slot))
    response = StreamingHttpResponse(answer_of(run, within_s=wait_s, slot=slot), content_type="application/json")
    response["Cache-Control"] = "no-store"
    return response
