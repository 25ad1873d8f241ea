"""The tree of a prompt's versions, ready to be drawn."""

from __future__ import annotations

import uuid

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import User
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
    """The versions newest first with their lanes; `first`: heads whose line should be leftmost, in order.

    One query without joins, and plain values that are quick to write as JSON: a tree of 10,000 is asked for often.
    """
    rows = list(
        Version.objects.filter(prompt=prompt)
        .recent_first()
        .values_list("number", "pk", "parent_id", "merged_parent_id", "author_id", "message", "created_at")
    )
    number_of = {pk: number for number, pk, *_ in rows}
    nodes = [
        Node(number=number, parents=tuple(number_of[pk] for pk in parents if pk in number_of))
        for number, _, *parents, _, _, _ in rows
    ]
    lane = lanes(nodes, first=first)
    labels = {author.pk: author.label for author in User.objects.filter(pk__in={row[4] for row in rows})}
    return [
        {
            "number": node.number,
            "id": str(row[1]),
            "parents": node.parents,
            "lane": lane[node.number],
            "author": labels.get(row[4]),
            "message": row[5],
            "created_at": row[6].isoformat().replace("+00:00", "Z"),
        }
        for node, row in zip(nodes, rows, strict=True)
    ]
