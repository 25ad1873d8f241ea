from __future__ import annotations

import uuid

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from chat import people, services
from chat.api import asking, serializers
from chat.models import Block


class PeopleSearch(APIView):
    @extend_schema(
        operation_id="chat_people_search",
        parameters=[OpenApiParameter("q", OpenApiTypes.STR, required=True, description="A name, or a whole address.")],
        responses=serializers.FoundPersonOutput(many=True),
    )
    def get(self, request: Request) -> Response:
        """People to write to. A whole e-mail address finds its account, the beginning of a name those who have one."""
        found = people.find_people(asking.person(request), request.query_params.get("q", ""))
        rows = [{"id": str(each.person.pk), "name": each.person.label, "email": each.email} for each in found]
        return Response({"results": rows, "next": None})


class BlockList(APIView):
    @extend_schema(operation_id="chat_blocks_list", responses=serializers.PersonOutput(many=True))
    def get(self, request: Request) -> Response:
        """Whom I blocked."""
        blocks = Block.objects.filter(blocker=asking.person(request)).select_related("blocked").order_by("-pk")
        rows = [{"id": str(each.blocked_id), "name": each.blocked.label} for each in blocks]
        return Response({"results": rows, "next": None})


class BlockDetail(APIView):
    @extend_schema(operation_id="chat_block", request=None, responses={204: None})
    def put(self, request: Request, person_id: uuid.UUID) -> Response:
        """No message, typing or presence passes between us any more. An unknown id answers the same."""
        peer = asking.peer(person_id)
        if not peer._state.adding:
            services.block_person(person=asking.person(request), peer=peer)
        return Response(status=204)

    @extend_schema(operation_id="chat_unblock", responses={204: None})
    def delete(self, request: Request, person_id: uuid.UUID) -> Response:
        """Undo my block; the other one's stays."""
        services.unblock_person(person=asking.person(request), peer=asking.peer(person_id))
        return Response(status=204)
