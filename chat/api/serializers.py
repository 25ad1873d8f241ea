"""The JSON of chat: what calls take, and what they answer."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from chat.models import ReferenceKind
from chat.models.safety import MAX_REASON_LENGTH


class ReferenceField(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(choices=ReferenceKind.choices)
    id = serializers.UUIDField()


class MessageInput(serializers.Serializer[Any]):
    client_msg_id = serializers.UUIDField(
        help_text="Made by the caller for this message: a repeat finds the first attempt, for ever."
    )
    body = serializers.CharField(trim_whitespace=False, allow_blank=True, help_text="At most 4,000 characters.")
    reference = ReferenceField(required=False, allow_null=True, default=None)


class EditInput(serializers.Serializer[Any]):
    body = serializers.CharField(trim_whitespace=False, allow_blank=True)


class MessageOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    conversation = serializers.UUIDField()
    seq = serializers.IntegerField(help_text="The order, for both people and for ever.")
    sender = serializers.UUIDField()
    client_msg_id = serializers.UUIDField()
    body = serializers.CharField(allow_null=True, help_text="Null once it is deleted.")
    reference = ReferenceField(allow_null=True)
    version = serializers.IntegerField(help_text="Grows with each edit.")
    created_at = serializers.DateTimeField()
    edited_at = serializers.DateTimeField(allow_null=True)
    deleted = serializers.BooleanField()


class SentOutput(MessageOutput):
    duplicate = serializers.BooleanField(help_text="An earlier call with this client_msg_id had sent it.")


class PersonOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()


class FoundPersonOutput(PersonOutput):
    email = serializers.CharField(allow_blank=True, help_text="Empty unless it was what was asked for.")


class ConversationInput(serializers.Serializer[Any]):
    person = serializers.UUIDField(help_text="Whom to talk to.")


class ConversationOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    peer = PersonOutput()
    last_seq = serializers.IntegerField()
    last_message_at = serializers.DateTimeField()
    unread = serializers.IntegerField(help_text="At most 100.")
    muted = serializers.BooleanField()
    read_seq = serializers.IntegerField()
    peer_delivered_seq = serializers.IntegerField()
    peer_read_seq = serializers.IntegerField()


class UptoInput(serializers.Serializer[Any]):
    upto_seq = serializers.IntegerField(min_value=0, max_value=2**63 - 1)


class MarksOutput(serializers.Serializer[Any]):
    delivered_upto = serializers.IntegerField()
    read_upto = serializers.IntegerField()


class MuteInput(serializers.Serializer[Any]):
    muted = serializers.BooleanField()


class ReportInput(serializers.Serializer[Any]):
    reason = serializers.CharField(required=False, default="", allow_blank=True, max_length=MAX_REASON_LENGTH)


class ReportOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    created_at = serializers.DateTimeField()


class UnreadOutput(serializers.Serializer[Any]):
    total = serializers.IntegerField(help_text="Without the muted ones.")
    conversations = serializers.DictField(child=serializers.IntegerField(), help_text="By conversation, at most 100.")
