"""The REST calls on prompts and versions. Parse, call, answer."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from django.conf import settings
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import User
from core.errors import InvalidInput, NotFound
from core.paging import NewestFirst
from core.parsers import parse_json
from inference_client import catalogue
from playground import access, freezing, services, snippets, wire
from playground import spec as specs
from playground.models import Prompt, Version
from playground.serializers import (
    PromptInput,
    PromptOutput,
    QueuedRunOutput,
    RunInput,
    SavedVersionOutput,
    VersionDetailOutput,
    VersionInput,
    VersionListOutput,
)

#: How long an answer for a pointer (a branch, `latest`) may be reused by its receiver: the stated staleness.
POINTER_SECONDS = 5
_FOR_EVER = "private, max-age=31536000, immutable"
_FOR_A_MOMENT = f"private, max-age={POINTER_SECONDS}"

IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key", OpenApiTypes.STR, OpenApiParameter.HEADER, description="One key, one object, however often sent."
)
POINTER = OpenApiParameter(
    "pointer", OpenApiTypes.STR, OpenApiParameter.PATH, description="A version number, `latest` or a branch name."
)


def person(request: Request) -> User:
    return access.signed_in(request.user)


class PromptList(APIView):
    @extend_schema(
        operation_id="prompts_list",
        parameters=[
            OpenApiParameter("q", OpenApiTypes.STR, description="Words in name or description."),
            OpenApiParameter("tag", OpenApiTypes.STR),
            OpenApiParameter("folder", OpenApiTypes.STR),
            OpenApiParameter("cursor", OpenApiTypes.STR),
            OpenApiParameter("limit", OpenApiTypes.INT),
        ],
        responses=PromptOutput(many=True),
    )
    def get(self, request: Request) -> Response:
        """My prompts, newest first."""
        found = Prompt.objects.visible_to(person(request)).matching(request.query_params.get("q", ""))
        for name, lookup in (("tag", "tags__contains"), ("folder", "folder")):
            value = request.query_params.get(name)
            if value is not None:
                found = found.filter(**{lookup: [value] if name == "tag" else value})
        pages = NewestFirst()
        rows = pages.paginate_queryset(found.with_latest_number(), request)
        return pages.get_paginated_response(PromptOutput(rows, many=True).data)

    @extend_schema(
        operation_id="prompts_create", request=PromptInput, responses={201: PromptOutput}, parameters=[IDEMPOTENCY_KEY]
    )
    def post(self, request: Request) -> Response:
        """A new prompt."""
        given = _checked(PromptInput, request)
        prompt = services.create_prompt(owner=person(request), idempotency_key=_key(request), **given)
        return Response(PromptOutput(prompt).data, status=201)


class PromptDetail(APIView):
    @extend_schema(operation_id="prompts_read", responses=PromptOutput)
    def get(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """One prompt."""
        prompt = access.prompt_for(request.user, prompt_id)
        return Response(PromptOutput(Prompt.objects.with_latest_number().get(pk=prompt.pk)).data)

    @extend_schema(operation_id="prompts_update", request=PromptInput(partial=True), responses=PromptOutput)
    def patch(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """Rename it, or change its description, tags or folder."""
        prompt = access.prompt_for(request.user, prompt_id, access.CHANGE)
        services.update_prompt(prompt=prompt, **_checked(PromptInput, request, partial=True))
        return Response(PromptOutput(Prompt.objects.with_latest_number().get(pk=prompt.pk)).data)


class VersionList(APIView):
    @extend_schema(
        operation_id="versions_list",
        parameters=[OpenApiParameter("cursor", OpenApiTypes.STR), OpenApiParameter("limit", OpenApiTypes.INT)],
        responses=VersionListOutput(many=True),
    )
    def get(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """The versions of a prompt, newest first."""
        prompt = access.prompt_for(request.user, prompt_id)
        versions = Version.objects.filter(prompt=prompt).select_related("author", "parent").prefetch_related("heads")
        pages = NewestFirst()
        rows = pages.paginate_queryset(versions.defer("spec"), request)
        return pages.get_paginated_response(VersionListOutput(rows, many=True).data)

    @extend_schema(
        operation_id="versions_create",
        request=VersionInput,
        responses={201: SavedVersionOutput},
        parameters=[IDEMPOTENCY_KEY],
    )
    def post(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """Save a version. Never refused because somebody saved first: then `forked` is true."""
        prompt = access.prompt_for(request.user, prompt_id, access.CHANGE)
        given = _checked(VersionInput, request)
        saved = services.save_version(
            author=person(request),
            prompt=prompt,
            spec=specs.parse(given["spec"]),
            parent=_parent(prompt, given.get("parent")),
            branch=given["branch"],
            message=given["message"],
            idempotency_key=_key(request),
        )
        version = saved.version
        body = {
            "id": version.pk,
            "number": version.number,
            "parent": version.parent.number if version.parent else None,
            "branch": saved.branch,
            "digest": version.digest_hex,
            "forked": saved.forked,
        }
        return Response(SavedVersionOutput(body).data, status=201)


class VersionDetail(APIView):
    @extend_schema(
        operation_id="versions_read",
        parameters=[POINTER, OpenApiParameter("include", OpenApiTypes.STR, enum=["texts"])],
        responses=VersionDetailOutput,
    )
    def get(self, request: Request, prompt_id: uuid.UUID, pointer: str) -> HttpResponse:
        """One version. A number is cacheable for ever; `latest` and branches for a few seconds."""
        prompt = access.prompt_for(request.user, prompt_id)
        version = access.version_of(prompt, pointer)
        texts = _included(request)
        etag = f'"{version.digest_hex}.{version.number}{".texts" if texts else ""}"'
        cache = _FOR_EVER if access.is_pinned(pointer) else _FOR_A_MOMENT
        headers = {"ETag": etag, "Cache-Control": cache, "Vary": "Cookie, Authorization"}
        if etag in [tag.strip() for tag in request.headers.get("If-None-Match", "").split(",")]:
            return HttpResponse(status=304, headers=headers)
        spec = freezing.thaw(version) if texts else freezing.with_lengths(version)
        context = {"spec": spec, "variables_used": wire.used_names(spec) if texts else None}
        return Response(VersionDetailOutput(version, context=context).data, headers=headers)


class RunList(APIView):
    @extend_schema(
        operation_id="versions_run",
        request=RunInput,
        responses={201: QueuedRunOutput},
        parameters=[POINTER, IDEMPOTENCY_KEY],
    )
    def post(self, request: Request, prompt_id: uuid.UUID, pointer: str) -> Response:
        """Send a version to a model once. Follow it at `runs/{id}/events`."""
        prompt = access.prompt_for(request.user, prompt_id, access.RUN)
        version = access.version_of(prompt, pointer)
        given = _checked(RunInput, request)
        model = given["model"] or version.model
        catalogue.refuse_unknown(model)
        run = services.run_version(
            account=person(request),
            version=version,
            values=wire.variable_values(given["variables"]),
            model=given["model"],
            turns=specs.parse_turns(given.get("messages", [])),
            idempotency_key=_key(request),
        )
        return Response(QueuedRunOutput({"id": run.pk, "status": run.status}).data, status=201)


class Snippet(APIView):
    # Content negotiation is not asked: a snippet is plain text whatever the caller accepts.
    _plain: ClassVar[str] = "text/plain; charset=utf-8"

    @extend_schema(
        operation_id="versions_snippet",
        parameters=[
            POINTER,
            OpenApiParameter("language", OpenApiTypes.STR, OpenApiParameter.PATH, enum=list(snippets.LANGUAGES)),
            OpenApiParameter("variables", OpenApiTypes.STR, description="JSON object of values to fill in."),
            OpenApiParameter("stream", OpenApiTypes.BOOL, description="Default true: the request that a run sends."),
        ],
        responses={(200, "text/plain"): OpenApiTypes.STR},
    )
    def get(self, request: Request, prompt_id: uuid.UUID, pointer: str, language: str) -> HttpResponse:
        """The version as a call from your own code. Variables without a value stay as `{{name}}`."""
        prompt = access.prompt_for(request.user, prompt_id)
        version = access.version_of(prompt, pointer)
        render = snippets.LANGUAGES.get(language)
        if render is None:
            raise NotFound
        spec = freezing.thaw(version)
        values = wire.variable_values(_query_json(request, "variables"))
        stream = request.query_params.get("stream", "true") != "false"
        body = wire.build(spec, wire.complete_values(spec, values), stream=stream)
        text = render(body, base_url=settings.INFERENCE_PUBLIC_URL, api_version=wire.api_version(spec))
        return HttpResponse(text, content_type=self._plain)


def _checked(serializer: type[Any], request: Request, *, partial: bool = False) -> dict[str, Any]:
    """The validated body. Raises InvalidInput (through REST framework's ValidationError) naming the field."""
    check = serializer(data=request.data, partial=partial)
    check.is_valid(raise_exception=True)
    given: dict[str, Any] = check.validated_data
    return given


def _key(request: Request) -> str | None:
    return request.headers.get("Idempotency-Key")


def _included(request: Request) -> bool:
    include = request.query_params.get("include", "")
    if include not in ("", "texts"):
        raise InvalidInput("Only `texts` can be included.", field="include")
    return include == "texts"


def _query_json(request: Request, name: str) -> Any:
    raw = request.query_params.get(name)
    if not raw:
        return {}
    try:
        return parse_json(raw.encode("utf-8", "surrogatepass"))
    except InvalidInput as error:
        raise InvalidInput(error.message, code=error.code, field=name) from error


def _parent(prompt: Prompt, given: object) -> Version | None:
    """The parent by number or id; one of another prompt is as unknown as one that does not exist."""
    if given is None:
        return None
    versions = Version.objects.filter(prompt=prompt)
    found = None
    if isinstance(given, int) and not isinstance(given, bool) and 0 < given < 2**31:
        found = versions.filter(number=given).first()
    elif isinstance(given, str):
        found = _by_text(versions, given)
    if found is None:
        raise InvalidInput("This prompt has no such version.", field="parent")
    return found


def _by_text(versions: Any, given: str) -> Version | None:
    if access.is_pinned(given) and len(given) < 10:
        return versions.filter(number=int(given)).first()  # type: ignore[no-any-return]
    try:
        return versions.filter(pk=uuid.UUID(given)).first()  # type: ignore[no-any-return]
    except ValueError:
        return None
