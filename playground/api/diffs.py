"""Comparing two versions, or a version with a spec that is not saved yet."""

from __future__ import annotations

import dataclasses
import uuid
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from playground import access, diffing, freezing
from playground import spec as specs
from playground.api.asking import checked, person, version_asked
from playground.comparing import Part, PartChange, SpecDiff, compare_specs


class UnsavedInput(serializers.Serializer[Any]):
    spec = serializers.JSONField(help_text="The spec as it would be saved.")
    # `from` is a word of the language, so the field is declared in get_fields.

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        pointer = serializers.CharField(help_text="A version number, `latest`, a label or a branch.")
        return {"from": pointer, **super().get_fields()}


class Diff(APIView):
    @extend_schema(
        operation_id="prompts_diff",
        parameters=[
            OpenApiParameter("from", OpenApiTypes.STR, required=True, description="Version number, label or branch."),
            OpenApiParameter("to", OpenApiTypes.STR, required=True),
        ],
        responses=OpenApiTypes.OBJECT,
    )
    def get(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """What changed between two versions: fields by value, texts as hunks of lines with the changes marked."""
        prompt = access.prompt_for(request.user, prompt_id)
        before, after = (version_asked(prompt, request, name) for name in ("from", "to"))
        diff = compare_specs(freezing.thaw(before), freezing.thaw(after))
        return Response({"from": before.number, "to": after.number, **as_json(diff)})

    @extend_schema(operation_id="prompts_diff_unsaved", request=UnsavedInput, responses=OpenApiTypes.OBJECT)
    def post(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """What saving a spec would change."""
        prompt = access.prompt_for(request.user, prompt_id)
        given = checked(UnsavedInput, request)
        before = access.version_of(prompt, given["from"])
        after = freezing.read_back(author=person(request), prompt=prompt, spec=specs.parse(given["spec"]))
        return Response({"from": before.number, "to": None, **as_json(compare_specs(freezing.thaw(before), after))})


def as_json(diff: SpecDiff) -> dict[str, Any]:
    return {
        "equal": diff.equal,
        "fields": [dataclasses.asdict(change) for change in diff.fields],
        "texts": [_part_json(change) for change in diff.parts],
    }


def _part_json(change: PartChange) -> dict[str, Any]:
    diff = change.diff
    return {
        "state": change.state,
        "from": _place(change.before),
        "to": _place(change.after),
        "diff": diff.state,
        "added": diff.added,
        "removed": diff.removed,
        "line_ends": diff.line_ends,
        "whitespace_only": diff.whitespace_only,
        "truncated": diff.truncated,
        "hunks": [dataclasses.asdict(diffing.with_spans(hunk)) for hunk in diff.hunks],
    }


def _place(part: Part | None) -> dict[str, str] | None:
    return {"place": part.place, "role": part.role} if part else None
