"""The JSON of sharing: what calls take, and what they answer."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from sharing.models import AccessLogEntry, AccessRequest, Audience, Grant, OwnershipTransfer, Role, ShareLink
from sharing.models.notification import Notification


class AccountOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField(source="label")


class TargetInput(serializers.Serializer[Any]):
    version = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=2**31 - 1, help_text="A number: frozen for ever."
    )
    branch = serializers.CharField(
        required=False, allow_blank=True, max_length=100, help_text="Whatever its head is when somebody looks."
    )
    # `label` is an attribute of every field, so the field is declared in get_fields.

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        label = serializers.CharField(required=False, allow_blank=True, max_length=100)
        return {**super().get_fields(), "label": label}


class LinkChanges(serializers.Serializer[Any]):
    audience = serializers.ChoiceField(choices=Audience.choices)
    target = TargetInput(help_text="One of `version`, `branch`, `label`.")
    role = serializers.ChoiceField(choices=Role.choices, required=False, help_text="A link lets people see: `viewer`.")
    shows_history = serializers.BooleanField(required=False, help_text="Also the versions behind the one it opens.")
    expires_at = serializers.DateTimeField(required=False, allow_null=True, help_text="An instant; null: never.")
    password = serializers.CharField(
        required=False, allow_null=True, allow_blank=True, trim_whitespace=False, max_length=1000, write_only=True
    )
    max_views = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=1_000_000)
    note = serializers.CharField(required=False, allow_blank=True, max_length=1000)


class LinkOutput(serializers.ModelSerializer[ShareLink]):
    target = serializers.SerializerMethodField()
    prefix = serializers.CharField(source="token_prefix", help_text="The beginning of its token, to tell links apart.")
    has_password = serializers.SerializerMethodField()

    class Meta:
        model = ShareLink
        fields = [
            "id",
            "prompt",
            "prefix",
            "audience",
            "role",
            "target",
            "shows_history",
            "has_password",
            "expires_at",
            "max_views",
            "views",
            "note",
            "created_at",
            "last_used_at",
            "revoked_at",
        ]

    def get_target(self, link: ShareLink) -> dict[str, Any]:
        if link.target_version is not None:
            return {"version": link.target_version.number}
        return {"branch": link.follows_branch} if link.follows_branch else {"label": link.follows_label}

    def get_has_password(self, link: ShareLink) -> bool:
        return bool(link.password)


class NewLinkOutput(LinkOutput):
    url = serializers.CharField(read_only=True, help_text="The address: in this answer only, absent when `replayed`.")
    replayed = serializers.BooleanField(read_only=True, help_text="This Idempotency-Key had made the link already.")

    class Meta(LinkOutput.Meta):
        fields = [*LinkOutput.Meta.fields, "url", "replayed"]


class GrantChanges(serializers.Serializer[Any]):
    role = serializers.ChoiceField(choices=Role.choices)
    expires_at = serializers.DateTimeField(required=False, allow_null=True, help_text="An instant; null: never.")
    may_share = serializers.BooleanField(required=False, help_text="An editor may share it on. The owner decides.")


class GrantInput(GrantChanges):
    account = serializers.CharField(max_length=254, help_text="An e-mail address, or the id of an account.")


class GrantOutput(serializers.ModelSerializer[Grant]):
    account = AccountOutput()
    granted_by = AccountOutput(allow_null=True)

    class Meta:
        model = Grant
        fields = [
            "id",
            "prompt",
            "account",
            "role",
            "may_share",
            "expires_at",
            "granted_by",
            "created_at",
            "last_used_at",
            "revoked_at",
        ]


class AccessOutput(serializers.Serializer[Any]):
    role = serializers.CharField(help_text="`owner`, `editor`, `commenter` or `viewer`.")
    can = serializers.DictField(child=serializers.BooleanField(), help_text="change, comment, run, label, share, own.")


class RevokedOutput(serializers.Serializer[Any]):
    revoked_at = serializers.DateTimeField(help_text="From this moment on; open tabs stop within the bound.")
    bound_s = serializers.FloatField(help_text="How long it may take to reach every open tab.")


class TransferInput(serializers.Serializer[Any]):
    account = serializers.CharField(max_length=254, help_text="Somebody who can see it: an address or an id.")


class TransferOutput(serializers.ModelSerializer[OwnershipTransfer]):
    from_account = AccountOutput()
    to_account = AccountOutput()

    class Meta:
        model = OwnershipTransfer
        fields = ["id", "prompt", "from_account", "to_account", "status", "created_at", "answered_at"]


class RequestInput(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(choices=["version", "run", "prompt"])
    id = serializers.UUIDField()


class AnswerInput(serializers.Serializer[Any]):
    role = serializers.ChoiceField(choices=Role.choices, allow_null=True, help_text="Null declines.")


class RequestOutput(serializers.ModelSerializer[AccessRequest]):
    account = AccountOutput()

    class Meta:
        model = AccessRequest
        fields = ["id", "prompt", "account", "status", "role", "created_at", "answered_at"]


class LogEntryOutput(serializers.ModelSerializer[AccessLogEntry]):
    account = AccountOutput(allow_null=True)
    link = serializers.UUIDField(source="link_id", allow_null=True)

    class Meta:
        model = AccessLogEntry
        fields = ["id", "at", "account", "link", "visitor", "what", "version_number", "address", "allowed", "reason"]


class NotificationOutput(serializers.ModelSerializer[Notification]):
    actor = AccountOutput(allow_null=True)
    prompt_name = serializers.CharField(source="name", help_text="As it was then; empty where that is not known.")

    class Meta:
        model = Notification
        fields = ["id", "kind", "prompt", "prompt_name", "actor", "subject", "created_at", "seen_at"]


class UnseenOutput(serializers.Serializer[Any]):
    unseen = serializers.IntegerField()


class TextAddressOutput(serializers.Serializer[Any]):
    url = serializers.CharField(help_text="Where the bytes are, as a file. Ask again for another one when it is over.")
    seconds = serializers.IntegerField(help_text="How long from now.")
