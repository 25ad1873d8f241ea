"""The texts of a version one by one, in windows: for texts too long to be sent, or drawn, at once."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from playground import access
from playground.api.asking import POINTER
from playground.text_answers import FOR_EVER, NOT_KEPT, AskedText, Search, asked_text, lines_of, search_in, send

INDEX = OpenApiParameter(
    "index",
    OpenApiTypes.INT,
    OpenApiParameter.PATH,
    description="Which text, from 0, in the order of the request: system, messages, tools, output schema.",
)


class TextLinesOutput(serializers.Serializer[Any]):
    sha256 = serializers.CharField()
    bytes = serializers.IntegerField()
    lines = serializers.IntegerField(help_text="Line feeds plus one.")
    longest_line_bytes = serializers.IntegerField()
    index = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField()),
        help_text="`[byte offset, number of the line it is in (from 1), offset in UTF-16 units]`, every 64 KiB.",
    )


class TextMatchOutput(serializers.Serializer[Any]):
    offset = serializers.IntegerField(help_text="In bytes.")
    length = serializers.IntegerField(help_text="In bytes.")
    line = serializers.IntegerField(help_text="From 1.")
    before = serializers.CharField()
    match = serializers.CharField()
    after = serializers.CharField()


class TextSearchOutput(serializers.Serializer[Any]):
    matches = TextMatchOutput(many=True)
    next = serializers.IntegerField(allow_null=True, help_text="Go on with `from` this; null: all was searched.")


def _asked(request: Request, prompt_id: uuid.UUID, pointer: str, index: int) -> AskedText:
    """Permission first; only then is anything looked up by its hash. Raises NotFound."""
    version = access.version_of(access.prompt_for(request.user, prompt_id), pointer)
    return asked_text(version, index, cache=FOR_EVER if access.is_pinned(pointer) else NOT_KEPT)


class Text(APIView):
    @extend_schema(
        operation_id="texts_read",
        parameters=[POINTER, INDEX, OpenApiParameter("Range", OpenApiTypes.STR, OpenApiParameter.HEADER)],
        responses={(200, "text/plain"): OpenApiTypes.STR, (206, "text/plain"): OpenApiTypes.STR, 416: None},
    )
    def get(self, request: Request, prompt_id: uuid.UUID, pointer: str, index: int) -> HttpResponse:
        """One text of a version in UTF-8, whole or the `Range` asked for. A range may cut a character."""
        return send(request, _asked(request, prompt_id, pointer, index))


class TextLines(APIView):
    @extend_schema(operation_id="texts_lines", parameters=[POINTER, INDEX], responses=TextLinesOutput)
    def get(self, request: Request, prompt_id: uuid.UUID, pointer: str, index: int) -> HttpResponse:
        """How long a text is and where its lines are, for showing it in windows."""
        asked = _asked(request, prompt_id, pointer, index)
        if asked.is_known(request):
            return HttpResponse(status=304, headers=asked.headers)
        return Response(lines_of(asked), headers=asked.headers)


class TextSearch(APIView):
    @extend_schema(
        operation_id="texts_search",
        parameters=[
            POINTER,
            INDEX,
            OpenApiParameter("q", OpenApiTypes.STR, required=True, description="What to find, literally."),
            OpenApiParameter("from", OpenApiTypes.INT, description="Byte to start at; default 0."),
            OpenApiParameter("case", OpenApiTypes.STR, enum=["match", "ignore"], description="Default: ignore."),
            OpenApiParameter("limit", OpenApiTypes.INT, description="At most so many matches: 100 by default, 500."),
        ],
        responses=TextSearchOutput,
    )
    def get(self, request: Request, prompt_id: uuid.UUID, pointer: str, index: int) -> Response:
        """Where something is written in a text. Bounded in number and time: go on from `next`."""
        wanted = Search.read(request.query_params)
        return Response(search_in(_asked(request, prompt_id, pointer, index), wanted))
