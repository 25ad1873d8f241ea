"""The texts of a version one by one, in windows: for texts too long to be sent, or drawn, at once."""

from __future__ import annotations

import dataclasses
import time
import uuid
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.errors import InvalidInput, NotFound
from playground import access, freezing
from playground.api.asking import POINTER
from playground.api.ranges import Unsatisfiable, parse_range
from playground.bodies.recent import ReadText, recent_texts
from playground.long_texts import search
from playground.models import Version

INDEX = OpenApiParameter(
    "index",
    OpenApiTypes.INT,
    OpenApiParameter.PATH,
    description="Which text, from 0, in the order of the request: system, messages, tools, output schema.",
)
MAX_WORDS = 1000
SEARCH_S = 0.5
_FOR_EVER = "private, max-age=31536000, immutable"


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


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """A text of a version that this person may read."""

    version: Version
    sha256: str
    pinned: bool

    @property
    def headers(self) -> dict[str, str]:
        return {
            "ETag": f'"{self.sha256}"',
            "Cache-Control": _FOR_EVER if self.pinned else "private, no-store",
            "Vary": "Cookie, Authorization",
        }

    def is_known(self, request: Request) -> bool:
        tags = [tag.strip().removeprefix("W/") for tag in request.headers.get("If-None-Match", "").split(",")]
        return self.headers["ETag"] in tags or "*" in tags

    def read(self) -> ReadText:
        return recent_texts.get(prompt_id=self.version.prompt_id, sha256=self.sha256)


def _asked(request: Request, prompt_id: uuid.UUID, pointer: str, index: int) -> _Asked:
    """Permission first; only then is anything looked up by its hash. Raises NotFound."""
    version = access.version_of(access.prompt_for(request.user, prompt_id), pointer)
    names = freezing.references(version.frozen)
    if index >= len(names):
        raise NotFound
    return _Asked(version=version, sha256=names[index], pinned=access.is_pinned(pointer))


class Text(APIView):
    @extend_schema(
        operation_id="texts_read",
        parameters=[POINTER, INDEX, OpenApiParameter("Range", OpenApiTypes.STR, OpenApiParameter.HEADER)],
        responses={(200, "text/plain"): OpenApiTypes.STR, (206, "text/plain"): OpenApiTypes.STR, 416: None},
    )
    def get(self, request: Request, prompt_id: uuid.UUID, pointer: str, index: int) -> HttpResponse:
        """One text of a version in UTF-8, whole or the `Range` asked for. A range may cut a character."""
        asked = _asked(request, prompt_id, pointer, index)
        if asked.is_known(request):
            return HttpResponse(status=304, headers=asked.headers)
        data = asked.read().data
        headers = {
            **asked.headers,
            "Accept-Ranges": "bytes",
            "Content-Disposition": f'attachment; filename="version-{asked.version.number}-text-{index}.txt"',
            "X-Content-Type-Options": "nosniff",
        }
        given = request.headers.get("Range")
        if request.headers.get("If-Range", headers["ETag"]) != headers["ETag"]:
            given = None
        try:
            window = parse_range(given, len(data))
        except Unsatisfiable:
            headers["Content-Range"] = f"bytes */{len(data)}"
            headers["Cache-Control"] = "no-store"
            return HttpResponse(status=416, headers=headers)
        plain = "text/plain; charset=utf-8"
        if window is None:
            return HttpResponse(data, content_type=plain, headers=headers)
        first, last = window
        headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
        return HttpResponse(data[first : last + 1], status=206, content_type=plain, headers=headers)


class TextLines(APIView):
    @extend_schema(operation_id="texts_lines", parameters=[POINTER, INDEX], responses=TextLinesOutput)
    def get(self, request: Request, prompt_id: uuid.UUID, pointer: str, index: int) -> HttpResponse:
        """How long a text is and where its lines are, for showing it in windows."""
        asked = _asked(request, prompt_id, pointer, index)
        if asked.is_known(request):
            return HttpResponse(status=304, headers=asked.headers)
        found = asked.read().lines
        body = {
            "sha256": asked.sha256,
            "bytes": found.byte_length,
            "lines": found.lines,
            "longest_line_bytes": found.longest_line,
            "index": [[mark.offset, mark.line, mark.utf16] for mark in found.landmarks],
        }
        return Response(body, headers=asked.headers)


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
        words = request.query_params.get("q", "")
        if not 0 < len(words) <= MAX_WORDS:
            raise InvalidInput(f"Say what to find, in 1 to {MAX_WORDS} characters.", field="q")
        start, most = (_number(request, name, default) for name, default in (("from", 0), ("limit", 100)))
        case = request.query_params.get("case", "ignore")
        if case not in ("match", "ignore"):
            raise InvalidInput("Case is `match` or `ignore`.", field="case")
        text = _asked(request, prompt_id, pointer, index).read()
        deadline = time.monotonic() + SEARCH_S
        found = search(
            text.data,
            text.lines,
            words,
            start=start,
            match_case=case == "match",
            most=max(1, min(most, 500)),
            out_of_time=lambda: time.monotonic() > deadline,
        )
        return Response(dataclasses.asdict(found))


def _number(request: Request, name: str, default: int) -> int:
    written = request.query_params.get(name, "")
    if not written:
        return default
    if not (written.isascii() and written.isdecimal() and len(written) < 19):
        raise InvalidInput("This is a whole number from 0.", field=name)
    return int(written)
