from __future__ import annotations

import uuid

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from playground.api.asking import checked, person
from review import services
from review.api.serializers import CommentInput, CommentOutput
from review.asking import comment_for
from review.presenting import comment_json


class CommentDetail(APIView):
    @extend_schema(operation_id="comments_update", request=CommentInput, responses=CommentOutput)
    def patch(self, request: Request, comment_id: uuid.UUID) -> Response:
        """Change one's own comment."""
        comment = comment_for(request.user, comment_id)
        given = checked(CommentInput, request)
        edited = services.edit_comment(
            person=person(request), comment=comment, body=given["body"], mentions=given["mentions"]
        )
        return Response(comment_json(edited, person(request)))

    @extend_schema(operation_id="comments_delete", responses={204: None})
    def delete(self, request: Request, comment_id: uuid.UUID) -> Response:
        """Delete one's own comment, or any on one's own prompt. A thread goes with its last comment."""
        services.delete_comment(person=person(request), comment=comment_for(request.user, comment_id))
        return Response(status=204)
