"""The tree of a prompt's versions, ready to be drawn."""

from __future__ import annotations

import uuid

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from playground import access
from playground.models import DEFAULT_BRANCH, Branch, Label, Prompt, Version
from playground.serializers import BranchOutput, LabelOutput, TreeOutput
from playground.tree import Node, lanes


class Tree(APIView):
    @extend_schema(operation_id="prompts_tree", responses=TreeOutput)
    def get(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """Every version with its parents and its lane, and the branches and labels that point into the tree."""
        prompt = access.prompt_for(request.user, prompt_id)
        branches = list(Branch.objects.filter(prompt=prompt).select_related("head").order_by("name"))
        labels = Label.objects.filter(prompt=prompt, version__isnull=False).select_related("version").order_by("name")
        heads = sorted(branches, key=lambda branch: branch.name != DEFAULT_BRANCH)
        # Plain dicts, not a serializer a row: 10,000 versions are answered in a fraction of a second.
        return Response(
            {
                "nodes": drawn_nodes(prompt, first=[branch.head.number for branch in heads]),
                "branches": BranchOutput(branches, many=True).data,
                "labels": LabelOutput(labels, many=True).data,
            }
        )


def drawn_nodes(prompt: Prompt, *, first: list[int]) -> list[dict[str, object]]:
    """The versions newest first with their lanes; `first`: heads whose line should be leftmost, in order."""
    versions = Version.objects.filter(prompt=prompt)
    parents = versions.parent_numbers()
    rows = versions.recent_first().values("number", "id", "author__name", "author__email", "message", "created_at")
    lane = lanes([Node(number=number, parents=parents[number]) for number in parents], first=first)
    return [
        {
            "number": row["number"],
            "id": str(row["id"]),
            "parents": parents[row["number"]],
            "lane": lane[row["number"]],
            "author": row["author__name"] or (row["author__email"] or "").partition("@")[0] or None,
            "message": row["message"],
            "created_at": row["created_at"],
        }
        for row in rows
        if row["number"] in parents
    ]
