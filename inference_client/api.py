"""The REST calls on runs and models. Parse, call, answer."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Sequence
from typing import Any

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import User
from core.errors import InferenceUnavailable, NotFound
from core.prepared import Prepared
from inference_client import catalogue, services
from inference_client.following import NOT_FOLLOWED, as_event_id
from inference_client.guarding import guard
from inference_client.models import Run
from inference_client.serializers import (
    ModelListSerializer,
    RunSerializer,
    RunStateSerializer,
)
from inference_client.streaming import stream_events, take_slot

#: Of who follows a run; asked once a run at the least.
_FOLLOWED = Prepared(
    lambda account_id, run_id: Run.objects.visible_to(User(pk=account_id)).defer(*NOT_FOLLOWED).filter(pk=run_id)
)


def _run_of(request: Request, run_id: uuid.UUID, without: Sequence[str] = ()) -> Run:
    """Raises NotFound, the same for an absent run and for somebody else's. `without`: fields not to be read."""
    return _if_allowed(Run.objects.visible_to(request.user).defer(*without).filter(pk=run_id).first())


def _if_allowed(run: Run | None) -> Run:
    if run is None or not guard().ask(run.pk, run.account_id):
        raise NotFound
    return run


class RunDetail(APIView):
    @extend_schema(
        operation_id="runs_retrieve",
        parameters=[
            OpenApiParameter(
                "leave_out",
                OpenApiTypes.STR,
                enum=["request"],
                description="`wire_request` is null then: it may have 20 MB.",
            ),
            OpenApiParameter(
                "wire",
                OpenApiTypes.STR,
                enum=["text"],
                description="`wire_request` and `wire_response` are texts of JSON then, character for character: many "
                "a reader of JSON makes 1 of 1.0.",
            ),
        ],
        responses=RunSerializer,
    )
    def get(self, request: Request, run_id: uuid.UUID) -> Response:
        """One of my runs, with what it sent and received; `output` grows while it is running."""
        with_request = request.query_params.get("leave_out") != "request"
        run = _run_of(request, run_id, () if with_request else ("request", "wire_request"))
        as_text = request.query_params.get("wire") == "text"
        return Response(RunSerializer(run, context={"with_request": with_request, "as_text": as_text}).data)


class RunCancel(APIView):
    @extend_schema(operation_id="runs_cancel", request=None, responses={202: RunStateSerializer})
    def post(self, request: Request, run_id: uuid.UUID) -> Response:
        """Stop a run. A queued one ends at once, a running one within a second, with its text kept."""
        run = services.request_cancel(run=_run_of(request, run_id))
        return Response(RunStateSerializer(run).data, status=202)


class RunsCancelSerializer(serializers.Serializer[Any]):
    ids = serializers.ListField(child=serializers.UUIDField(), min_length=1, max_length=100)


class RunsCancelledSerializer(serializers.Serializer[Any]):
    results = RunStateSerializer(many=True)


class RunsCancel(APIView):
    @extend_schema(
        operation_id="runs_cancel_many", request=RunsCancelSerializer, responses={202: RunsCancelledSerializer}
    )
    def post(self, request: Request) -> Response:
        """Stop up to 100 of my runs, each as `runs/{id}/cancel` does. What is none of mine is not in the answer."""
        asked = RunsCancelSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        mine = Run.objects.visible_to(request.user).lightly().filter(pk__in=asked.validated_data["ids"])
        # From the end: a queued run is not to start just because one before it was stopped.
        found = [run for run in mine.order_by("-pk") if guard().ask(run.pk, run.account_id)]
        stopped = [services.request_cancel(run=run) for run in found]
        return Response(RunsCancelledSerializer({"results": stopped}).data, status=202)


class AnyAccept(BaseContentNegotiation):
    """EventSource accepts `text/event-stream` only, and an error answer is still JSON."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        del request
        return parsers[0]

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        del request, format_suffix
        return renderers[0], renderers[0].media_type


def event_stream(frames: AsyncIterator[bytes]) -> StreamingHttpResponse:
    """An answer of server-sent events that no proxy keeps or gathers."""
    response = StreamingHttpResponse(frames, content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response


class RunEvents(APIView):
    content_negotiation_class = AnyAccept

    @extend_schema(
        operation_id="runs_events",
        parameters=[
            OpenApiParameter("Last-Event-ID", OpenApiTypes.STR, OpenApiParameter.HEADER),
            OpenApiParameter("last_event_id", OpenApiTypes.STR, description="The same, for who cannot set headers."),
        ],
        responses={
            (200, "text/event-stream"): OpenApiResponse(
                OpenApiTypes.STR,
                description="Events `status`, `block` (type of a block that is not text), `text` (offset in code "
                "points, text), `reset` (all the text so far), and `done`, which is the last.",
            )
        },
    )
    def get(self, request: Request, run_id: uuid.UUID) -> StreamingHttpResponse:
        """Follow a run by server-sent events, from its beginning or from after `Last-Event-ID`."""
        run = _if_allowed(_FOLLOWED.first(account_id=request.user.pk, run_id=run_id))
        last = request.headers.get("Last-Event-ID") or request.query_params.get("last_event_id")
        slot = take_slot(run.account_id)
        frames = stream_events(run, last_event_id=as_event_id(last), slot=slot)
        return event_stream(frames)


class ModelList(APIView):
    @extend_schema(operation_id="models_list", responses=ModelListSerializer)
    def get(self, request: Request) -> Response:
        """The models that my runs can be sent to, of every provider that I reach.

        A provider that does not answer keeps its models here, marked: what it offered last.
        """
        if not isinstance(request.user, User):
            raise NotFound
        offer = catalogue.offer_to(request.user)
        if not offer.models:
            raise InferenceUnavailable
        return Response(ModelListSerializer({"results": offer.models, "providers": offer.providers}).data)
