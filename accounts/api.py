"""The API's view of oneself and one's keys. A key made with another one may do no more than it, and ends with it."""

from __future__ import annotations

import uuid

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import generics, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts import services
from accounts.models import ApiKey, ApiKeyQuerySet, Scope, User
from core.errors import NotAllowed
from core.paging import NewestFirst


class MeSerializer(serializers.ModelSerializer[User]):
    class Meta:
        model = User
        fields = ("id", "email", "name", "tier")
        read_only_fields = fields


class KeySerializer(serializers.ModelSerializer[ApiKey]):
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=Scope.choices), read_only=True)

    class Meta:
        model = ApiKey
        fields = ("id", "name", "prefix", "scopes", "created_at", "last_used_at")
        read_only_fields = fields


class IssuedKeySerializer(KeySerializer):
    key = serializers.CharField(
        read_only=True, help_text="The key itself: in this answer only, and absent when `replayed`."
    )
    replayed = serializers.BooleanField(
        read_only=True, help_text="True when this Idempotency-Key had made the key already."
    )

    class Meta:
        model = ApiKey
        fields = (*KeySerializer.Meta.fields, "key", "replayed")
        read_only_fields = fields


class NewKeySerializer(serializers.Serializer[ApiKey]):
    name = serializers.CharField(max_length=services.NAME_LENGTH)
    scopes = serializers.ListField(
        child=serializers.ChoiceField(choices=Scope.choices),
        allow_empty=False,
        required=False,
        help_text="Both by default; with an API key, its own.",
    )

    def validate(self, attrs: dict[str, object]) -> dict[str, object]:
        """A misspelt `scopes` would otherwise make a key that may do more than was asked for."""
        unknown = sorted(set(self.initial_data) - set(self.fields))
        if unknown:
            raise serializers.ValidationError({str(unknown[0]): ["There is no such field."]})
        return attrs


class Me(APIView):
    """Who is calling."""

    @extend_schema(operation_id="me", summary="The account that is calling", responses=MeSerializer)
    def get(self, request: Request) -> Response:
        return Response(MeSerializer(_person(request)).data)


@extend_schema_view(
    get=extend_schema(operation_id="keys_list", summary="Your keys that work", responses=KeySerializer(many=True))
)
class Keys(generics.ListAPIView[ApiKey]):
    serializer_class = KeySerializer
    pagination_class = NewestFirst

    def get_queryset(self) -> ApiKeyQuerySet:
        return _own_keys(self.request)

    @extend_schema(
        operation_id="keys_create",
        summary="Make a key",
        description="The key is in this answer and can never be read again. Made with an API key, it has at most the "
        "scopes of that key, and ends when that key is revoked.",
        parameters=[
            OpenApiParameter(
                "Idempotency-Key",
                str,
                OpenApiParameter.HEADER,
                description="A repeat answers 200 with the key that was made, without `key` and with `replayed`.",
            )
        ],
        request=NewKeySerializer,
        responses={201: IssuedKeySerializer, 200: IssuedKeySerializer},
    )
    def post(self, request: Request) -> Response:
        asked = NewKeySerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        made_with = request.auth if isinstance(request.auth, ApiKey) else None
        issued = services.create_api_key_once(
            account=_person(request),
            name=asked.validated_data["name"],
            scopes=asked.validated_data.get("scopes", made_with.scopes if made_with else services.ALL_SCOPES),
            made_with=made_with,
            idempotency_key=request.headers.get("Idempotency-Key"),
        )
        body = {**KeySerializer(issued.key).data, "replayed": issued.plaintext is None}
        if issued.plaintext is None:
            return Response(body, status=status.HTTP_200_OK)
        return Response({**body, "key": issued.plaintext}, status=status.HTTP_201_CREATED)


class OneKey(APIView):
    @extend_schema(
        operation_id="keys_revoke",
        summary="Revoke a key",
        description="It stops working here at once, for calls to models in 5 s, and so do the keys made with it.",
        responses={204: None},
    )
    def delete(self, request: Request, key_id: uuid.UUID) -> Response:
        key = _own_keys(request).filter(pk=key_id).first()
        if key is None:
            raise Http404
        if isinstance(request.auth, ApiKey) and not key.comes_from(request.auth):
            raise NotAllowed("An API key may revoke itself and the keys made with it.", code="not_its_own")
        services.revoke_api_key(key=key)
        return Response(status=status.HTTP_204_NO_CONTENT)


def _person(request: Request) -> User:
    if not isinstance(request.user, User):
        raise Http404
    return request.user


def _own_keys(request: Request) -> ApiKeyQuerySet:
    return ApiKey.objects.usable().of(_person(request))
