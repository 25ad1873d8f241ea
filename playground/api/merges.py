"""What a merge of two versions would be. It is saved like any version, naming the second parent."""

from __future__ import annotations

import dataclasses
import uuid
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.errors import Unprocessable
from playground import access, freezing
from playground.api.asking import version_asked
from playground.merging import Merged, merge_specs
from playground.models import Prompt, Version
from playground.tree import nearest_common_ancestor


class Merge(APIView):
    @extend_schema(
        operation_id="prompts_merge",
        parameters=[
            OpenApiParameter("ours", OpenApiTypes.STR, required=True, description="Version number, label or branch."),
            OpenApiParameter("theirs", OpenApiTypes.STR, required=True),
        ],
        responses=OpenApiTypes.OBJECT,
    )
    def get(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """The three-way merge against the common ancestor: `spec` with ours where both changed, and the conflicts.

        Nothing is saved: post the resolved spec as a version with `parent` ours and `merged` theirs.
        """
        prompt = access.prompt_for(request.user, prompt_id)
        ours, theirs = (version_asked(prompt, request, name) for name in ("ours", "theirs"))
        base = _common_ancestor(prompt, ours, theirs)
        merged = merge_specs(freezing.thaw(base), freezing.thaw(ours), freezing.thaw(theirs))
        numbers = {"base": base.number, "ours": ours.number, "theirs": theirs.number}
        return Response({**numbers, **_as_json(merged)})


def _common_ancestor(prompt: Prompt, ours: Version, theirs: Version) -> Version:
    parents = Version.objects.filter(prompt=prompt).parent_numbers()
    number = nearest_common_ancestor(parents, ours.number, theirs.number)
    if number is None:
        raise Unprocessable("These versions have no common ancestor to merge from.", code="unrelated_versions")
    if number in (ours.number, theirs.number):
        raise Unprocessable(
            "One of these versions already contains the other: there is nothing to merge.",
            code="nothing_to_merge",
            data={"contains": max(ours.number, theirs.number)},
        )
    return access.version_of(prompt, number)


def _as_json(merged: Merged) -> dict[str, Any]:
    return {"spec": merged.spec, "conflicts": [dataclasses.asdict(conflict) for conflict in merged.conflicts]}
