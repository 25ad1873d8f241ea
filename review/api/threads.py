"""Threads of a version, of a prompt, and one of them."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.errors import InvalidInput, NotFound
from core.paging import NewestFirst
from playground import access
from playground.api.asking import IDEMPOTENCY_KEY, POINTER, checked, idempotency_key, person
from playground.models import Version
from review import services
from review.api.serializers import (
    CommentInput,
    CommentOutput,
    ParticipantOutput,
    PlaceInput,
    ThreadInput,
    ThreadListOutput,
    ThreadOutput,
)
from review.asking import thread_for
from review.carrying import carry_threads, threads_of
from review.later import carry_later
from review.models import Thread
from review.people import people_of
from review.presenting import comment_json, present

STATES = ("open", "resolved", "all")
STATE = OpenApiParameter("state", OpenApiTypes.STR, enum=STATES, description="Default: all.")
MOST_PEOPLE = 20


class VersionThreads(APIView):
    @extend_schema(
        operation_id="threads_list",
        parameters=[POINTER, STATE, *(OpenApiParameter(name, OpenApiTypes.STR) for name in ("cursor", "limit"))],
        responses=ThreadListOutput,
    )
    def get(self, request: Request, prompt_id: uuid.UUID, pointer: str) -> Response:
        """The threads that a version shows: written on it, or brought here from those it was made from. Newest first.

        Each says where its passage is here: the same words, found again; or suggested; or outdated. What takes longer
        than a moment to work out is `pending` first.
        """
        version = access.version_of(access.prompt_for(request.user, prompt_id), pointer)
        pages = NewestFirst()
        threads = Thread.objects.filter(pk__in=[each.pk for each in threads_of(version)])
        rows = pages.paginate_queryset(_in_state(threads, request).select_related("version", "resolved_by"), request)
        pending = carry_threads(version, rows)
        if pending:
            carry_later(version)
        answer = pages.get_paginated_response(present(rows, version=version, person=person(request)))
        answer.data["pending"] = pending
        return answer

    @extend_schema(
        operation_id="threads_create",
        parameters=[POINTER, IDEMPOTENCY_KEY],
        request=ThreadInput,
        responses={201: ThreadOutput},
    )
    def post(self, request: Request, prompt_id: uuid.UUID, pointer: str) -> Response:
        """Comment on a passage of a version, or on all of it."""
        prompt = access.prompt_for(request.user, prompt_id, access.COMMENT)
        version = access.version_of(prompt, pointer)
        given = checked(ThreadInput, request)
        thread = services.start_thread(
            person=person(request),
            version=version,
            anchor=_anchor(given["passage"]),
            body=given["body"],
            mentions=given["mentions"],
            idempotency_key=idempotency_key(request),
        )
        return Response(_one(thread.pk, version, request), status=201)


class PromptThreads(APIView):
    @extend_schema(operation_id="prompt_threads_list", parameters=[STATE], responses=ThreadOutput(many=True))
    def get(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """All threads of a prompt, each on the version it was written on. Newest first."""
        prompt = access.prompt_for(request.user, prompt_id)
        pages = NewestFirst()
        threads = _in_state(Thread.objects.on(prompt), request).select_related("version", "resolved_by")
        rows = pages.paginate_queryset(threads, request)
        return pages.get_paginated_response(present(rows, version=None, person=person(request)))


class ThreadDetail(APIView):
    @extend_schema(
        operation_id="threads_read",
        parameters=[OpenApiParameter("version", OpenApiTypes.INT, description="Default: where it was written.")],
        responses=ThreadOutput,
    )
    def get(self, request: Request, thread_id: uuid.UUID) -> Response:
        """A thread with all its comments."""
        thread = thread_for(request.user, thread_id)
        asked = request.query_params.get("version")
        version = access.version_of(thread.prompt, asked) if asked else thread.version
        if carry_threads(version, [thread]):
            carry_later(version)
        return Response(_one(thread.pk, version, request))


class ThreadComments(APIView):
    @extend_schema(
        operation_id="comments_create",
        parameters=[IDEMPOTENCY_KEY],
        request=CommentInput,
        responses={201: CommentOutput},
    )
    def post(self, request: Request, thread_id: uuid.UUID) -> Response:
        """Reply."""
        thread = thread_for(request.user, thread_id, access.COMMENT)
        given = checked(CommentInput, request)
        comment = services.reply(
            person=person(request),
            thread=thread,
            body=given["body"],
            mentions=given["mentions"],
            idempotency_key=idempotency_key(request),
        )
        return Response(comment_json(comment, person(request)), status=201)


class ThreadResolve(APIView):
    @extend_schema(operation_id="threads_resolve", request=None, responses=ThreadOutput)
    def post(self, request: Request, thread_id: uuid.UUID) -> Response:
        """Call a thread settled. Twice is once."""
        thread = services.resolve_thread(
            person=person(request), thread=thread_for(request.user, thread_id, access.COMMENT)
        )
        return Response(_one(thread.pk, thread.version, request))


class ThreadReopen(APIView):
    @extend_schema(operation_id="threads_reopen", request=None, responses=ThreadOutput)
    def post(self, request: Request, thread_id: uuid.UUID) -> Response:
        """Open a settled thread again."""
        thread = services.reopen_thread(thread=thread_for(request.user, thread_id, access.COMMENT))
        return Response(_one(thread.pk, thread.version, request))


class ThreadPlace(APIView):
    @extend_schema(operation_id="threads_place", request=PlaceInput, responses=ThreadOutput)
    def post(self, request: Request, thread_id: uuid.UUID) -> Response:
        """Say whether the place that was found in a version is the right one, or where it is instead."""
        thread = thread_for(request.user, thread_id, access.COMMENT)
        given = checked(PlaceInput, request)
        version = access.version_of(thread.prompt, given["version"])
        who = person(request)
        anchor = _anchor(given.get("passage"))
        if anchor is not None:
            services.attach_thread(person=who, thread=thread, version=version, anchor=anchor)
        else:
            services.decide_placement(person=who, thread=thread, version=version, accept=given["accept"])
        return Response(_one(thread.pk, version, request))


class Mentionable(APIView):
    @extend_schema(
        operation_id="people_list",
        parameters=[OpenApiParameter("q", OpenApiTypes.STR, description="The beginning of a name.")],
        responses=ParticipantOutput(many=True),
    )
    def get(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """Whom a comment on this prompt can mention: all others who may see it by name. For those who may comment."""
        prompt = access.prompt_for(request.user, prompt_id, access.COMMENT)
        asked = " ".join(request.query_params.get("q", "").split()).casefold()[:100]
        others = people_of(prompt).exclude(pk=person(request).pk)
        people = sorted(others, key=lambda each: each.label.casefold())
        found = [each for each in people if asked in each.label.casefold()][:MOST_PEOPLE]
        return Response({"results": [{"id": each.pk, "name": each.label} for each in found], "next": None})


def _one(thread_id: uuid.UUID, version: Version, request: Request) -> dict[str, Any]:
    threads = list(Thread.objects.filter(pk=thread_id).select_related("version", "resolved_by"))
    if not threads:  # deleted meanwhile, with its last comment
        raise NotFound
    return present(threads, version=version, person=person(request), whole=True)[0]


def _anchor(given: dict[str, Any] | None) -> services.Anchor | None:
    return services.Anchor(**given) if given else None


def _in_state(threads: Any, request: Request) -> Any:
    state = request.query_params.get("state", "all")
    if state not in STATES:
        raise InvalidInput("State is `open`, `resolved` or `all`.", field="state")
    return threads.open() if state == "open" else threads.resolved() if state == "resolved" else threads
