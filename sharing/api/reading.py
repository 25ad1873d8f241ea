"""Who looked, what I was told, and where a text may be fetched from."""

from __future__ import annotations

import csv
import io
import time
import uuid
from collections.abc import Iterable, Iterator

from django.db.models import QuerySet
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.errors import InvalidInput, NotFound, Unprocessable
from core.paging import NewestFirst
from playground import access, freezing
from playground.api.asking import POINTER, person
from playground.api.texts import INDEX
from playground.models import Prompt
from sharing import bound, log_words, read_copies, services
from sharing.api.serializers import LogEntryOutput, NotificationOutput, TextAddressOutput, UnseenOutput
from sharing.models import AccessLogEntry, Notification
from sharing.permissions import standing_on

#: One file holds no more: newest first.
MOST_ROWS = 100_000
_COLUMNS = ("at", "account", "link", "visitor", "what", "version", "address", "allowed", "reason")


def log_of(prompt: Prompt, request: Request) -> QuerySet[AccessLogEntry]:
    """Raises InvalidInput."""
    found = AccessLogEntry.objects.filter(prompt=prompt).select_related("account")
    allowed = request.query_params.get("allowed")
    if allowed not in (None, "", "true", "false"):
        raise InvalidInput("This is `true` or `false`.", field="allowed")
    outcome = {"true": "allowed", "false": "refused"}.get(allowed or "", "")
    return log_words.Filter(who=request.query_params.get("who", ""), outcome=outcome).select(found)


_FILTERS = [
    OpenApiParameter("allowed", OpenApiTypes.BOOL),
    OpenApiParameter("who", OpenApiTypes.STR, description="`person:` or `link:`, then an id."),
]


class AccessLog(APIView):
    @extend_schema(operation_id="access_log_list", parameters=_FILTERS, responses=LogEntryOutput(many=True))
    def get(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """Who or which link asked for what, newest first. For the owner only."""
        prompt = access.prompt_for(request.user, prompt_id, access.OWN)
        pages = NewestFirst()
        rows = pages.paginate_queryset(log_of(prompt, request), request)
        return pages.get_paginated_response(LogEntryOutput(rows, many=True).data)


class AccessLogFile(APIView):
    @extend_schema(operation_id="access_log_csv", parameters=_FILTERS, responses={(200, "text/csv"): OpenApiTypes.STR})
    def get(self, request: Request, prompt_id: uuid.UUID) -> HttpResponse:
        """The log as a CSV file, newest first, 100,000 rows at most. For the owner only."""
        prompt = access.prompt_for(request.user, prompt_id, access.OWN)
        rows = log_of(prompt, request).order_by("-pk")[:MOST_ROWS]
        text = io.StringIO()
        csv.writer(text).writerows(_lines(rows.iterator(chunk_size=2000)))
        name = f'attachment; filename="access-log-{prompt.pk}.csv"'
        headers = {"Content-Disposition": name, "Cache-Control": "private, no-store"}
        return HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8", headers=headers)


def _lines(rows: Iterable[AccessLogEntry]) -> Iterator[list[str]]:
    yield list(_COLUMNS)
    for row in rows:
        yield [
            row.at.isoformat(),
            _plain(row.account.label if row.account else ""),  # an address is for who knows it
            str(row.link_id or ""),
            row.visitor,
            _plain(row.what),
            str(row.version_number or ""),
            row.address or "",
            "yes" if row.allowed else "no",
            row.reason,
        ]


def _plain(text: str) -> str:
    """A spreadsheet would run a cell that begins like a formula."""
    return f"'{text}" if text[:1] in "=+-@\t\r" and text else text


class NotificationList(APIView):
    @extend_schema(operation_id="notifications_list", responses=NotificationOutput(many=True))
    def get(self, request: Request) -> Response:
        """What I was told about prompts, newest first."""
        rows = Notification.objects.of(person(request)).select_related("actor", "prompt")
        pages = NewestFirst()
        found = pages.paginate_queryset(rows, request)
        return pages.get_paginated_response(NotificationOutput(found, many=True).data)


class NotificationsSeen(APIView):
    @extend_schema(operation_id="notifications_unseen", responses=UnseenOutput)
    def get(self, request: Request) -> Response:
        """How many I have not looked at."""
        return Response(UnseenOutput({"unseen": Notification.objects.of(person(request)).unseen().count()}).data)

    @extend_schema(operation_id="notifications_seen", request=None, responses=UnseenOutput)
    def post(self, request: Request) -> Response:
        """I looked at all of them."""
        services.mark_seen(person=person(request))
        return Response(UnseenOutput({"unseen": 0}).data)


class TextAddress(APIView):
    @extend_schema(operation_id="texts_address", parameters=[POINTER, INDEX], responses=TextAddressOutput)
    def get(self, request: Request, prompt_id: uuid.UUID, pointer: str, index: int) -> Response:
        """An address of one text in the store, for a download of any size. It ends after a few seconds."""
        if not bound.current().presigned:
            raise Unprocessable("Texts are only read through this service here.", code="no_addresses")
        # The clock before the database is asked: from then on, decision and address together have their time.
        asked_at_s = time.monotonic()
        prompt = access.prompt_for(request.user, prompt_id)
        standing = standing_on(person(request).pk, prompt, fresh=False)
        version = access.version_of(prompt, pointer)
        names = freezing.references(version.frozen)
        if index >= len(names) or version.acl_epoch > prompt.acl_epoch:
            raise NotFound
        address = read_copies.address_of(
            version,
            names[index],
            acl_epoch=prompt.acl_epoch,
            asked_at_s=asked_at_s,
            expires_at=standing.expires_at if standing else None,
            name=f"version-{version.number}-text-{index}.txt",
        )
        if address is None:
            raise Unprocessable("This took too long.", code="too_slow", next_step="Ask again.")
        return Response({"url": address.url, "seconds": address.seconds}, headers={"Cache-Control": "no-store"})
