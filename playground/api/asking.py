"""What every call reads from its request: the person, the checked body, the key, a version by name."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from accounts.models import User
from core.errors import InvalidInput
from core.parsers import parse_json
from playground import access
from playground.models import Prompt, Version

IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key", OpenApiTypes.STR, OpenApiParameter.HEADER, description="One key, one object, however often sent."
)
POINTER = OpenApiParameter(
    "pointer", OpenApiTypes.STR, OpenApiParameter.PATH, description="A version number, `latest` or a branch name."
)


def person(request: Request) -> User:
    return access.signed_in(request.user)


def checked(serializer: type[Any], request: Request, *, partial: bool = False) -> dict[str, Any]:
    """The validated body. Raises InvalidInput (through REST framework's ValidationError) naming the field."""
    check = serializer(data=request.data, partial=partial)
    check.is_valid(raise_exception=True)
    given: dict[str, Any] = check.validated_data
    return given


def idempotency_key(request: Request) -> str | None:
    return request.headers.get("Idempotency-Key")


def query_json(request: Request, name: str) -> Any:
    raw = request.query_params.get(name)
    if not raw:
        return {}
    try:
        return parse_json(raw.encode("utf-8", "surrogatepass"))
    except InvalidInput as error:
        raise InvalidInput(error.message, code=error.code, field=name) from error


def version_named(prompt: Prompt, given: object, *, field: str) -> Version | None:
    """A version by number or id; one of another prompt is as unknown as one that does not exist."""
    if given is None:
        return None
    found = None
    if isinstance(given, int) and not isinstance(given, bool) and 0 < given < 2**31:
        found = access.version_numbered(prompt, given)
    elif isinstance(given, str):
        found = _by_text(prompt, given)
    if found is None:
        raise InvalidInput("This prompt has no such version.", field=field)
    return found


def _by_text(prompt: Prompt, given: str) -> Version | None:
    if access.is_pinned(given) and len(given) < 10:
        return access.version_numbered(prompt, int(given))
    try:
        return Version.objects.filter(prompt=prompt, pk=uuid.UUID(given)).first()
    except ValueError:
        return None


def version_asked(prompt: Prompt, request: Request, name: str) -> Version:
    """The version that the query parameter `name` points at. Raises InvalidInput if it is missing, NotFound."""
    pointer = request.query_params.get(name)
    if not pointer:
        raise InvalidInput("Say which version: a number, a label or a branch.", field=name)
    return access.version_of(prompt, pointer)
