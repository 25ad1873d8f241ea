"""Sharing with people by name."""

from __future__ import annotations

import uuid

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.paging import NewestFirst
from playground import access
from playground.api.asking import checked, person
from sharing import services
from sharing.access import role_of
from sharing.api import asking
from sharing.api.links import revoked
from sharing.api.serializers import AccessOutput, GrantChanges, GrantInput, GrantOutput, RevokedOutput
from sharing.models import Grant


class GrantList(APIView):
    @extend_schema(operation_id="grants_list", responses=GrantOutput(many=True))
    def get(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """The people a prompt is shared with, for who may share it."""
        prompt = asking.shared_prompt(person(request), prompt_id)
        pages = NewestFirst()
        rows = pages.paginate_queryset(Grant.objects.on(prompt.pk).select_related("account", "granted_by"), request)
        return pages.get_paginated_response(GrantOutput(rows, many=True).data)

    @extend_schema(operation_id="grants_create", request=GrantInput, responses={201: GrantOutput})
    def post(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """Share with one person, or change what they have: asked twice, it is one grant."""
        prompt = asking.shared_prompt(person(request), prompt_id)
        given = checked(GrantInput, request)
        to = asking.person_named(given.pop("account"))
        grant = services.grant_access(person=person(request), prompt=prompt, account=to, **given)
        return Response(GrantOutput(grant).data, status=201)


class GrantDetail(APIView):
    @extend_schema(operation_id="grants_update", request=GrantChanges(partial=True), responses=GrantOutput)
    def patch(self, request: Request, grant_id: uuid.UUID) -> Response:
        """Another role, another end."""
        grant = asking.grant_for(person(request), grant_id)
        given = checked(GrantChanges, request, partial=True)
        return Response(GrantOutput(services.change_grant(person=person(request), grant=grant, **given)).data)

    @extend_schema(operation_id="grants_revoke", responses=RevokedOutput)
    def delete(self, request: Request, grant_id: uuid.UUID) -> Response:
        """Take it back."""
        grant = services.revoke_grant(person=person(request), grant=asking.grant_for(person(request), grant_id))
        return revoked(grant.revoked_at)


class Access(APIView):
    @extend_schema(operation_id="prompts_access", responses=AccessOutput)
    def get(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """What I may do with a prompt. 404 once that has ended: open pages ask every few seconds."""
        prompt = access.prompt_for(request.user, prompt_id)
        role = role_of(person(request), prompt)
        return Response(AccessOutput({"role": role, "can": access.abilities(request.user, prompt)}).data)

    @extend_schema(operation_id="prompts_leave", responses={204: None})
    def delete(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """Leave a prompt that somebody shares with me."""
        services.leave_prompt(person=person(request), prompt=access.prompt_for(request.user, prompt_id))
        return Response(status=204)


class RevokeAll(APIView):
    @extend_schema(operation_id="prompts_revoke_all", request=None, responses=RevokedOutput)
    def post(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """End every link and every grant: nobody but its owner sees it any more."""
        prompt = access.prompt_for(request.user, prompt_id, access.OWN)
        return revoked(services.revoke_all(person=person(request), prompt=prompt))
