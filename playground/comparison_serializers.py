"""The JSON of comparisons: what calls take, and what they answer."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from inference_client import events
from inference_client.models import RunStatus
from inference_client.serializers import RunErrorSerializer, TimingsSerializer, UsageSerializer
from playground.models import MAX_COLUMNS, MAX_REPETITIONS, MIN_COLUMNS, Comparison, VersionRun
from playground.serializers import PARAMETERS_HELP


class ColumnInput(serializers.Serializer[Any]):
    version = serializers.JSONField(help_text="A number, `latest`, a label or a branch.")
    model = serializers.CharField(required=False, allow_null=True, default=None, max_length=200)
    parameters = serializers.JSONField(required=False, default=dict, help_text=PARAMETERS_HELP)


class ComparisonInput(serializers.Serializer[Any]):
    columns: serializers.ListSerializer[Any] = serializers.ListSerializer(
        child=ColumnInput(), min_length=MIN_COLUMNS, max_length=MAX_COLUMNS
    )
    variables = serializers.JSONField(
        required=False, default=dict, help_text="Values by variable name, for all columns."
    )
    repetitions = serializers.IntegerField(default=1, min_value=1, max_value=MAX_REPETITIONS)


class ColumnChoiceInput(serializers.Serializer[Any]):
    column = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=0, help_text="Only this one, from 0; default: all."
    )


class RunInColumnOutput(serializers.Serializer[Any]):
    """A run at its place, without its texts."""

    id = serializers.UUIDField(source="run_id")
    repetition = serializers.IntegerField(help_text="From 0.")
    attempt = serializers.IntegerField(help_text="From 1; grows when what failed is run again.")
    status = serializers.ChoiceField(source="run.status", choices=RunStatus.choices)
    model = serializers.CharField(source="run.model")
    error = serializers.SerializerMethodField()
    stop_reason = serializers.SerializerMethodField()
    usage = UsageSerializer(source="run")
    timings = TimingsSerializer(source="run")
    output_chars = serializers.IntegerField(allow_null=True, help_text="Code points; null for more than about 256,000.")
    output_digest = serializers.CharField(help_text="Equal for equal answers of ended runs.")

    @extend_schema_field(RunErrorSerializer(allow_null=True))
    def get_error(self, row: VersionRun) -> dict[str, Any] | None:
        return dict(RunErrorSerializer(row.run).data) if row.run.error_code else None

    def get_stop_reason(self, row: VersionRun) -> str | None:
        return row.run.stop_reason or None


class ComparisonColumnOutput(serializers.Serializer[Any]):
    version = serializers.IntegerField(help_text="Number of the version.")
    model = serializers.CharField(allow_null=True, help_text="null: that of the version.")
    parameters = serializers.JSONField(help_text="As they were given.")


class ColumnWithRunsOutput(ComparisonColumnOutput):
    runs = RunInColumnOutput(many=True, help_text="The newest attempt of each repetition.")


class ComparisonListOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    prompt = serializers.UUIDField(source="prompt_id")
    created_at = serializers.DateTimeField()
    repetitions = serializers.IntegerField()
    columns = ComparisonColumnOutput(many=True)


class ComparisonOutput(ComparisonListOutput):
    columns = ColumnWithRunsOutput(many=True)
    variables = serializers.DictField(child=serializers.CharField(), help_text="The values that were given.")
    counts = serializers.DictField(child=serializers.IntegerField(), help_text="Runs by status.")


class ColumnAnswerOutput(serializers.Serializer[Any]):
    column = serializers.IntegerField()
    id = serializers.UUIDField(source="run_id")
    status = serializers.CharField(source="run.status")
    output = serializers.SerializerMethodField(help_text="What has arrived so far while it is running.")

    def get_output(self, row: VersionRun) -> str:
        return row.run.output if row.run.is_terminal else events.read_text(row.run_id)


class ColumnAnswersOutput(serializers.Serializer[Any]):
    results = ColumnAnswerOutput(many=True)


class AffectedRunsOutput(serializers.Serializer[Any]):
    count = serializers.IntegerField(help_text="Runs that this call was about.")


def comparison_answer(comparison: Comparison, rows: Iterable[VersionRun]) -> dict[str, Any]:
    """The answer about a comparison and its `rows`, ordered by column and repetition."""
    columns: list[dict[str, Any]] = [{**column, "runs": []} for column in comparison.columns]
    counts: Counter[str] = Counter()
    for row in rows:
        columns[row.column or 0]["runs"].append(row)
        counts[row.run.status] += 1
    told = {
        "id": comparison.pk,
        "prompt_id": comparison.prompt_id,
        "created_at": comparison.created_at,
        "repetitions": comparison.repetitions,
        "columns": columns,
        "variables": json.loads(comparison.variables),
        "counts": counts,
    }
    return dict(ComparisonOutput(told).data)
