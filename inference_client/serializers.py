"""The shapes of the API's answers about runs and models."""

from __future__ import annotations

import json
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from inference_client import events
from inference_client.models import Provider, Run, RunKind, RunStatus


class RunErrorSerializer(serializers.Serializer[Any]):
    code = serializers.CharField(source="error_code", help_text="What went wrong, for programs.")
    message = serializers.CharField(source="error_message", help_text="The same for people.")


class UsageSerializer(serializers.Serializer[Any]):
    input_tokens = serializers.IntegerField(allow_null=True)
    output_tokens = serializers.IntegerField(allow_null=True)


class TimingsSerializer(serializers.Serializer[Any]):
    queued_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    first_token_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    queue_ms = serializers.IntegerField(allow_null=True, help_text="From `queued_at` to `started_at`.")
    ttft_ms = serializers.IntegerField(allow_null=True, help_text="From `queued_at` to the first token.")
    tokens_per_s = serializers.FloatField(allow_null=True, help_text="After the first token.")


class StructuredProblemSerializer(serializers.Serializer[Any]):
    path = serializers.CharField(allow_blank=True, help_text="JSON Pointer (RFC 6901); empty for the whole answer.")
    message = serializers.CharField()


class PlaceSerializer(serializers.Serializer[Any]):
    line = serializers.IntegerField(help_text="From 1.")
    column = serializers.IntegerField(help_text="From 1, in code points.")


class StructuredSerializer(serializers.Serializer[Any]):
    """How a whole answer keeps to the `output_config.format.schema` of its request."""

    valid = serializers.BooleanField(allow_null=True, help_text="Null if it could not be told; the one error says why.")
    errors = StructuredProblemSerializer(many=True, help_text="At most 50.")  # type: ignore[assignment]
    place = PlaceSerializer(allow_null=True, help_text="Where the answer stops being JSON.")


class RunStateSerializer(serializers.Serializer[Any]):
    """What a cancel answers."""

    id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=RunStatus.choices)


class RunListSerializer(RunStateSerializer):
    """A run in a list: without its request and its answer."""

    model = serializers.CharField()
    provider = serializers.ChoiceField(choices=Provider.choices, help_text="Who ran it.")
    kind = serializers.ChoiceField(choices=RunKind.choices, help_text="What it was made for.")
    excerpt = serializers.CharField(help_text="The beginning of the answer in one line, once the run is over.")
    cost_usd = serializers.FloatField(
        allow_null=True, help_text="US dollars; null where a price or a count is unknown."
    )
    error = serializers.SerializerMethodField()
    stop_reason = serializers.SerializerMethodField()
    usage = UsageSerializer(source="*")
    timings = TimingsSerializer(source="*")

    @extend_schema_field(RunErrorSerializer(allow_null=True))
    def get_error(self, run: Run) -> dict[str, Any] | None:
        return dict(RunErrorSerializer(run).data) if run.error_code else None

    def get_stop_reason(self, run: Run) -> str | None:
        return run.stop_reason or None


class RunAnswerSerializer(RunListSerializer):
    """A run as the answer of the call that made it: without what was sent."""

    output = serializers.CharField(help_text="The text of the answer.")
    message = serializers.JSONField(source="response", help_text="The whole message; null before it.")


#: What is put on the wire is a JSON object; asked for as text, the text of one.
_WIRE = {"type": ["object", "string", "null"], "additionalProperties": True}


class RunSerializer(RunListSerializer):
    """A run with everything: `output` is what has arrived so far while it is running."""

    output = serializers.SerializerMethodField()
    api_version = serializers.CharField()
    structured = StructuredSerializer(allow_null=True, help_text="Null without a schema or a whole answer.")
    wire_headers = serializers.DictField(
        source="headers", child=serializers.CharField(), help_text="Headers of the request, without the key."
    )
    wire_request = serializers.SerializerMethodField(
        help_text="The body of the Messages API request; null if left out."
    )
    wire_response = serializers.SerializerMethodField(
        help_text="The message, put together from the events of its stream; an error answer's body; null before either."
    )
    request_sha256 = serializers.SerializerMethodField(
        help_text="Hex SHA-256 of `wire_request` in canonical form (RFC 8785)."
    )
    upstream_request_id = serializers.CharField(help_text="The model server's `request-id`; empty if it gave none.")

    def get_output(self, run: Run) -> str:
        return run.output if run.is_terminal else events.read_text(run.pk)

    @extend_schema_field(_WIRE)
    def get_wire_request(self, run: Run) -> Any:
        if not self.context.get("with_request", True):
            return None
        written = run.wire_request or run.request
        return written if self.context.get("as_text") else json.loads(written)

    @extend_schema_field(_WIRE)
    def get_wire_response(self, run: Run) -> Any:
        response = run.response
        # It is stored in ASCII, which is not how anybody sent it.
        return json.dumps(response, ensure_ascii=False) if response and self.context.get("as_text") else response

    def get_request_sha256(self, run: Run) -> str:
        return bytes(run.request_sha256).hex()


class PriceSerializer(serializers.Serializer[Any]):
    input_per_mtok = serializers.FloatField(help_text="US dollars a million tokens.")
    output_per_mtok = serializers.FloatField()


class LoadSerializer(serializers.Serializer[Any]):
    waiting = serializers.IntegerField(allow_null=True, help_text="Requests in the queue.")
    running = serializers.IntegerField(allow_null=True, help_text="Answers being written.")
    slots = serializers.IntegerField(allow_null=True, help_text="Answers that are written at the same time.")
    tokens_per_s = serializers.FloatField(allow_null=True, help_text="Of one answer.")


class ModelSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    # A field, which the metaclass takes away: the serializer keeps its own `context`.
    context = serializers.IntegerField(  # type: ignore[assignment]
        allow_null=True, help_text="Tokens of context; null if unknown."
    )
    capabilities = serializers.JSONField(allow_null=True, help_text="As the backend declares them; null if unknown.")
    provider = serializers.ChoiceField(choices=Provider.choices, help_text="Who runs it: to be named with a run.")
    load = LoadSerializer(allow_null=True, help_text="How busy it was some seconds ago; null where nobody says.")
    price = PriceSerializer(allow_null=True, help_text="Null where nobody has named one.")
    available = serializers.BooleanField(help_text="False while its provider does not answer or refuses the key.")
    notice = serializers.CharField(allow_null=True, help_text="What to know before running it or judging it.")


class ProviderStateSerializer(serializers.Serializer[Any]):
    id = serializers.ChoiceField(choices=Provider.choices)
    name = serializers.CharField()
    key = serializers.ChoiceField(choices=["service", "own", "operator"], help_text="Whose key runs go with.")
    available = serializers.BooleanField()
    notice = serializers.CharField(allow_null=True, help_text="What is wrong; null if nothing is.")


class ModelListSerializer(serializers.Serializer[Any]):
    results = ModelSerializer(many=True)
    providers = ProviderStateSerializer(many=True)
