from __future__ import annotations

from typing import Any

from rest_framework import serializers

from playground.past_values import WHOLE_BYTES


class KeptValuesInput(serializers.Serializer[Any]):
    values = serializers.DictField(
        # Not a CharField: that one refuses NUL, which a file may hold.
        child=serializers.JSONField(allow_null=True),
        help_text="From name to text; null forgets the value. An empty text is a value.",
    )


class KeptValuesOutput(serializers.Serializer[Any]):
    values = serializers.DictField(child=serializers.CharField())


class PastValuesOutput(serializers.Serializer[Any]):
    run = serializers.UUIDField()
    version = serializers.IntegerField(help_text="Number of the version that was run.")
    status = serializers.CharField()
    created_at = serializers.DateTimeField()
    bytes = serializers.IntegerField(help_text="Of the values as JSON text.")
    values = serializers.DictField(
        child=serializers.CharField(),
        allow_null=True,
        help_text=f"null for more than {WHOLE_BYTES:,} bytes: read those by the run's id.",
    )


class PastValuesListOutput(serializers.Serializer[Any]):
    results = PastValuesOutput(many=True)
    next = serializers.CharField(allow_null=True)
