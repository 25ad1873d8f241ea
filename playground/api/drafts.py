"""Drafts of the person asking. Nobody else's can be named, so there is nobody to keep them from."""

from __future__ import annotations

import uuid

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.errors import NotFound
from playground import access, services
from playground.api.asking import checked, person, version_named
from playground.api.parsing import DraftParser
from playground.library_serializers import DraftDetailOutput, DraftInput, DraftOutput, KeptDraftOutput
from playground.models import Draft


class DraftList(APIView):
    @extend_schema(operation_id="drafts_list", responses=DraftOutput(many=True))
    def get(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """My drafts of a prompt, on all its branches, without their content."""
        prompt = access.prompt_for(request.user, prompt_id)
        drafts = Draft.objects.of(person(request), prompt).with_length().defer("content").order_by("branch")
        return Response({"results": DraftOutput(drafts, many=True).data, "next": None})


class DraftDetail(APIView):
    parser_classes = [DraftParser]

    @extend_schema(operation_id="drafts_read", responses=DraftDetailOutput)
    def get(self, request: Request, prompt_id: uuid.UUID, branch: str) -> Response:
        """My draft on a branch, its content as it was sent."""
        prompt = access.prompt_for(request.user, prompt_id)
        draft = Draft.objects.of(person(request), prompt).with_length().filter(branch=branch).first()
        if draft is None:
            raise NotFound
        return Response(DraftDetailOutput(draft).data)

    @extend_schema(operation_id="drafts_keep", request=DraftInput, responses=KeptDraftOutput)
    def put(self, request: Request, prompt_id: uuid.UUID, branch: str) -> Response:
        """Keep what is written. 409 with the revision there is, if another tab wrote meanwhile: nothing is lost."""
        prompt = access.prompt_for(request.user, prompt_id, access.CHANGE)
        given = checked(DraftInput, request)
        draft = services.keep_draft(
            person=person(request),
            prompt=prompt,
            branch=branch,
            content=given["content"],
            base=version_named(prompt, given.get("base"), field="base"),
            revision=given["revision"],
        )
        return Response(KeptDraftOutput(draft).data)

    @extend_schema(operation_id="drafts_drop", responses={204: None})
    def delete(self, request: Request, prompt_id: uuid.UUID, branch: str) -> Response:
        """Remove my draft: it was saved as a version, or is not wanted any more."""
        prompt = access.prompt_for(request.user, prompt_id)
        services.drop_draft(person=person(request), prompt=prompt, branch=branch)
        return Response(status=204)
