"""Conversations: replying to a run, the tree that grows, and what was answered to tools before."""

from __future__ import annotations

import json
import uuid

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.errors import InvalidInput, NotFound
from core.paging import NewestFirst
from inference_client import catalogue
from playground import access, services
from playground.api.asking import IDEMPOTENCY_KEY, checked, idempotency_key, person
from playground.models import MAX_TOOL_NAME, ToolResult, VersionRun
from playground.models.version import VersionRunQuerySet
from playground.reply_serializers import (
    ReplyInput,
    RunConversationNodeOutput,
    RunConversationOutput,
    ToolResultListOutput,
)
from playground.serializers import QueuedRunOutput

OFFERED_RESULTS = 20


def _own_run(request: Request, run_id: uuid.UUID) -> VersionRun:
    """Raises NotFound, the same for an absent run and for somebody else's."""
    mine = VersionRun.objects.visible_to(person(request)).select_related("run", "version__prompt")
    found = mine.filter(pk=run_id).first()
    if found is None:
        raise NotFound
    return found


def _lightly(tree: VersionRunQuerySet) -> QuerySet[VersionRun]:
    """The rows of a tree without what may have megabytes."""
    wanted = ("status", "stop_reason", "model", "excerpt", "queued_at")
    return tree.select_related("run").only("parent", "added", *(f"run__{name}" for name in wanted))


class RunReplies(APIView):
    @extend_schema(
        operation_id="runs_reply",
        request=ReplyInput,
        responses={201: QueuedRunOutput},
        parameters=[IDEMPOTENCY_KEY],
    )
    def post(self, request: Request, run_id: uuid.UUID) -> Response:
        """Continue one of my runs with a turn of mine. Replying twice to a run makes two branches of the conversation.

        The new run sends what this one sent, its answer as it came, and `content`.
        """
        parent = _own_run(request, run_id)
        access.prompt_for(request.user, parent.version.prompt_id, access.RUN)
        given = checked(ReplyInput, request)
        if given["model"]:
            catalogue.refuse_unknown(person(request), given["model"])
        run = services.reply_to_run(
            account=person(request),
            parent=parent,
            content=given["content"],
            model=given["model"],
            idempotency_key=idempotency_key(request),
        )
        return Response(QueuedRunOutput({"id": run.pk, "status": run.status}).data, status=201)


class RunConversation(APIView):
    pagination_class = NewestFirst

    @extend_schema(operation_id="runs_conversation", responses=RunConversationOutput)
    def get(self, request: Request, run_id: uuid.UUID) -> Response:
        """The tree of replies that one of my runs is part of, in short, and the whole turns that this run sent."""
        asked = _own_run(request, run_id)
        pages = NewestFirst()
        tree = VersionRun.objects.visible_to(person(request)).of_conversation(asked)
        rows = pages.paginate_queryset(_lightly(tree), request)
        first = "cursor" not in request.query_params
        listed = pages.get_paginated_response(RunConversationNodeOutput(rows, many=True).data).data
        return Response(
            {
                "run": asked.pk,
                "root": asked.root_id or asked.pk,
                "version": asked.version.number,
                "turns": json.loads(asked.turns) if first else [],
                **listed,
            }
        )


class ToolResultList(APIView):
    @extend_schema(
        operation_id="prompts_tool_results",
        parameters=[OpenApiParameter("tool", OpenApiTypes.STR, required=True, description="Name of the tool.")],
        responses=ToolResultListOutput,
    )
    def get(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """What I answered calls of a tool with in this prompt: the last used first, at most 20."""
        prompt = access.prompt_for(request.user, prompt_id)
        tool = request.query_params.get("tool", "")
        if not 0 < len(tool) <= MAX_TOOL_NAME or "\0" in tool:
            raise InvalidInput("Name a tool.", field="tool")
        found = ToolResult.objects.typed_by(person(request), prompt, tool)[:OFFERED_RESULTS]
        return Response(ToolResultListOutput({"results": found}).data)
