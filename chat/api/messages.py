from __future__ import annotations

import uuid

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView

from chat import services
from chat.api import asking, serializers
from chat.messages import Reference, Told
from chat.models import Message

PAGE = 50
MAX_PAGE = 100
LAST = 2**63 - 1


class MessageList(APIView):
    @extend_schema(
        operation_id="chat_messages_list",
        parameters=[
            OpenApiParameter(
                "before", OpenApiTypes.INT, description="Only messages with a lower `seq`; `next` has it."
            ),
            OpenApiParameter("limit", OpenApiTypes.INT, description=f"{PAGE} by default, {MAX_PAGE} at most."),
        ],
        responses=serializers.MessageOutput(many=True),
    )
    def get(self, request: Request, conversation_id: uuid.UUID) -> Response:
        """The messages of a conversation, newest first. New ones shift nothing: pages are cut by `seq`."""
        conversation = asking.own_conversation(request, conversation_id)
        limit = asking.number(request, "limit", lowest=1, highest=MAX_PAGE, default=PAGE)
        before = asking.number(request, "before", lowest=0, highest=LAST, default=LAST)
        asked = Message.objects.visible_to(asking.person(request)).filter(conversation=conversation, seq__lt=before)
        rows = list(asked.newest_first()[: limit + 1])
        following = None
        if len(rows) > limit:
            rows = rows[:limit]
            following = replace_query_param(request.build_absolute_uri(), "before", str(rows[-1].seq))
        return Response({"results": [Told.of(row).as_json() for row in rows], "next": following})

    @extend_schema(
        operation_id="chat_messages_create",
        request=serializers.MessageInput,
        responses={201: serializers.SentOutput, 200: serializers.SentOutput},
    )
    def post(self, request: Request, conversation_id: uuid.UUID) -> Response:
        """Send a message. `client_msg_id` does what `Idempotency-Key` does elsewhere: a repeat answers 200."""
        given = asking.checked(serializers.MessageInput, request)
        reference = Reference(**given["reference"]) if given["reference"] else None
        sent = services.send_message(
            sender=asking.person(request),
            conversation=asking.own_conversation(request, conversation_id),
            client_msg_id=given["client_msg_id"],
            body=given["body"],
            reference=reference,
        )
        body = {**sent.message.as_json(), "duplicate": sent.duplicate}
        return Response(body, status=200 if sent.duplicate else 201)


class MessageDetail(APIView):
    @extend_schema(operation_id="chat_message_edit", request=serializers.EditInput, responses=serializers.MessageOutput)
    def patch(self, request: Request, message_id: uuid.UUID) -> Response:
        """Change a message of mine, within 15 minutes."""
        body = asking.checked(serializers.EditInput, request)["body"]
        told = services.edit_message(sender=asking.person(request), message_id=message_id, body=body)
        return Response(told.as_json())

    @extend_schema(operation_id="chat_message_delete", responses={204: None})
    def delete(self, request: Request, message_id: uuid.UUID) -> Response:
        """Take a message of mine back: its text is gone for both."""
        services.delete_message(sender=asking.person(request), message_id=message_id)
        return Response(status=204)


class MessageReport(APIView):
    @extend_schema(
        operation_id="chat_message_report",
        request=serializers.ReportInput,
        responses={201: serializers.ReportOutput},
    )
    def post(self, request: Request, message_id: uuid.UUID) -> Response:
        """Report a message that I received, to the operators; its text is kept with the report."""
        reason = asking.checked(serializers.ReportInput, request)["reason"]
        report = services.report_message(person=asking.person(request), message_id=message_id, reason=reason)
        return Response({"id": str(report.pk), "created_at": report.created_at}, status=201)


class MessageSearch(APIView):
    @extend_schema(
        operation_id="chat_messages_search",
        parameters=[
            OpenApiParameter("q", OpenApiTypes.STR, required=True, description='Words; "a phrase"; -without.'),
            OpenApiParameter("cursor", OpenApiTypes.UUID, description="`next` carries it."),
        ],
        responses=serializers.MessageOutput(many=True),
    )
    def get(self, request: Request) -> Response:
        """Messages of my conversations with these words, newest first."""
        found, following = Message.objects.visible_to(asking.person(request)).search_page(
            request.query_params.get("q", "")[:500], after=asking.optional_id(request, "cursor"), limit=PAGE
        )
        next_page = replace_query_param(request.build_absolute_uri(), "cursor", str(following)) if following else None
        return Response({"results": [Told.of(row).as_json() for row in found], "next": next_page})
