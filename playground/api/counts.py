"""The size of a spec, and what is wrong with it, before it is run."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from inference_client.models import Provider
from playground import access, wire
from playground.api.asking import checked, person
from playground.counting import measure
from playground.serializers import SPEC_HELP


class SizeInput(serializers.Serializer[Any]):
    spec = serializers.JSONField(help_text=SPEC_HELP)
    provider = serializers.ChoiceField(
        Provider.choices, required=False, allow_null=True, default=None, help_text="As a run names it."
    )
    variables = serializers.JSONField(
        required=False, default=dict, help_text="Values by name; unset ones count as written."
    )


class LargestTextOutput(serializers.Serializer[Any]):
    field = serializers.CharField(help_text='"system", "messages.0", "tools" or "output_schema".')
    bytes = serializers.IntegerField()
    tokens = serializers.IntegerField(allow_null=True, help_text="Its share of the whole by bytes: about so many.")


class SizeCostOutput(serializers.Serializer[Any]):
    input = serializers.FloatField()
    answer_most = serializers.FloatField(help_text="If the answer is as long as max_tokens allows.")


class SizeProblemOutput(serializers.Serializer[Any]):
    field = serializers.CharField(help_text='Below the spec, dotted: "tools.0.input_schema.type"; may be empty.')
    message = serializers.CharField()
    level = serializers.ChoiceField(["error", "note"], help_text="error: a run of this will be refused.")


class SizeOutput(serializers.Serializer[Any]):
    model = serializers.CharField()
    input_tokens = serializers.IntegerField(allow_null=True, help_text="Null: not known; `reason` says why.")
    at_least = serializers.IntegerField(allow_null=True, help_text="Tokens that are sure where they are not known.")
    reason = serializers.CharField(allow_blank=True)
    context = serializers.IntegerField(  # type: ignore[assignment]  # a field, which the metaclass takes away
        allow_null=True, help_text="Tokens that the model takes, prompt and answer together."
    )
    max_tokens = serializers.IntegerField(allow_null=True)
    room = serializers.IntegerField(allow_null=True, help_text="Tokens that are left for the answer.")
    overflow = serializers.ChoiceField(
        ["input", "answer"], allow_null=True, help_text="What does not fit: the prompt, or all of a longest answer."
    )
    largest = LargestTextOutput(allow_null=True)
    cost = SizeCostOutput(allow_null=True, help_text="US dollars; null where there is no price.")
    problems = SizeProblemOutput(many=True)


class PromptCount(APIView):
    @extend_schema(operation_id="prompts_count", request=SizeInput, responses=SizeOutput)
    def post(self, request: Request, prompt_id: uuid.UUID) -> Response:
        """How many tokens a spec would take, what it would cost, and what will be refused. Nothing is kept or sent."""
        prompt = access.prompt_for(request.user, prompt_id)
        given = checked(SizeInput, request)
        values = wire.variable_values(given["variables"])
        size = measure(
            account=person(request), prompt=prompt, raw=given["spec"], values=values, provider=given["provider"]
        )
        return Response(size.as_json())
