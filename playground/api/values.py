"""Values for the variables of a prompt: what the person asking filled in, and what their runs were filled with."""

from __future__ import annotations

import uuid

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.errors import NotFound
from playground import access, services
from playground.api.asking import checked, person
from playground.models import VariableValue
from playground.past_values import past_values, values_of_run
from playground.value_serializers import KeptValuesInput, KeptValuesOutput, PastValuesListOutput


class PastValuesList(APIView):
    @extend_schema(operation_id="values_of_runs", responses=PastValuesListOutput)
    def get(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """The different values of my last runs of a prompt, newest first. Large ones are read by themselves."""
        prompt = access.prompt_for(request.user, prompt_id)
        found = past_values(person(request), prompt)
        return Response(PastValuesListOutput({"results": found, "next": None}).data)


class PastValuesDetail(APIView):
    @extend_schema(operation_id="values_of_run", responses=KeptValuesOutput)
    def get(self, request: Request, prompt_id: uuid.UUID, run_id: uuid.UUID) -> Response:
        """All values that one of my runs was filled with."""
        prompt = access.prompt_for(request.user, prompt_id)
        values = values_of_run(person(request), prompt, run_id)
        if values is None:
            raise NotFound
        return Response({"values": values})


class KeptValues(APIView):
    @extend_schema(operation_id="values_read", responses=KeptValuesOutput)
    def get(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """What I last filled in for each variable of a prompt, whichever version is open."""
        prompt = access.prompt_for(request.user, prompt_id)
        rows = VariableValue.objects.of(person(request), prompt).order_by("name")
        return Response({"values": {row.name: row.value for row in rows}})

    @extend_schema(operation_id="values_keep", request=KeptValuesInput, responses={204: None})
    def patch(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """Keep the given values for me. Names that are not given stay; null forgets one."""
        prompt = access.prompt_for(request.user, prompt_id)
        changes = checked(KeptValuesInput, request)["values"]
        services.keep_values(person=person(request), prompt=prompt, changes=changes)
        return Response(status=204)
