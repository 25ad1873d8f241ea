from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import User
from core.errors import InvalidInput, NotFound
from core.paging import NewestFirst
from inference_client import catalogue
from playground import access, overrides, services, wire
from playground.api.asking import IDEMPOTENCY_KEY, checked, idempotency_key, person
from playground.comparison_serializers import (
    AffectedRunsOutput,
    ColumnAnswersOutput,
    ColumnChoiceInput,
    ComparisonInput,
    ComparisonListOutput,
    ComparisonOutput,
    comparison_answer,
)
from playground.models import Comparison, Prompt, VersionRun
from playground.services.comparisons import Column


class ComparisonList(APIView):
    @extend_schema(
        operation_id="comparisons_list",
        parameters=[OpenApiParameter("cursor", OpenApiTypes.UUID), OpenApiParameter("limit", OpenApiTypes.INT)],
        responses=ComparisonListOutput(many=True),
    )
    def get(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """My comparisons of a prompt, newest first, without their runs."""
        prompt = access.prompt_for(request.user, prompt_id)
        pages = NewestFirst()
        rows = pages.paginate_queryset(Comparison.objects.visible_to(person(request)).filter(prompt=prompt), request)
        return pages.get_paginated_response(ComparisonListOutput(rows, many=True).data)

    @extend_schema(
        operation_id="comparisons_create",
        request=ComparisonInput,
        responses={201: ComparisonOutput},
        parameters=[IDEMPOTENCY_KEY],
    )
    def post(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """Run two to four columns side by side: versions, models or parameters, on one set of values.

        All the runs are queued by this one call. Follow them at `comparisons/{id}`, each also at `runs/{id}/events`.
        """
        prompt = access.prompt_for(request.user, prompt_id, access.RUN)
        given = checked(ComparisonInput, request)
        comparison = services.start_comparison(
            account=person(request),
            prompt=prompt,
            columns=[_column(person(request), prompt, index, each) for index, each in enumerate(given["columns"])],
            values=wire.variable_values(given["variables"]),
            repetitions=given["repetitions"],
            idempotency_key=idempotency_key(request),
        )
        return Response(_answer(comparison), status=201)


def _column(account: User, prompt: Prompt, index: int, given: dict[str, Any]) -> Column:
    """Raises InvalidInput naming the field of the column."""
    field = f"columns.{index}"
    asked = given["version"]
    if not isinstance(asked, int | str) or isinstance(asked, bool):
        raise InvalidInput("Say which version: a number, a label or a branch.", field=f"{field}.version")
    try:
        version = access.version_of(prompt, asked)
    except NotFound as error:
        raise InvalidInput("This prompt has no such version.", field=f"{field}.version") from error
    try:
        catalogue.refuse_unknown(account, given["model"] or version.model)
    except InvalidInput as error:
        raise InvalidInput(error.message, code=error.code, field=f"{field}.model", data=error.data) from error
    parameters = overrides.checked(given["parameters"], field=f"{field}.parameters")
    return Column(version=version, model=given["model"] or None, parameters=parameters, asked=str(asked))


def _answer(comparison: Comparison) -> dict[str, Any]:
    return comparison_answer(comparison, VersionRun.objects.newest_of(comparison).with_answers_measured())


class ComparisonDetail(APIView):
    @extend_schema(operation_id="comparisons_read", responses=ComparisonOutput)
    def get(self, request: Request, comparison_id: uuid.UUID) -> Response:
        """One of my comparisons: each run's state and figures, without its texts. Cheap enough to be polled."""
        return Response(_answer(access.comparison_for(request.user, comparison_id)))


class ComparisonAnswers(APIView):
    @extend_schema(
        operation_id="comparisons_answers",
        parameters=[OpenApiParameter("repetition", OpenApiTypes.INT, description="From 0; default 0.")],
        responses=ColumnAnswersOutput,
    )
    def get(self, request: Request, comparison_id: uuid.UUID) -> Response:
        """The answers of one repetition, a column each, as far as they have arrived."""
        comparison = access.comparison_for(request.user, comparison_id)
        asked = request.query_params.get("repetition", "0")
        if not asked.isascii() or not asked.isdecimal() or int(asked[:9]) >= comparison.repetitions:
            raise InvalidInput(f"A repetition is 0 to {comparison.repetitions - 1}.", field="repetition")
        rows = VersionRun.objects.newest_of(comparison).filter(repetition=int(asked)).with_outputs()
        return Response(ColumnAnswersOutput({"results": rows}).data)


class ComparisonCancel(APIView):
    @extend_schema(operation_id="comparisons_cancel", request=ColumnChoiceInput, responses={202: AffectedRunsOutput})
    def post(self, request: Request, comparison_id: uuid.UUID) -> Response:
        """Stop the runs of a comparison, or of one column. Queued ones end at once, the others within a second."""
        comparison = access.comparison_for(request.user, comparison_id)
        column = checked(ColumnChoiceInput, request)["column"]
        count = services.cancel_comparison(comparison=comparison, column=column)
        return Response(AffectedRunsOutput({"count": count}).data, status=202)


class ComparisonRetry(APIView):
    @extend_schema(operation_id="comparisons_retry", request=ColumnChoiceInput, responses={202: AffectedRunsOutput})
    def post(self, request: Request, comparison_id: uuid.UUID) -> Response:
        """Run again what failed or was stopped, in all columns or one. Called twice, it makes one set of runs."""
        comparison = access.comparison_for(request.user, comparison_id, access.RUN)
        column = checked(ColumnChoiceInput, request)["column"]
        count = services.retry_comparison(comparison=comparison, column=column)
        return Response(AffectedRunsOutput({"count": count}).data, status=202)
