"""Batches: started, listed, followed, steered."""

from __future__ import annotations

import uuid

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from batches.access import batch_for, controlled_batch_for, stoppable_batch_for
from batches.api.asked import plan_asked
from batches.estimating import estimate
from batches.models import Batch, BatchState
from batches.presenting import batch_json, batch_list_json
from batches.serializers import BatchInput, BatchListOutput, BatchOutput, EstimateOutput, RetryInput
from batches.services import batches
from core.errors import InvalidInput
from core.paging import NewestFirst
from playground import access
from playground.api.asking import IDEMPOTENCY_KEY, checked, idempotency_key, person


class BatchList(APIView):
    @extend_schema(
        operation_id="batches_list",
        parameters=[
            OpenApiParameter("state", OpenApiTypes.STR, enum=BatchState.values),
            OpenApiParameter("cursor", OpenApiTypes.UUID),
            OpenApiParameter("limit", OpenApiTypes.INT),
        ],
        responses=BatchListOutput,
    )
    def get(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """The batches of a prompt, newest first, without their summaries."""
        prompt = access.prompt_for(request.user, prompt_id, access.RUN)
        found = Batch.objects.there().filter(prompt=prompt).select_related("prompt", "maker", "rows", "dataset")
        state = request.query_params.get("state")
        if state is not None:
            if state not in BatchState.values:
                raise InvalidInput(f"A state is one of {', '.join(BatchState.values)}.", field="state")
            found = found.filter(state=state)
        pages = NewestFirst()
        rows = pages.paginate_queryset(found, request)
        return pages.get_paginated_response(batch_list_json(rows, prompt, person(request)))

    @extend_schema(
        operation_id="batches_create",
        request=BatchInput,
        responses={201: BatchOutput},
        parameters=[IDEMPOTENCY_KEY],
    )
    def post(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """Run test cases through versions. Follow it at `batches/{id}`."""
        prompt = access.prompt_for(request.user, prompt_id, access.RUN)
        made = batches.start_batch(
            account=person(request),
            plan=plan_asked(request, prompt),
            idempotency_key=idempotency_key(request),
        )
        return Response(batch_json(made, person(request)), status=201)


class BatchEstimate(APIView):
    @extend_schema(operation_id="batches_estimate", request=BatchInput, responses=EstimateOutput)
    def post(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """What a batch would cost in runs, tokens, money and time, as far as that can be known. Starts nothing."""
        prompt = access.prompt_for(request.user, prompt_id, access.RUN)
        return Response(estimate(account=person(request), plan=plan_asked(request, prompt)))


class BatchDetail(APIView):
    @extend_schema(operation_id="batches_read", responses=BatchOutput)
    def get(self, request: Request, batch_id: uuid.UUID) -> Response:
        """How far a batch is and what it has come to."""
        return Response(batch_json(batch_for(request.user, batch_id), person(request)))

    @extend_schema(operation_id="batches_delete", request=None, responses={204: None})
    def delete(self, request: Request, batch_id: uuid.UUID) -> Response:
        """Remove a batch that is over, with its runs. It is gone at once, however many there are."""
        batches.delete_batch(batch=stoppable_batch_for(request.user, batch_id))
        return Response(status=204)


class BatchPause(APIView):
    @extend_schema(operation_id="batches_pause", request=None, responses=BatchOutput)
    def post(self, request: Request, batch_id: uuid.UUID) -> Response:
        """Send nothing more; what is on its way ends."""
        batch = batches.pause_batch(batch=controlled_batch_for(request.user, batch_id))
        return Response(batch_json(batch, person(request)))


class BatchResume(APIView):
    @extend_schema(operation_id="batches_resume", request=None, responses=BatchOutput)
    def post(self, request: Request, batch_id: uuid.UUID) -> Response:
        """Go on where it paused."""
        batch = batches.resume_batch(batch=controlled_batch_for(request.user, batch_id))
        return Response(batch_json(batch, person(request)))


class BatchCancel(APIView):
    @extend_schema(operation_id="batches_cancel", request=None, responses=BatchOutput)
    def post(self, request: Request, batch_id: uuid.UUID) -> Response:
        """Stop for good, with what is on its way. Results are kept."""
        batch = batches.cancel_batch(batch=stoppable_batch_for(request.user, batch_id))
        return Response(batch_json(batch, person(request)))


class BatchRetry(APIView):
    @extend_schema(operation_id="batches_retry", request=RetryInput, responses=BatchOutput)
    def post(self, request: Request, batch_id: uuid.UUID) -> Response:
        """Send what could not be done again."""
        batch = controlled_batch_for(request.user, batch_id)
        batch = batches.retry_items(batch=batch, statuses=checked(RetryInput, request)["statuses"])
        return Response(batch_json(batch, person(request)))
