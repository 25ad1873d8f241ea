from __future__ import annotations

import uuid
from collections.abc import Callable

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import User
from core.errors import InvalidInput
from core.paging import NewestFirst
from playground import access, searching, services
from playground.api.asking import IDEMPOTENCY_KEY, checked, idempotency_key, person
from playground.api.library import Erasure
from playground.library_serializers import FoundPromptOutput
from playground.models import Prompt
from playground.models.prompt import PromptQuerySet
from playground.serializers import PromptInput, PromptOutput
from playground.services.lines import folder_path

_STATES: dict[str, Callable[[PromptQuerySet], PromptQuerySet]] = {
    "active": PromptQuerySet.active,
    "archived": PromptQuerySet.archived,
    "trashed": PromptQuerySet.trashed,
}
_WHOSE: dict[str, Callable[[User], PromptQuerySet]] = {
    "mine": Prompt.objects.visible_to,
    "shared": lambda person: Prompt.objects.readable_by(person).exclude(owner=person),
    "any": Prompt.objects.readable_by,
}


class PromptList(APIView):
    @extend_schema(
        operation_id="prompts_list",
        parameters=[
            OpenApiParameter("q", OpenApiTypes.STR, description="Words in its own lines, or in any of its versions."),
            OpenApiParameter("state", OpenApiTypes.STR, enum=list(_STATES), description="Default: active."),
            OpenApiParameter(
                "whose", OpenApiTypes.STR, enum=list(_WHOSE), description="Default: mine; any where `q` is given."
            ),
            OpenApiParameter("tag", OpenApiTypes.STR),
            OpenApiParameter("folder", OpenApiTypes.STR),
            OpenApiParameter("cursor", OpenApiTypes.STR),
            OpenApiParameter("limit", OpenApiTypes.INT),
        ],
        responses=FoundPromptOutput(many=True),
    )
    def get(self, request: Request) -> Response:
        """My prompts, newest first. Words are also looked for in those that others share with me."""
        query = searching.read_query(request.query_params.get("q", ""))
        found = searching.matching(_in_state(_asked_for(person(request), request), request), query)
        # As they are kept: a blank that was typed behind a name hides nothing.
        if (tag := request.query_params.get("tag")) is not None:
            found = found.filter(tags__contains=[tag.strip()])
        if (folder := request.query_params.get("folder")) is not None:
            found = found.filter(folder=folder_path("folder", folder))
        pages = NewestFirst()
        rows = pages.paginate_queryset(found.with_latest_number(), request)
        matches = searching.matches([row.pk for row in rows], query)
        return pages.get_paginated_response(FoundPromptOutput(rows, many=True, context={"matches": matches}).data)

    @extend_schema(
        operation_id="prompts_create", request=PromptInput, responses={201: PromptOutput}, parameters=[IDEMPOTENCY_KEY]
    )
    def post(self, request: Request) -> Response:
        """A new prompt."""
        given = checked(PromptInput, request)
        prompt = services.create_prompt(owner=person(request), idempotency_key=idempotency_key(request), **given)
        return Response(PromptOutput(prompt).data, status=201)


def _asked_for(asking: User, request: Request) -> PromptQuerySet:
    whose = request.query_params.get("whose") or ("any" if request.query_params.get("q") else "mine")
    if whose not in _WHOSE:
        raise InvalidInput(f"Prompts are of {', '.join(_WHOSE)}.", field="whose")
    return _WHOSE[whose](asking)


def _in_state(prompts: PromptQuerySet, request: Request) -> PromptQuerySet:
    state = request.query_params.get("state", "active")
    if state not in _STATES:
        raise InvalidInput(f"A prompt is one of {', '.join(_STATES)}.", field="state")
    return _STATES[state](prompts)


class PromptDetail(Erasure, APIView):
    @extend_schema(operation_id="prompts_read", responses=PromptOutput)
    def get(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """One prompt."""
        prompt = access.prompt_for(request.user, prompt_id)
        return Response(PromptOutput(Prompt.objects.with_latest_number().get(pk=prompt.pk)).data)

    @extend_schema(operation_id="prompts_update", request=PromptInput(partial=True), responses=PromptOutput)
    def patch(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """Rename it, or change its description, tags or folder. For its owner only."""
        prompt = access.prompt_for(request.user, prompt_id, access.OWN)
        services.update_prompt(prompt=prompt, **checked(PromptInput, request, partial=True))
        return Response(PromptOutput(Prompt.objects.with_latest_number().get(pk=prompt.pk)).data)
