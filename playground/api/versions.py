from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import label_of
from core.errors import InvalidInput
from core.paging import NewestFirst
from playground import access, freezing, services, wire
from playground import spec as specs
from playground.api.asking import IDEMPOTENCY_KEY, POINTER, checked, idempotency_key, person, version_named
from playground.models import Branch, Prompt, Version
from playground.serializers import SavedVersionOutput, VersionDetailOutput, VersionInput, VersionListOutput

#: How long an answer for a pointer (a branch, `latest`) may be reused by its receiver: the stated staleness.
POINTER_SECONDS = 5
#: `variables`: their names alone, for who does not need the texts.
_INCLUDABLE = ("texts", "variables")
_FOR_EVER = "private, max-age=31536000, immutable"
_FOR_A_MOMENT = f"private, max-age={POINTER_SECONDS}"


class VersionList(APIView):
    @extend_schema(
        operation_id="versions_list",
        parameters=[OpenApiParameter("cursor", OpenApiTypes.STR), OpenApiParameter("limit", OpenApiTypes.INT)],
        responses=VersionListOutput(many=True),
    )
    def get(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """The versions of a prompt, newest first."""
        prompt = access.prompt_for(request.user, prompt_id)
        pages = NewestFirst()
        rows = pages.paginate_queryset(Version.objects.filter(prompt=prompt).listed(), request)
        return pages.get_paginated_response(_listed(prompt, rows))

    @extend_schema(
        operation_id="versions_create",
        request=VersionInput,
        responses={201: SavedVersionOutput},
        parameters=[IDEMPOTENCY_KEY],
    )
    def post(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """Save a version. Never refused because somebody saved first: then `forked` is true."""
        prompt, parent = _prompt_and_parent(request, prompt_id)
        given = checked(VersionInput, request)
        saved = services.save_version(
            author=person(request),
            prompt=prompt,
            spec=specs.parse(given["spec"]),
            parent=parent or version_named(prompt, given.get("parent"), field="parent"),
            merged=version_named(prompt, given.get("merged"), field="merged"),
            branch=given["branch"],
            message=given["message"],
            idempotency_key=idempotency_key(request),
        )
        version = saved.version
        body = {
            "id": str(version.pk),
            "number": version.number,
            "parent": version.parent.number if version.parent else None,
            "branch": saved.branch,
            "digest": version.digest_hex,
            "forked": saved.forked,
        }
        return Response(body, status=201)


class VersionDetail(APIView):
    @extend_schema(
        operation_id="versions_read",
        parameters=[POINTER, OpenApiParameter("include", OpenApiTypes.STR, enum=list(_INCLUDABLE))],
        responses=VersionDetailOutput,
    )
    def get(self, request: Request, prompt_id: uuid.UUID, pointer: str) -> HttpResponse:
        """One version. A number is cacheable for ever; `latest` and branches for a few seconds."""
        version = access.version_for(request.user, prompt_id, pointer)
        include = _included(request)
        etag = f'"{version.digest_hex}.{version.number}{f".{include}" if include else ""}"'
        cache = _FOR_EVER if access.is_pinned(pointer) else _FOR_A_MOMENT
        headers = {"ETag": etag, "Cache-Control": cache, "Vary": "Cookie, Authorization"}
        if etag in [tag.strip() for tag in request.headers.get("If-None-Match", "").split(",")]:
            return HttpResponse(status=304, headers=headers)
        whole = freezing.thaw(version) if include else None
        body = {
            **_told(version),
            "spec": whole if whole and include == "texts" else freezing.with_lengths(version),
            "variables_used": wire.used_names(whole) if whole else None,
        }
        return Response(body, headers=headers)


def _prompt_and_parent(request: Request, prompt_id: uuid.UUID) -> tuple[Prompt, Version | None]:
    """The prompt that may be changed, and the parent in the body, if that is a number: both in one query."""
    number = request.data.get("parent") if isinstance(request.data, dict) else None
    if isinstance(number, int) and not isinstance(number, bool) and 0 < number < 2**31:
        return access.prompt_and_version(request.user, prompt_id, number, access.CHANGE)
    return access.prompt_for(request.user, prompt_id, access.CHANGE), None


def _listed(prompt: Prompt, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As VersionListOutput says. Its serializer would take most of the time of a list of a hundred."""
    heads: dict[uuid.UUID, list[str]] = {}
    named = Branch.objects.filter(prompt=prompt, head__in=[row["id"] for row in rows])
    for head, name in named.values_list("head_id", "name"):
        heads.setdefault(head, []).append(name)
    return [
        {
            "id": str(row["id"]),
            "number": row["number"],
            "parent": row["parent__number"],
            "author": None if row["author__email"] is None else label_of(row["author__name"], row["author__email"]),
            "message": row["message"],
            "model": row["model"],
            "digest": bytes(row["digest"]).hex(),
            "created_at": _time(row["created_at"]),
            "branches": sorted(heads.get(row["id"], ())),
        }
        for row in rows
    ]


def _told(version: Version) -> dict[str, Any]:
    """As VersionOutput says, by hand for the same reason."""
    return {
        "id": str(version.pk),
        "number": version.number,
        "parent": version.parent.number if version.parent else None,
        "author": version.author.label if version.author else None,
        "message": version.message,
        "model": version.model,
        "digest": version.digest_hex,
        "created_at": _time(version.created_at),
    }


def _time(moment: dt.datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def _included(request: Request) -> str:
    include = request.query_params.get("include", "")
    if include not in ("", *_INCLUDABLE):
        raise InvalidInput(f"What can be included: {', '.join(_INCLUDABLE)}.", field="include")
    return include
