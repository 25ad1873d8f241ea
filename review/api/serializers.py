"""The JSON of review: what calls take, and what they answer."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from review.bodies import MAX_CODE_POINTS
from review.people import MAX_MENTIONS


class PassageInput(serializers.Serializer[Any]):
    text = serializers.IntegerField(
        min_value=0,
        max_value=100_000,
        help_text="Which text of the version, from 0, in the order of `.../texts/{index}`.",
    )
    start = serializers.IntegerField(min_value=0, max_value=2**31 - 1)
    end = serializers.IntegerField(min_value=0, max_value=2**31 - 1, help_text="Not included.")
    unit = serializers.ChoiceField(
        choices=["code_points", "utf16", "bytes"],
        default="code_points",
        help_text="What `start` and `end` count. A browser's strings count UTF-16 units; CR and LF are two characters.",
    )
    quote = serializers.CharField(
        trim_whitespace=False,
        help_text="The words that are to be there, or nothing is written: at most 2,000 characters.",
    )


class CommentInput(serializers.Serializer[Any]):
    body = serializers.CharField(
        trim_whitespace=False, allow_blank=True, help_text=f"At most {MAX_CODE_POINTS:,} characters."
    )
    mentions = serializers.ListField(
        child=serializers.UUIDField(),
        required=False,
        default=list,
        max_length=10 * MAX_MENTIONS,
        help_text="Ids of people to be told, who can see the prompt: see `.../people`.",
    )


class ThreadInput(CommentInput):
    passage = PassageInput(required=False, allow_null=True, default=None, help_text="Absent: on the whole version.")


class PlaceInput(serializers.Serializer[Any]):
    version = serializers.IntegerField(min_value=1, max_value=2**31 - 1)
    accept = serializers.BooleanField(required=False, help_text="Whether the place that was found is the place.")
    passage = PassageInput(required=False, help_text="Or where it is instead.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("accept" in attrs) == ("passage" in attrs):
            raise serializers.ValidationError("Say either `accept` or `passage`.")
        return attrs


class ParticipantOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()


class CommentOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    thread = serializers.UUIDField()
    author = ParticipantOutput(allow_null=True, help_text="Null: the account is gone.")
    body = serializers.CharField(allow_null=True, help_text="Text as written; null once it is deleted.")
    mentions = ParticipantOutput(many=True)
    created_at = serializers.DateTimeField()
    edited_at = serializers.DateTimeField(allow_null=True)
    deleted = serializers.BooleanField()
    mine = serializers.BooleanField()


class RangeOutput(serializers.Serializer[Any]):
    start = serializers.IntegerField()
    end = serializers.IntegerField()


class PlacementOutput(serializers.Serializer[Any]):
    """Where the passage is in the version that was asked about."""

    version = serializers.IntegerField()
    state = serializers.ChoiceField(
        choices=["written", "carried", "accepted", "suggested", "outdated", "pending", "whole"],
        help_text="`pending`: still being worked out. `whole`: the thread is about the whole version.",
    )
    method = serializers.CharField(allow_blank=True)
    confidence = serializers.FloatField()
    text = serializers.IntegerField(allow_null=True)
    code_points = RangeOutput(allow_null=True)
    utf16 = RangeOutput(allow_null=True)
    bytes = RangeOutput(allow_null=True)
    quote = serializers.CharField(allow_null=True, help_text="What stands there.")
    decided_by = ParticipantOutput(allow_null=True)


class ThreadOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    prompt = serializers.UUIDField()
    version = serializers.IntegerField(help_text="The version it was written on.")
    state = serializers.ChoiceField(choices=["open", "resolved"])
    resolved_by = ParticipantOutput(allow_null=True)
    resolved_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    quote = serializers.CharField(allow_null=True, help_text="The passage as it was; null: on the whole version.")
    placement = PlacementOutput()
    comments = CommentOutput(many=True, help_text="The first, and the latest ones; all of them in `threads/{id}`.")
    comment_count = serializers.IntegerField()


class ThreadListOutput(serializers.Serializer[Any]):
    results = ThreadOutput(many=True)
    next = serializers.CharField(allow_null=True)
    pending = serializers.IntegerField(
        help_text="Threads whose place is still being worked out: ask again in a second."
    )
