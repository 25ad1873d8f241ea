"""The JSON of conversations: a reply, the tree it grows, and results that were typed for tools."""

from __future__ import annotations

import json
from typing import Any

from rest_framework import serializers

from playground import conversation
from playground.models import VersionRun


class ReplyInput(serializers.Serializer[Any]):
    content = serializers.JSONField(
        help_text="A text, or content blocks: a `tool_result` for each call of the answer, then text."
    )
    model = serializers.CharField(
        required=False, allow_null=True, default=None, max_length=200, help_text="Default: the model that answered."
    )


class TurnSummaryOutput(serializers.Serializer[Any]):
    role = serializers.ChoiceField(choices=["user", "assistant"])
    text = serializers.CharField(help_text=f"The first {conversation.SUMMARY_CHARACTERS} characters of its texts.")
    cut = serializers.BooleanField(help_text="There is more text than that.")
    calls = serializers.ListField(child=serializers.CharField(), help_text="Names of the tools it calls.")
    results = serializers.IntegerField(help_text="How many calls it answers.")


class RunConversationNodeOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="pk")
    parent = serializers.UUIDField(  # type: ignore[assignment]  # the stubs see Field.parent, not a field
        source="parent_id", allow_null=True, help_text="The run it continues."
    )
    added = serializers.SerializerMethodField(help_text="The turns that it sent and its parent had not, in short.")
    status = serializers.CharField(source="run.status")
    stop_reason = serializers.CharField(source="run.stop_reason")
    model = serializers.CharField(source="run.model")
    output = serializers.CharField(source="run.excerpt", help_text="The beginning of its answer, in one line.")
    created_at = serializers.DateTimeField(source="run.queued_at")

    def get_added(self, node: VersionRun) -> list[dict[str, Any]]:
        added: list[dict[str, Any]] = json.loads(node.added)
        return added


class RunConversationOutput(serializers.Serializer[Any]):
    run = serializers.UUIDField(help_text="The one asked for.")
    root = serializers.UUIDField(help_text="The first run.")  # type: ignore[assignment]  # as above
    version = serializers.IntegerField(help_text="Number of the version that the conversation began with.")
    turns = serializers.ListField(
        child=serializers.JSONField(),
        help_text="On the first page: the messages after the version's own that the run asked for has sent.",
    )
    results = RunConversationNodeOutput(many=True, help_text="The runs of the tree, newest first.")
    next = serializers.CharField(allow_null=True)


class ToolResultOutput(serializers.Serializer[Any]):
    content = serializers.CharField()
    is_error = serializers.BooleanField()
    used_at = serializers.DateTimeField()


class ToolResultListOutput(serializers.Serializer[Any]):
    results = ToolResultOutput(many=True, help_text="The last used first.")
