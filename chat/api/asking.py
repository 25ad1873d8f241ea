"""What every call reads from its request: the person, the checked body, the conversation that is theirs."""

from __future__ import annotations

import uuid
from typing import Any

from rest_framework.request import Request

from accounts.models import User
from chat.models import Conversation
from core.errors import InvalidInput, NotAuthenticated, NotFound


def person(request: Request) -> User:
    """Raises NotAuthenticated."""
    if not isinstance(request.user, User):
        raise NotAuthenticated
    return request.user


def checked(serializer: type[Any], request: Request) -> dict[str, Any]:
    """The validated body. Raises InvalidInput (through REST framework's ValidationError) naming the field."""
    check = serializer(data=request.data)
    check.is_valid(raise_exception=True)
    given: dict[str, Any] = check.validated_data
    return given


def own_conversation(request: Request, conversation_id: uuid.UUID) -> Conversation:
    """Raises NotFound for one that is absent or of others."""
    found = Conversation.objects.of(person(request)).filter(pk=conversation_id).first()
    if found is None:
        raise NotFound
    return found


def peer(person_id: uuid.UUID) -> User:
    """Another account. Nobody is told apart from a blocked one: an absent one is a switched-off stand-in."""
    return User.objects.filter(pk=person_id).first() or User(pk=person_id, is_active=False)


def optional_id(request: Request, name: str) -> uuid.UUID | None:
    """A query parameter. Raises InvalidInput."""
    given = request.query_params.get(name)
    try:
        return None if given is None else uuid.UUID(given)
    except ValueError as error:
        raise InvalidInput(f"`{name}` is an id.", field=name) from error


def number(request: Request, name: str, *, lowest: int, highest: int, default: int) -> int:
    """A query parameter. Raises InvalidInput."""
    given = request.query_params.get(name)
    if given is None:
        return default
    if not given.isascii() or not given.isdigit() or not lowest <= int(given[:20]) <= highest:
        raise InvalidInput(f"`{name}` is a number from {lowest} to {highest}.", field=name)
    return int(given)
