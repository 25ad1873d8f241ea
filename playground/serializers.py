"""The JSON of prompts and versions: what calls take, and what they answer."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from inference_client.awaiting import LONGEST_WAIT_S
from inference_client.models import Provider
from playground.models import Prompt, Version

SPEC_HELP = (
    "model, max_tokens, temperature?, top_p?, top_k?, stop_sequences?, system?, messages, tools?, tool_choice?, "
    "output_schema?, thinking?, api_version?, variables?: the shapes of the Messages API. Any text may instead be "
    '{"body": sha256} of a text this prompt already has.'
)

PARAMETERS_HELP = (
    "Sent in place of the version's own: max_tokens, temperature, top_p, top_k, stop_sequences, thinking, "
    "api_version. null leaves one out."
)


class ParsedField(serializers.JSONField):
    """Any JSON value, as the strict parser gave it.

    REST framework's own field writes it out again to see that it is one, which takes longer than reading it.
    """

    def to_internal_value(self, data: Any) -> Any:
        return data


class PromptInput(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=1000, trim_whitespace=False)
    description = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    tags = serializers.ListField(child=serializers.CharField(), required=False, max_length=50)
    folder = serializers.CharField(required=False, allow_blank=True)


class PromptOutput(serializers.ModelSerializer[Prompt]):
    latest_number = serializers.IntegerField(allow_null=True, default=None, help_text="Of the newest version.")

    class Meta:
        model = Prompt
        fields = [
            "id",
            "name",
            "description",
            "tags",
            "folder",
            "latest_number",
            "created_at",
            "updated_at",
            "archived_at",
            "trashed_at",
        ]


class VersionInput(serializers.Serializer[Any]):
    spec = ParsedField(help_text=SPEC_HELP)
    parent = serializers.JSONField(  # type: ignore[assignment]  # the stubs see Field.parent, not a field
        required=False, allow_null=True, help_text="Number or id of the version this one follows; default: the head."
    )
    merged = serializers.JSONField(
        required=False, allow_null=True, help_text="Number or id of a second parent: the version that was merged in."
    )
    branch = serializers.CharField(required=False, default="main", max_length=1000)
    message = serializers.CharField(required=False, default="", allow_blank=True, trim_whitespace=False)


class SavedVersionOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    number = serializers.IntegerField()
    parent = serializers.IntegerField(  # type: ignore[assignment]  # as above
        allow_null=True, help_text="Number of the version this one follows."
    )
    branch = serializers.CharField(help_text="The branch whose head it is now.")
    digest = serializers.CharField(help_text="SHA-256 of the canonical spec (RFC 8785), in hex.")
    forked = serializers.BooleanField(help_text="Somebody saved first: this one is kept on a new branch.")


class VersionOutput(serializers.ModelSerializer[Version]):
    parent = serializers.IntegerField(  # type: ignore[assignment]  # as above
        source="parent.number", allow_null=True, default=None
    )
    author = serializers.CharField(source="author.label", allow_null=True, default=None)
    digest = serializers.CharField(source="digest_hex")

    class Meta:
        model = Version
        fields = ["id", "number", "parent", "author", "message", "model", "digest", "created_at"]


class VersionListOutput(VersionOutput):
    branches = serializers.ListField(child=serializers.CharField(), help_text="Branches whose head this version is.")

    class Meta(VersionOutput.Meta):
        fields = [*VersionOutput.Meta.fields, "branches"]


class VersionDetailOutput(VersionOutput):
    spec = serializers.DictField(help_text=SPEC_HELP)
    variables_used = serializers.ListField(
        child=serializers.CharField(),
        allow_null=True,
        help_text="With include=texts or include=variables: names in order of appearance.",
    )

    class Meta(VersionOutput.Meta):
        fields = [*VersionOutput.Meta.fields, "spec", "variables_used"]


class RunInput(serializers.Serializer[Any]):
    variables = ParsedField(required=False, default=dict, help_text="Values by variable name.")
    messages = ParsedField(required=False, help_text="Turns after the version's own messages.")
    model = serializers.CharField(required=False, allow_null=True, default=None, max_length=200)
    provider = serializers.ChoiceField(
        choices=Provider.choices,
        allow_null=True,
        default=None,
        help_text="Who runs it; default: who offers the model, this server first.",
    )
    parameters = serializers.JSONField(required=False, default=dict, help_text=PARAMETERS_HELP)
    stream = serializers.BooleanField(
        default=False, help_text="Answer with the events of the run, as `runs/{id}/events`."
    )
    wait_s = serializers.FloatField(
        default=0,
        min_value=0,
        max_value=LONGEST_WAIT_S,
        help_text="Answer when the run ends, or after so many seconds.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["stream"] and attrs["wait_s"]:
            raise serializers.ValidationError({"wait_s": "A call either streams or waits."})
        return attrs


class QueuedRunOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    status = serializers.CharField()


class BranchOutput(serializers.Serializer[Any]):
    name = serializers.CharField()
    head = serializers.IntegerField(source="head.number")


class BranchInput(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=1000, trim_whitespace=False)
    at = serializers.JSONField(required=False, allow_null=True, help_text="Number or id; default: the head of main.")


class BranchMoveInput(serializers.Serializer[Any]):
    to = serializers.JSONField(help_text="Number or id of the version to become the head.")
    expected = serializers.JSONField(help_text="Number or id of the head as you know it.")


class ExpectedInput(serializers.Serializer[Any]):
    expected = serializers.JSONField(
        required=False, allow_null=True, help_text="Number or id of the head as you know it; default: whatever it is."
    )


class LabelOutput(serializers.Serializer[Any]):
    name = serializers.CharField()
    version = serializers.IntegerField(source="version.number", allow_null=True, default=None)
    updated_at = serializers.DateTimeField()


class LabelInput(serializers.Serializer[Any]):
    version = serializers.JSONField(help_text="Number or id of the version to point at.")
    expected = serializers.JSONField(
        required=False, allow_null=True, help_text="If given: where it points as you know it (null: nowhere), else 409."
    )


class MoveOutput(serializers.Serializer[Any]):
    actor = serializers.CharField(source="actor.label", allow_null=True, default=None)
    from_version = serializers.IntegerField(source="from_version.number", allow_null=True, default=None)
    to_version = serializers.IntegerField(source="to_version.number", allow_null=True, default=None)
    created_at = serializers.DateTimeField()


class TreeNodeOutput(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    id = serializers.UUIDField()
    parents = serializers.ListField(child=serializers.IntegerField(), help_text="The second one was merged in.")
    lane = serializers.IntegerField(help_text="Column in the drawing, 0 is leftmost.")
    author = serializers.CharField(allow_null=True)
    message = serializers.CharField()
    created_at = serializers.DateTimeField()


class TreeOutput(serializers.Serializer[Any]):
    nodes = TreeNodeOutput(many=True, help_text="Newest first.")
    branches = BranchOutput(many=True)
    labels = LabelOutput(many=True)


class TreeColumnsOutput(serializers.Serializer[Any]):
    count = serializers.IntegerField(help_text="Versions of the prompt.")
    first = serializers.IntegerField(help_text="Row of the first one here; row 0 is the newest version.")
    lanes = serializers.IntegerField(help_text="Columns of the drawing.")
    numbers = serializers.ListField(child=serializers.IntegerField(), help_text="A column with an entry a row.")
    parents = serializers.ListField(child=serializers.IntegerField(), help_text="Numbers; 0 for none.")
    merged = serializers.ListField(child=serializers.IntegerField(), help_text="Second parents; 0 for none.")
    lane_of = serializers.ListField(child=serializers.IntegerField(), help_text="0 is leftmost.")
    people = serializers.ListField(child=serializers.CharField(allow_null=True), help_text="Names of the authors.")
    authors = serializers.ListField(child=serializers.IntegerField(), help_text="Places in `people`.")
    times = serializers.ListField(child=serializers.IntegerField(), help_text="Seconds since 1970.")
    messages = serializers.ListField(child=serializers.CharField())
    branches = BranchOutput(many=True)
    labels = LabelOutput(many=True)
