from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.paging import NewestFirst
from inference_client.models import Provider, RunKind, RunStatus
from inference_client.serializers import RunListSerializer
from playground.api.asking import person
from playground.run_history import ALL_KINDS, ListedRun, RunFilter, listed


class RunPromptOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="prompt_id")
    name = serializers.CharField(source="prompt.name")
    version = serializers.IntegerField(source="number", help_text="The number of the version that was run.")


class ListedRunOutput(RunListSerializer):
    prompt = serializers.SerializerMethodField(help_text="What was run; null for a run of no version.")
    comparison = serializers.SerializerMethodField(help_text="The comparison that it is part of.")

    @extend_schema_field(RunPromptOutput(allow_null=True))
    def get_prompt(self, run: Any) -> Any:
        version = self._of(run).version
        return None if version is None else RunPromptOutput(version).data

    @extend_schema_field(OpenApiTypes.UUID)
    def get_comparison(self, run: Any) -> Any:
        return self._of(run).comparison_id

    def _of(self, run: Any) -> ListedRun:
        row: ListedRun = self.context["rows"][run.pk]
        return row


def _parameter(name: str, kind: Any = OpenApiTypes.STR, **options: Any) -> OpenApiParameter:
    return OpenApiParameter(name, kind, **options)


class RunHistory(APIView):
    pagination_class = NewestFirst

    @extend_schema(
        operation_id="runs_list",
        parameters=[
            _parameter("status", enum=RunStatus.values),
            _parameter("model"),
            _parameter("provider", enum=Provider.values),
            _parameter("kind", enum=[*RunKind.values, ALL_KINDS], description="Default: all but those of batches."),
            _parameter("prompt", OpenApiTypes.UUID),
            _parameter("version", OpenApiTypes.INT, description="A version of `prompt`, by its number."),
            _parameter("author", description="`me` or an id. Everybody sees their own runs, and nobody else's."),
            _parameter("since", description="A date, or a moment with its zone: the first that counts."),
            _parameter("until", description="A date, which counts as a whole, or the first moment that does not."),
            _parameter("cursor", OpenApiTypes.UUID, description="The id after which to continue; `next` has it."),
            _parameter("limit", OpenApiTypes.INT),
        ],
        responses=ListedRunOutput(many=True),
    )
    def get(self, request: Request) -> Response:
        """My runs, newest first, without requests and answers: all but those of batches, unless `kind` says more."""
        found = RunFilter.read(request.query_params).select(person(request))
        pages = NewestFirst()
        runs = pages.paginate_queryset(found, request)
        rows = {row.run.pk: row for row in listed(runs)}
        return pages.get_paginated_response(ListedRunOutput(runs, many=True, context={"rows": rows}).data)
