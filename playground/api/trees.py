"""The tree of a prompt's versions, ready to be drawn."""

from __future__ import annotations

import uuid

from django.db.models import Func, TextField
from django.db.models.functions import Cast
from django.http import HttpResponse
from django.utils.decorators import method_decorator
from django.views.decorators.gzip import gzip_page
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import User
from playground import access
from playground.drawn_tree import branches_of, main_first, pointers, tree_state, whole_tree
from playground.models import Prompt, Version
from playground.serializers import TreeColumnsOutput, TreeOutput
from playground.tree import Node, lanes


class Tree(APIView):
    @extend_schema(operation_id="prompts_tree", responses=TreeOutput)
    def get(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """Every version with its parents and its lane, and the branches and labels that point into the tree."""
        prompt = access.prompt_for(request.user, prompt_id)
        branches = branches_of(prompt)
        # Plain dicts, not a serializer a row: 10,000 versions are answered in a fraction of a second.
        return Response({"nodes": drawn_nodes(prompt, first=main_first(branches)), **pointers(prompt, branches)})


@method_decorator(gzip_page, name="dispatch")
class TreeColumns(APIView):
    @extend_schema(operation_id="prompts_tree_columns", responses=TreeColumnsOutput)
    def get(self, request: Request, prompt_id: uuid.UUID) -> HttpResponse:
        """The same tree in columns, without ids: what pages read. A third of the bytes, none while nothing changed."""
        prompt = access.prompt_for(request.user, prompt_id)
        etag = f'W/"{tree_state(prompt)}"'
        headers = {"ETag": etag, "Cache-Control": "private, no-cache", "Vary": "Cookie, Authorization"}
        if etag in [tag.strip() for tag in request.headers.get("If-None-Match", "").split(",")]:
            return HttpResponse(status=304, headers=headers)
        return Response(whole_tree(prompt), headers=headers)


class Instant(Func):
    """A moment as the API writes it, made by the database: 10,000 moments in Python take longer than all else."""

    template = """to_char(timezone('UTC', %(expressions)s), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""
    output_field = TextField()


def drawn_nodes(prompt: Prompt, *, first: list[int]) -> list[dict[str, object]]:
    """The versions newest first with their lanes; `first`: heads whose line should be leftmost, in order.

    One query that answers numbers and words, quick to read and quick to write as JSON: a tree of 10,000 is asked for
    often.
    """
    rows = list(
        Version.objects.filter(prompt=prompt)
        .recent_first()
        .annotate(identity=Cast("pk", TextField()), writer=Cast("author_id", TextField()), when=Instant("created_at"))
        .values_list("number", "parent__number", "merged_parent__number", "identity", "writer", "message", "when")
    )
    nodes = [Node(number=row[0], parents=tuple(number for number in row[1:3] if number)) for row in rows]
    lane = lanes(nodes, first=first)
    authors = User.objects.filter(pk__in={row[4] for row in rows if row[4]})
    labels = {str(author.pk): author.label for author in authors}
    return [
        {
            "number": node.number,
            "id": identity,
            "parents": node.parents,
            "lane": lane[node.number],
            "author": labels.get(writer),
            "message": message,
            "created_at": when,
        }
        for node, (_, _, _, identity, writer, message, when) in zip(nodes, rows, strict=True)
    ]
