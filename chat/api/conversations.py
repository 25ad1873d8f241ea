from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView

from accounts.models import User
from chat import page_lists, services
from chat.api import asking, serializers
from chat.models import Conversation, Member
from core.errors import NotFound


class ConversationList(APIView):
    @extend_schema(
        operation_id="chat_conversations_list",
        parameters=[OpenApiParameter("cursor", OpenApiTypes.STR, description="`next` carries it.")],
        responses=serializers.ConversationOutput(many=True),
    )
    def get(self, request: Request) -> Response:
        """My conversations, the liveliest first."""
        person = asking.person(request)
        page = page_lists.conversations_page(person, cursor=request.query_params.get("cursor", ""))
        unread = {row.conversation.pk: row.unread for row in page.rows}
        rows = conversations_json(person, [row.conversation for row in page.rows], unread)
        following = replace_query_param(request.build_absolute_uri(), "cursor", page.following)
        return Response({"results": rows, "next": following if page.following else None})

    @extend_schema(
        operation_id="chat_conversations_create",
        request=serializers.ConversationInput,
        responses={201: serializers.ConversationOutput},
    )
    def post(self, request: Request) -> Response:
        """The conversation with somebody, made if there is none yet: once or ten times, it is the same one."""
        person = asking.person(request)
        peer = asking.peer(asking.checked(serializers.ConversationInput, request)["person"])
        return Response(conversation_json(person, services.start_conversation(person=person, peer=peer)), status=201)


class ConversationDetail(APIView):
    @extend_schema(operation_id="chat_conversation_read", responses=serializers.ConversationOutput)
    def get(self, request: Request, conversation_id: uuid.UUID) -> Response:
        """One conversation, with how far both are."""
        conversation = asking.own_conversation(request, conversation_id)
        return Response(conversation_json(asking.person(request), conversation))


class ConversationMarks(APIView):
    @extend_schema(
        operation_id="chat_conversation_mark_read",
        request=serializers.UptoInput,
        responses=serializers.MarksOutput,
    )
    def post(self, request: Request, conversation_id: uuid.UUID) -> Response:
        """Everything up to a `seq` was read. Going back changes nothing."""
        upto = asking.checked(serializers.UptoInput, request)["upto_seq"]
        receipt = services.mark_read(
            person=asking.person(request),
            conversation=asking.own_conversation(request, conversation_id),
            upto_seq=upto,
        )
        return Response({"delivered_upto": receipt.delivered_upto, "read_upto": receipt.read_upto})


class ConversationMute(APIView):
    @extend_schema(operation_id="chat_conversation_mute", request=serializers.MuteInput, responses={204: None})
    def put(self, request: Request, conversation_id: uuid.UUID) -> Response:
        """Muted: it counts its unread, but neither the badge nor a notification tells."""
        services.mute_conversation(
            person=asking.person(request),
            conversation=asking.own_conversation(request, conversation_id),
            muted=asking.checked(serializers.MuteInput, request)["muted"],
        )
        return Response(status=204)


class ConversationClear(APIView):
    @extend_schema(operation_id="chat_conversation_clear", request=serializers.UptoInput, responses={204: None})
    def post(self, request: Request, conversation_id: uuid.UUID) -> Response:
        """Take what is up to a `seq` out of my sight; the other one keeps it."""
        services.clear_conversation(
            person=asking.person(request),
            conversation=asking.own_conversation(request, conversation_id),
            upto_seq=asking.checked(serializers.UptoInput, request)["upto_seq"],
        )
        return Response(status=204)


class Unread(APIView):
    @extend_schema(operation_id="chat_unread", responses=serializers.UnreadOutput)
    def get(self, request: Request) -> Response:
        """How much waits for me, in all and by conversation."""
        counts = page_lists.unread_counts(asking.person(request))
        total = sum(count for _, muted, count in counts if not muted)
        return Response({"total": total, "conversations": {str(place): count for place, _, count in counts}})


def conversation_json(person: User, conversation: Conversation) -> dict[str, Any]:
    counts = {place: count for place, _, count in page_lists.unread_counts(person)}
    rows = conversations_json(person, [conversation], counts)
    if not rows:
        raise NotFound
    return rows[0]


def conversations_json(
    person: User, conversations: list[Conversation], unread: dict[uuid.UUID, int]
) -> list[dict[str, Any]]:
    """Two queries however many there are: the people, and how far they are."""
    peers = User.objects.in_bulk([each.peer_of(person) for each in conversations])
    places = {
        (each.conversation_id, each.user_id): each for each in Member.objects.filter(conversation__in=conversations)
    }
    rows = []
    for each in conversations:
        peer = peers[each.peer_of(person)]
        mine, theirs = places[each.pk, person.pk], places[each.pk, peer.pk]
        rows.append(
            {
                "id": str(each.pk),
                "peer": {"id": str(peer.pk), "name": peer.label},
                "last_seq": each.last_seq,
                "last_message_at": each.last_message_at,
                "unread": unread.get(each.pk, 0),
                "muted": mine.muted_at is not None,
                "read_seq": mine.read_seq,
                "peer_delivered_seq": theirs.delivered_seq,
                "peer_read_seq": theirs.read_seq,
            }
        )
    return rows
