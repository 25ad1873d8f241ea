"""Share links. The address is in the answer of the call that made it, and nowhere else."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.paging import NewestFirst
from playground.api.asking import IDEMPOTENCY_KEY, checked, idempotency_key, person
from sharing import services
from sharing.api import asking
from sharing.api.serializers import LinkChanges, LinkOutput, NewLinkOutput, RevokedOutput
from sharing.models import ShareLink
from sharing.targets import Target


def new_link_json(made: services.NewLink) -> dict[str, Any]:
    """A link with its address, where that is known."""
    shown: dict[str, Any] = dict(LinkOutput(made.link).data)
    shown["replayed"] = made.token is None
    if made.token is not None:
        shown["url"] = settings.PUBLIC_URL + reverse("share-landing", args=[made.token])
    return shown


class LinkList(APIView):
    @extend_schema(operation_id="links_list", responses=LinkOutput(many=True))
    def get(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """The links to a prompt that were not revoked, for who may share it."""
        prompt = asking.shared_prompt(person(request), prompt_id)
        pages = NewestFirst()
        rows = pages.paginate_queryset(ShareLink.objects.on(prompt.pk).select_related("target_version"), request)
        return pages.get_paginated_response(LinkOutput(rows, many=True).data)

    @extend_schema(
        operation_id="links_create", request=LinkChanges, responses={201: NewLinkOutput}, parameters=[IDEMPOTENCY_KEY]
    )
    def post(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """A link to a version for ever, or to whatever a branch or label points at."""
        prompt = asking.shared_prompt(person(request), prompt_id)
        given = checked(LinkChanges, request)
        target = Target.read(prompt, given.pop("target"))
        made = services.create_link(
            person=person(request), prompt=prompt, target=target, idempotency_key=idempotency_key(request), **given
        )
        return Response(new_link_json(made), status=201)


class LinkDetail(APIView):
    @extend_schema(operation_id="links_update", request=LinkChanges(partial=True), responses=LinkOutput)
    def patch(self, request: Request, link_id: uuid.UUID) -> Response:
        """Change a link in place: its address stays. `password: null` takes the password away."""
        link = asking.link_for(person(request), link_id)
        given = checked(LinkChanges, request, partial=True)
        if "target" in given:
            given["target"] = Target.read(link.prompt, given["target"])
        return Response(LinkOutput(services.narrow_link(person=person(request), link=link, **given)).data)


class LinkRevoke(APIView):
    @extend_schema(operation_id="links_revoke", request=None, responses=RevokedOutput)
    def post(self, request: Request, link_id: uuid.UUID) -> Response:
        """End a link for everybody who came by it, and for nobody else."""
        link = services.revoke_link(person=person(request), link=asking.link_for(person(request), link_id))
        return revoked(link.revoked_at)


class LinkRotate(APIView):
    @extend_schema(operation_id="links_rotate", request=None, responses=NewLinkOutput)
    def post(self, request: Request, link_id: uuid.UUID) -> Response:
        """Another address for the same link. The old one ends, and everybody's visit by it."""
        made = services.rotate_link(person=person(request), link=asking.link_for(person(request), link_id))
        return Response(new_link_json(made))


def revoked(moment: object) -> Response:
    """When it took effect, and how long it may take to reach every open tab."""
    return Response(RevokedOutput({"revoked_at": moment, "bound_s": settings.SHARING_BOUND_S}).data)
