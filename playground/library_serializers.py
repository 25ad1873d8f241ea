"""The JSON of the library: drafts, folders, tags, what a search found, import and export."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from playground.bodies import parts
from playground.models import MAX_IMPORT_BYTES, Draft, FileImport, Prompt
from playground.searching import Match
from playground.serializers import PromptOutput, VersionOutput


class ConfirmInput(serializers.Serializer[Any]):
    name = serializers.CharField(trim_whitespace=False, help_text="The exact name of the prompt, as a confirmation.")


class FolderOutput(serializers.Serializer[Any]):
    name = serializers.CharField()
    path = serializers.CharField(help_text="What `GET prompts?folder=` takes.")
    count = serializers.IntegerField(help_text="Prompts in this folder itself.")
    total = serializers.IntegerField(help_text="Prompts in it and in the folders inside.")
    children = serializers.ListField(child=serializers.DictField(), help_text="The same, for the folders inside.")


class FolderMoveInput(serializers.Serializer[Any]):
    folder = serializers.CharField(max_length=1000, help_text="Its path: `team/support`.")
    to = serializers.CharField(max_length=1000, help_text="The path it gets. What is inside follows.")
    merge = serializers.BooleanField(default=False, help_text="It may become one with a folder that is there already.")


class MovedFolderOutput(serializers.Serializer[Any]):
    folder = serializers.CharField(help_text="Its path now.")
    moved = serializers.IntegerField(help_text="How many prompts it has, in the archive and the trash, too.")


class TagOutput(serializers.Serializer[Any]):
    name = serializers.CharField()
    count = serializers.IntegerField()


class ExcerptOutput(serializers.Serializer[Any]):
    text = serializers.CharField(help_text="One line of plain text.")
    hits = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField()),
        help_text="[start, end] of each hit, in code points of `text`.",
    )


class MatchOutput(serializers.Serializer[Any]):
    number = serializers.IntegerField(help_text="Of the version.")
    excerpt = ExcerptOutput(allow_null=True, help_text="Null if the words are further inside than a list reads.")


class FoundPromptOutput(PromptOutput):
    matches = serializers.SerializerMethodField(
        help_text="With `q`: the newest versions whose message or texts the words are in, at most three."
    )

    class Meta(PromptOutput.Meta):
        fields = [*PromptOutput.Meta.fields, "matches"]

    @extend_schema_field(MatchOutput(many=True))
    def get_matches(self, prompt: Prompt) -> list[dict[str, Any]]:
        matches: dict[Any, list[Match]] = self.context.get("matches", {})
        return list(MatchOutput(matches.get(prompt.pk, []), many=True).data)


class DraftOutput(serializers.ModelSerializer[Draft]):
    base = serializers.IntegerField(source="base.number", allow_null=True, default=None)
    revision = serializers.IntegerField()
    bytes = serializers.IntegerField(source="content_bytes", help_text="Of the content.")

    class Meta:
        model = Draft
        fields = ["branch", "base", "revision", "updated_at", "bytes"]


class DraftDetailOutput(DraftOutput):
    class Meta(DraftOutput.Meta):
        fields = [*DraftOutput.Meta.fields, "content"]


class DraftInput(serializers.Serializer[Any]):
    content = serializers.CharField(
        trim_whitespace=False,
        help_text="JSON text, kept verbatim: a spec as far as it is written, and what goes with it.",
    )
    base = serializers.JSONField(
        required=False, allow_null=True, help_text="Number or id of the version it was written on."
    )
    revision = serializers.IntegerField(
        allow_null=True, help_text="The draft's revision as this tab knows it; null: there is none yet."
    )


class KeptDraftOutput(serializers.Serializer[Any]):
    revision = serializers.IntegerField()
    updated_at = serializers.DateTimeField()


class ForkInput(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=1000, trim_whitespace=False)


class CopyOutput(serializers.Serializer[Any]):
    prompt = PromptOutput()
    version = VersionOutput()


class PreviewInput(serializers.Serializer[Any]):
    text = serializers.CharField(trim_whitespace=False, help_text="What was pasted or read from a file.")


class PreviewOutput(serializers.Serializer[Any]):
    kind = serializers.CharField()
    name = serializers.CharField(allow_blank=True)
    spec = serializers.JSONField()
    tags = serializers.ListField(child=serializers.CharField())
    labels = serializers.ListField(child=serializers.CharField(), help_text="Of the version, where it came from.")
    warnings = serializers.ListField(child=serializers.CharField(), help_text="What could not be carried over.")


class ImportedOutput(serializers.Serializer[Any]):
    prompt = PromptOutput()
    kind = serializers.CharField()
    versions_made = serializers.IntegerField(help_text="0 if the prompt had them all.")
    warnings = serializers.ListField(child=serializers.CharField())


class FileImportInput(serializers.Serializer[Any]):
    size = serializers.IntegerField(min_value=0, max_value=2**62, help_text="Of the file, in bytes.")
    sha256 = serializers.CharField(max_length=64, help_text="Of those bytes, 64 hex digits.")
    format = serializers.ChoiceField(choices=FileImport.Format.choices)
    prompt = serializers.UUIDField(required=False, allow_null=True, help_text="Add what is missing to this prompt.")
    part_sha256 = serializers.ListField(
        child=serializers.CharField(max_length=64),
        max_length=parts.count(MAX_IMPORT_BYTES),
        required=False,
        allow_null=True,
        help_text=f"SHA-256 of each {parts.PART_BYTES:,} bytes: what was cut off goes on with what is missing.",
    )


class FileImportErrorOutput(serializers.Serializer[Any]):
    code = serializers.CharField(source="error_code")
    message = serializers.CharField(source="error_message")


class FileImportOutput(serializers.ModelSerializer[FileImport]):
    status = serializers.CharField(help_text="`pending`, `queued`, `running`, `done` or `failed`.")
    name = serializers.CharField(help_text="Of the prompt in the file, once it was read.")
    prompt = serializers.SerializerMethodField(help_text="When done: what was made or added to.")
    error = serializers.SerializerMethodField(help_text="When failed.")

    class Meta:
        model = FileImport
        fields = ["id", "status", "name", "versions_read", "versions_total", "versions_made", "prompt", "error"]

    @extend_schema_field(PromptOutput(allow_null=True))
    def get_prompt(self, row: FileImport) -> dict[str, Any] | None:
        if row.status != FileImport.Status.DONE or row.prompt_id is None:
            return None
        return dict(PromptOutput(Prompt.objects.with_latest_number().get(pk=row.prompt_id)).data)

    @extend_schema_field(FileImportErrorOutput(allow_null=True))
    def get_error(self, row: FileImport) -> dict[str, Any] | None:
        return dict(FileImportErrorOutput(row).data) if row.error_code else None


class AwaitedFileImportOutput(FileImportOutput):
    url = serializers.CharField(required=False, help_text="While `pending`: a fresh address for the bytes.")
    method = serializers.CharField(required=False)
    headers = serializers.DictField(child=serializers.CharField(), required=False)
    expires_at = serializers.DateTimeField(required=False, help_text="Of the addresses.")
    parts = serializers.ListField(child=serializers.DictField(), required=False, help_text="Of a file in parts.")

    class Meta(FileImportOutput.Meta):
        fields = [*FileImportOutput.Meta.fields, "url", "method", "headers", "expires_at", "parts"]
