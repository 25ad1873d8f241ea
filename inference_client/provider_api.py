"""The REST calls on providers and on one's own keys for them. Parse, call, answer. No answer holds a key."""

from __future__ import annotations

from typing import Any

from django.utils.decorators import method_decorator
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import User
from core.errors import NotFound
from inference_client import catalogue, provider_keys, sealing
from inference_client.models import Provider, ProviderKey
from inference_client.serializers import ProviderStateSerializer


class ProviderKeySerializer(serializers.ModelSerializer[ProviderKey]):
    class Meta:
        model = ProviderKey
        fields = ("provider", "ending", "created_at")
        read_only_fields = fields


class NewProviderKeySerializer(serializers.Serializer[Any]):
    key = serializers.CharField(
        max_length=1000, write_only=True, help_text="From the provider's console. It can never be read again."
    )


class KeyCheckSerializer(serializers.Serializer[Any]):
    works = serializers.BooleanField(allow_null=True, help_text="Null while the provider does not answer.")
    message = serializers.CharField()


class ProviderListSerializer(serializers.Serializer[Any]):
    results = ProviderStateSerializer(many=True, help_text="Those that your runs can be sent to.")
    keys = ProviderKeySerializer(many=True, help_text="Your own keys, without the keys themselves.")
    keeps_keys = serializers.BooleanField(help_text="Whether this server can keep keys of people.")


class Providers(APIView):
    @extend_schema(operation_id="providers_list", responses=ProviderListSerializer)
    def get(self, request: Request) -> Response:
        """Who runs models for you, and whether they answer at the moment."""
        person = _person(request)
        answer = {
            "results": catalogue.offer_to(person).providers,
            "keys": ProviderKey.objects.of(person),
            "keeps_keys": sealing.is_available(),
        }
        return Response(ProviderListSerializer(answer).data)


@method_decorator(sensitive_post_parameters(), name="dispatch")
class OwnKey(APIView):
    @extend_schema(operation_id="providers_key_keep", request=NewProviderKeySerializer, responses=ProviderKeySerializer)
    @method_decorator(sensitive_variables())
    def put(self, request: Request, provider: str) -> Response:
        """Keep your own key for a provider, sealed, in place of the one before. One that it refuses is not kept.

        Your runs go with it from then on, and nobody else's.
        """
        asked = NewProviderKeySerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        key = provider_keys.keep_key(
            account=_person(request), provider=_known(provider), plaintext=asked.validated_data["key"]
        )
        return Response(ProviderKeySerializer(key).data)

    @extend_schema(operation_id="providers_key_remove", responses={204: None})
    def delete(self, request: Request, provider: str) -> Response:
        """Forget your key. Answers that are being written go on to their end; no run is sent with it any more."""
        provider_keys.remove_key(account=_person(request), provider=_known(provider))
        return Response(status=204)


class OwnKeyTest(APIView):
    @extend_schema(operation_id="providers_key_test", request=None, responses=KeyCheckSerializer)
    def post(self, request: Request, provider: str) -> Response:
        """Ask the provider whether it takes your key. Nothing is generated, and nothing costs."""
        found = provider_keys.check_key(account=_person(request), provider=_known(provider))
        return Response(KeyCheckSerializer(found).data)


def _person(request: Request) -> User:
    if not isinstance(request.user, User):
        raise NotFound
    return request.user


def _known(provider: str) -> str:
    """Raises NotFound for a provider that takes no keys of people."""
    if provider != Provider.ANTHROPIC:
        raise NotFound
    return provider
