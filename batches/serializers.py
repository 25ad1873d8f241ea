"""The shapes of the API's calls and answers about datasets and batches."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from batches.models import BatchState, DatasetFile, ItemStatus
from batches.rows import MOST_BYTES
from playground.api.uploads import PartOutput
from playground.bodies import parts

ROW_HELP = 'A row is {"values": {name: text or any JSON}, "expected"?: text or null}.'
CHECK_HELP = (
    "contains, not_contains {text, ignore_case?}; equals {text?, mode?: trimmed | exact}; regex {pattern, "
    "ignore_case?, negate?}; json; json_schema {schema?}; similarity {text?, threshold, method?: ratio | embedding}; "
    "model {question, model?}. Any may have a name. Texts are templates: {{variable}} and {{expected}} are filled from "
    "the row."
)


class MakerOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()


class DatasetInput(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=1000, trim_whitespace=False)
    rows = serializers.JSONField(required=False, help_text=f"Typed in: at most 2,000. {ROW_HELP}")
    columns = serializers.JSONField(
        required=False,
        help_text="With rows: names in order. Of a file: names of its columns to variables, null to leave one out.",
    )
    format = serializers.ChoiceField(choices=DatasetFile.Format.choices, required=False, help_text="Of a file.")
    size = serializers.IntegerField(min_value=0, max_value=2**62, required=False, help_text="Of the file, in bytes.")
    sha256 = serializers.CharField(max_length=64, required=False, help_text="Of those bytes, 64 hex digits.")
    part_sha256 = serializers.ListField(
        child=serializers.CharField(max_length=64),
        max_length=parts.count(MOST_BYTES),
        required=False,
        allow_null=True,
        help_text=f"SHA-256 of each {parts.PART_BYTES:,} bytes: then it can be sent in parts.",
    )
    expected = serializers.CharField(
        max_length=1000, required=False, allow_null=True, help_text="Column of expected texts, if not `expected`."
    )
    skip_bad_rows = serializers.BooleanField(required=False, default=False)


class DatasetNameInput(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=1000, trim_whitespace=False)


class RowEditsInput(serializers.Serializer[Any]):
    revision = serializers.IntegerField(min_value=0, max_value=2**31 - 1)
    columns = serializers.JSONField(required=False, help_text="The new names in order; values of others are dropped.")
    edits = serializers.JSONField(required=False, help_text="set | insert | remove | rename, in order.")


class RowEditsOutput(serializers.Serializer[Any]):
    revision = serializers.IntegerField()
    count = serializers.IntegerField()
    columns = serializers.ListField(child=serializers.CharField())


class DatasetProblemOutput(serializers.Serializer[Any]):
    row = serializers.IntegerField(help_text="From 1, without the first line and blank ones.")
    line = serializers.IntegerField(help_text="Of the file, from 1, where the row begins.")
    code = serializers.CharField()
    message = serializers.CharField()


class NotedOutput(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()


class DatasetFileOutput(serializers.Serializer[Any]):
    format = serializers.CharField()
    size = serializers.IntegerField()
    bytes_read = serializers.IntegerField()
    rows_read = serializers.IntegerField()
    problem_count = serializers.IntegerField()
    problems = DatasetProblemOutput(many=True, required=False, help_text="The first 100.")
    warnings = NotedOutput(many=True)
    error = NotedOutput(allow_null=True)


class DatasetOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    prompt = serializers.UUIDField()
    name = serializers.CharField()
    status = serializers.ChoiceField(choices=DatasetFile.Status.choices)
    columns = serializers.ListField(child=serializers.CharField())
    count = serializers.IntegerField(help_text="Rows.")
    has_expected = serializers.BooleanField()
    bytes = serializers.IntegerField()
    revision = serializers.IntegerField()
    editable = serializers.BooleanField(help_text="Rows can be changed: 2,000 and 4 MiB at most.")
    maker = MakerOutput(allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    file = DatasetFileOutput(allow_null=True)


class AwaitedDatasetOutput(DatasetOutput):
    url = serializers.CharField(required=False, help_text="While `pending`: a fresh address for the bytes.")
    method = serializers.CharField(required=False)
    headers = serializers.DictField(child=serializers.CharField(), required=False)
    expires_at = serializers.DateTimeField(required=False)
    parts = PartOutput(many=True, required=False)


class DatasetListOutput(serializers.Serializer[Any]):
    results = DatasetOutput(many=True)
    next = serializers.CharField(allow_null=True)


class RowOutput(serializers.Serializer[Any]):
    index = serializers.IntegerField()
    values = serializers.JSONField()
    expected = serializers.CharField(allow_null=True)


class RowsOutput(serializers.Serializer[Any]):
    count = serializers.IntegerField()
    revision = serializers.IntegerField()
    columns = serializers.ListField(child=serializers.CharField())
    results = RowOutput(many=True)


class BatchInput(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=200, required=False, allow_blank=True, default="")
    dataset = serializers.UUIDField(required=False, allow_null=True)
    upload = serializers.UUIDField(required=False, allow_null=True, help_text="The same: a dataset that was a file.")
    rows = serializers.JSONField(required=False, help_text=f"In place of a dataset: at most 2,000. {ROW_HELP}")
    versions = serializers.JSONField(
        help_text="1 to 4 numbers, labels or branches, or {version, model?, provider?, parameters?}."
    )
    model = serializers.CharField(max_length=200, required=False, allow_null=True, default=None)
    parameters = serializers.JSONField(required=False, default=dict, help_text="For versions without their own.")
    checks = serializers.JSONField(required=False, help_text=CHECK_HELP)


class EstimateOutput(serializers.Serializer[Any]):
    rows = serializers.IntegerField()
    runs = serializers.IntegerField()
    grading_runs = serializers.IntegerField()
    input_tokens = serializers.IntegerField(allow_null=True, help_text="About, from a few rows; null if unknown.")
    counted_rows = serializers.IntegerField(
        help_text="So many of the few were counted by the model server, of each version; 0: four characters a token."
    )
    output_tokens_most = serializers.IntegerField()
    cost_usd = serializers.FloatField(allow_null=True, help_text="Of what is read.")
    cost_usd_most = serializers.FloatField(allow_null=True, help_text="If every answer is as long as it may be.")
    seconds = serializers.IntegerField(allow_null=True, help_text="From recent runs of the same models.")
    in_flight = serializers.IntegerField(help_text="Runs at once.")
    waiting_batches = serializers.IntegerField(help_text="Batches that are running now and share the places.")
    unset = serializers.DictField(child=serializers.IntegerField(), help_text="By variable: rows that lack it.")


class BatchVersionOutput(serializers.Serializer[Any]):
    position = serializers.IntegerField()
    number = serializers.IntegerField()
    pointer = serializers.CharField()
    model = serializers.CharField()
    provider = serializers.CharField()
    parameters = serializers.JSONField()
    label = serializers.CharField()  # type: ignore[assignment]  # the stubs see Field.label, not a field


class PausedOutput(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()


class DatasetNamedOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()


class BatchOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    prompt = serializers.UUIDField()
    name = serializers.CharField()
    state = serializers.ChoiceField(choices=BatchState.choices)
    paused_because = PausedOutput(allow_null=True)
    held_until = serializers.DateTimeField(allow_null=True)
    dataset = DatasetNamedOutput(allow_null=True)
    columns = serializers.ListField(child=serializers.CharField())
    has_expected = serializers.BooleanField()
    maker = MakerOutput()
    mine = serializers.BooleanField()
    can = serializers.DictField(child=serializers.BooleanField())
    versions = BatchVersionOutput(many=True)
    checks = serializers.ListField(child=serializers.DictField())
    rows = serializers.IntegerField()
    counts = serializers.DictField(child=serializers.IntegerField(), help_text="Cells by status.")
    ended = serializers.IntegerField()
    rate_per_minute = serializers.FloatField(allow_null=True)
    seconds_left = serializers.IntegerField(allow_null=True)
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    summary = serializers.ListField(child=serializers.DictField(), required=False)


class BatchListOutput(serializers.Serializer[Any]):
    results = BatchOutput(many=True)
    next = serializers.CharField(allow_null=True)


class RetryInput(serializers.Serializer[Any]):
    statuses = serializers.ListField(
        child=serializers.ChoiceField(choices=[ItemStatus.ERROR, ItemStatus.CANCELLED, ItemStatus.FAILED]),
        required=False,
        allow_empty=False,
        default=[ItemStatus.ERROR, ItemStatus.CANCELLED],
    )


class ResultRowOutput(RowOutput):
    cut = serializers.BooleanField(help_text="A value is longer than shown here.")
    different = serializers.BooleanField()
    cells = serializers.ListField(child=serializers.DictField(allow_null=True))


class ResultsOutput(serializers.Serializer[Any]):
    count = serializers.IntegerField(help_text="Rows that match.")
    offset = serializers.IntegerField()
    results = ResultRowOutput(many=True)
    next = serializers.CharField(allow_null=True)
    searched = serializers.IntegerField(allow_null=True, help_text="Rows that a search has looked through.")
