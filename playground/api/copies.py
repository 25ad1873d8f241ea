"""A version as the beginning of a new prompt."""

from __future__ import annotations

import uuid

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from playground import access, services
from playground.api.asking import IDEMPOTENCY_KEY, POINTER, checked, idempotency_key, person
from playground.library_serializers import CopyOutput, ForkInput
from playground.models import Prompt


class Fork(APIView):
    @extend_schema(
        operation_id="versions_fork",
        request=ForkInput,
        responses={201: CopyOutput},
        parameters=[POINTER, IDEMPOTENCY_KEY],
    )
    def post(self, request: Request, prompt_id: uuid.UUID, pointer: str) -> Response:
        """A new prompt of mine, with a copy of this version as its first."""
        version = access.version_of(access.prompt_for(request.user, prompt_id), pointer)
        copy = services.fork_prompt(
            actor=person(request),
            version=version,
            name=checked(ForkInput, request)["name"],
            idempotency_key=idempotency_key(request),
        )
        prompt = Prompt.objects.with_latest_number().get(pk=copy.prompt_id)
        return Response(CopyOutput({"prompt": prompt, "version": copy}).data, status=201)
