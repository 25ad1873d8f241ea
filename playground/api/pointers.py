"""Branches and labels: what moves over the tree."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import ClassVar

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.errors import InvalidInput, NotFound
from core.paging import NewestFirst
from playground import access, services
from playground.api.asking import checked, person, version_named
from playground.models import Branch, Label, LabelMove, Prompt, Version
from playground.serializers import (
    BranchInput,
    BranchMoveInput,
    BranchOutput,
    ExpectedInput,
    LabelInput,
    LabelOutput,
    MoveOutput,
)


class BranchList(APIView):
    @extend_schema(operation_id="branches_list", responses=BranchOutput(many=True))
    def get(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """All branches of a prompt, by name."""
        prompt = access.prompt_for(request.user, prompt_id)
        rows = Branch.objects.filter(prompt=prompt).select_related("head").order_by("name")
        return Response({"results": BranchOutput(rows, many=True).data, "next": None})

    @extend_schema(operation_id="branches_create", request=BranchInput, responses={201: BranchOutput})
    def post(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """A new branch at any version."""
        prompt = access.prompt_for(request.user, prompt_id, access.CHANGE)
        given = checked(BranchInput, request)
        at = version_named(prompt, given.get("at"), field="at") or access.version_of(prompt, "main")
        branch = services.start_branch(actor=person(request), prompt=prompt, name=given["name"], at=at)
        return Response(BranchOutput(branch).data, status=201)


class BranchMoveView(APIView):
    @extend_schema(operation_id="branches_move", request=BranchMoveInput, responses=BranchOutput)
    def post(self, request: Request, prompt_id: uuid.UUID, name: str) -> Response:
        """Compare-and-swap of the head: 409 with the head as it is, if it is not the expected one."""
        prompt = access.prompt_for(request.user, prompt_id, access.CHANGE)
        branch = access.branch_of(prompt, name)
        given = checked(BranchMoveInput, request)
        moved = services.move_branch(
            actor=person(request),
            branch=branch,
            to=_required(prompt, given["to"], "to"),
            expected=_required(prompt, given["expected"], "expected"),
        )
        return Response(BranchOutput(moved).data)


class _Step(APIView):
    step: ClassVar[Callable[..., Branch]]

    @extend_schema(request=ExpectedInput, responses=BranchOutput)
    def post(self, request: Request, prompt_id: uuid.UUID, name: str) -> Response:
        prompt = access.prompt_for(request.user, prompt_id, access.CHANGE)
        branch = access.branch_of(prompt, name)
        given = checked(ExpectedInput, request)
        expected = version_named(prompt, given.get("expected"), field="expected") or branch.head
        moved = type(self).step(actor=person(request), branch=branch, expected=expected)
        return Response(BranchOutput(moved).data)


@extend_schema_view(
    post=extend_schema(operation_id="branches_undo", description="The head's parent becomes the head. Nothing is lost.")
)
class BranchUndo(_Step):
    step = staticmethod(services.undo_branch)


@extend_schema_view(
    post=extend_schema(operation_id="branches_redo", description="Forward to where the last undo came from.")
)
class BranchRedo(_Step):
    step = staticmethod(services.redo_branch)


class LabelList(APIView):
    @extend_schema(operation_id="labels_list", responses=LabelOutput(many=True))
    def get(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """The labels of a prompt, by name."""
        prompt = access.prompt_for(request.user, prompt_id)
        rows = Label.objects.filter(prompt=prompt, version__isnull=False).select_related("version").order_by("name")
        return Response({"results": LabelOutput(rows, many=True).data, "next": None})


class LabelDetail(APIView):
    @extend_schema(operation_id="labels_move", request=LabelInput, responses=LabelOutput)
    def put(self, request: Request, prompt_id: uuid.UUID, name: str) -> Response:
        """Point a label at a version, making it if need be. With `expected`: 409 if somebody moved it meanwhile."""
        prompt = access.prompt_for(request.user, prompt_id, access.LABEL)
        given = checked(LabelInput, request)
        label = services.move_label(
            actor=person(request),
            prompt=prompt,
            name=name,
            to=_required(prompt, given["version"], "version"),
            expected=version_named(prompt, given.get("expected"), field="expected"),
            check="expected" in given,
        )
        return Response(LabelOutput(label).data)

    @extend_schema(operation_id="labels_remove", responses={204: None})
    def delete(self, request: Request, prompt_id: uuid.UUID, name: str) -> Response:
        """Remove a label; its history stays."""
        prompt = access.prompt_for(request.user, prompt_id, access.LABEL)
        services.remove_label(actor=person(request), prompt=prompt, name=name)
        return Response(status=204)


class LabelHistory(APIView):
    @extend_schema(operation_id="labels_history", responses=MoveOutput(many=True))
    def get(self, request: Request, prompt_id: uuid.UUID, name: str) -> Response:
        """Who moved a label from where to where, newest first."""
        prompt = access.prompt_for(request.user, prompt_id)
        label = Label.objects.filter(prompt=prompt, name=name.strip()).first()
        if label is None:
            raise NotFound
        moves = LabelMove.objects.filter(label=label).select_related("actor", "from_version", "to_version")
        pages = NewestFirst()
        rows = pages.paginate_queryset(moves, request)
        return pages.get_paginated_response(MoveOutput(rows, many=True).data)


def _required(prompt: Prompt, given: object, field: str) -> Version:
    version = version_named(prompt, given, field=field)
    if version is None:
        raise InvalidInput("This names no version.", field=field)
    return version
