"""Handing a prompt over, and asking to see one."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import User
from core.errors import DomainError, NotFound, RateLimited
from core.paging import NewestFirst
from inference_client.models import Run
from playground import access
from playground.api.asking import checked, person
from playground.models import Prompt, Version
from sharing import services
from sharing.api import asking
from sharing.api.serializers import AnswerInput, RequestInput, RequestOutput, TransferInput, TransferOutput
from sharing.models import AccessRequest, OwnershipTransfer


class TransferList(APIView):
    @extend_schema(operation_id="transfers_create", request=TransferInput, responses={201: TransferOutput})
    def post(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """Offer a prompt to somebody who sees it. Nothing changes until they accept; a new offer ends the last."""
        prompt = access.prompt_for(request.user, prompt_id, access.OWN)
        to = asking.person_named(checked(TransferInput, request)["account"])
        offer = services.offer_ownership(person=person(request), prompt=prompt, to=to)
        return Response(TransferOutput(offer).data, status=201)


class MyTransfers(APIView):
    @extend_schema(operation_id="transfers_list", responses=TransferOutput(many=True))
    def get(self, request: Request) -> Response:
        """The open offers that I made or may answer."""
        rows = OwnershipTransfer.objects.open().concerning(person(request))
        pages = NewestFirst()
        found = pages.paginate_queryset(rows.select_related("from_account", "to_account"), request)
        return pages.get_paginated_response(TransferOutput(found, many=True).data)


class TransferAccept(APIView):
    @extend_schema(operation_id="transfers_accept", request=None, responses=TransferOutput)
    def post(self, request: Request, transfer_id: uuid.UUID) -> Response:
        """The prompt is mine. Links of who had it end; they go on as an editor."""
        transfer = asking.transfer_for(person(request), transfer_id)
        services.accept_ownership(person=person(request), transfer=transfer)
        transfer.refresh_from_db()
        return Response(TransferOutput(transfer).data)


class TransferDecline(APIView):
    @extend_schema(operation_id="transfers_decline", request=None, responses=TransferOutput)
    def post(self, request: Request, transfer_id: uuid.UUID) -> Response:
        """I do not want it, or I take my offer back."""
        transfer = asking.transfer_for(person(request), transfer_id)
        return Response(TransferOutput(services.decline_ownership(person=person(request), transfer=transfer)).data)


class RequestList(APIView):
    @extend_schema(operation_id="access_requests_list", responses=RequestOutput(many=True))
    def get(self, request: Request) -> Response:
        """The open requests that I made, and those on prompts of mine."""
        rows = AccessRequest.objects.open().concerning(person(request)).select_related("account")
        pages = NewestFirst()
        found = pages.paginate_queryset(rows, request)
        return pages.get_paginated_response(RequestOutput(found, many=True).data)

    @extend_schema(operation_id="access_requests_create", request=RequestInput, responses={202: None})
    def post(self, request: Request) -> Response:
        """Ask to see what was sent to me. 202 whatever the truth is: nobody learns by asking what exists."""
        given = checked(RequestInput, request)
        ask(person(request), given["kind"], given["id"])
        return Response(status=202)


class RequestAnswer(APIView):
    @extend_schema(operation_id="access_requests_answer", request=AnswerInput, responses=RequestOutput)
    def post(self, request: Request, request_id: uuid.UUID) -> Response:
        """Give a role, or decline with null."""
        asked = asking.request_for(person(request), request_id)
        role = checked(AnswerInput, request)["role"]
        return Response(RequestOutput(services.answer_request(person=person(request), request=asked, role=role)).data)


_SUBJECTS: dict[str, Callable[[uuid.UUID], Any]] = {
    "version": lambda pk: Version.objects.select_related("prompt", "prompt__owner").filter(pk=pk).first(),
    "run": lambda pk: Run.objects.filter(pk=pk).first(),
    "prompt": lambda pk: Prompt.objects.select_related("owner").filter(pk=pk).first(),
}


def ask(asking_person: User, kind: str, subject: uuid.UUID) -> None:
    """Ask, if there is somebody to ask; who asks cannot tell. Raises RateLimited."""
    try:
        found = _SUBJECTS[kind](subject)
        if found is None:
            raise NotFound
        services.ask_for_access(person=asking_person, **{kind: found})
    except RateLimited:
        raise
    except DomainError:
        return
