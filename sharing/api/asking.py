"""What every call reads from its request: the person, the checked body, the row that is theirs to see."""

from __future__ import annotations

import uuid

from accounts.models import User
from core.errors import InvalidInput, NotFound
from playground import access
from playground.models import Prompt
from sharing.models import AccessRequest, Grant, OwnershipTransfer, ShareLink


def shared_prompt(person: User, prompt_id: uuid.UUID) -> Prompt:
    """Raises NotFound, NotAllowed for who may not share it."""
    return access.prompt_for(person, prompt_id, access.SHARE)


def link_for(person: User, link_id: uuid.UUID) -> ShareLink:
    """A link of a prompt that this person sees. Raises NotFound; the service says who may change it."""
    found = ShareLink.objects.select_related("prompt", "target_version").filter(pk=link_id, revoked_at=None).first()
    if found is None or not person.has_perm(access.VIEW, found.prompt):
        raise NotFound
    return found


def grant_for(person: User, grant_id: uuid.UUID) -> Grant:
    """Raises NotFound."""
    rows = Grant.objects.select_related("prompt", "prompt__owner", "account", "granted_by")
    found = rows.filter(pk=grant_id, revoked_at=None).first()
    if found is None or not person.has_perm(access.VIEW, found.prompt):
        raise NotFound
    return found


def transfer_for(person: User, transfer_id: uuid.UUID) -> OwnershipTransfer:
    """Raises NotFound for who neither made the offer nor got it."""
    rows = OwnershipTransfer.objects.concerning(person).select_related("prompt", "from_account", "to_account")
    found = rows.filter(pk=transfer_id, prompt__trashed_at=None).first()
    if found is None:
        raise NotFound
    return found


def request_for(person: User, request_id: uuid.UUID) -> AccessRequest:
    """A request on a prompt that this person sees. Raises NotFound; the service says who may answer it."""
    rows = AccessRequest.objects.select_related("prompt", "prompt__owner", "account")
    found = rows.filter(pk=request_id).first()
    if found is None or not person.has_perm(access.VIEW, found.prompt):
        raise NotFound
    return found


def person_named(written: str) -> User:
    """Somebody by address or id. Raises InvalidInput, the same for absent and switched off."""
    people = User.objects.filter(is_active=True)
    if "@" in written:
        found = people.filter(email=written.strip().lower()).first()
    else:
        try:
            found = people.filter(pk=uuid.UUID(written)).first()
        except ValueError:
            found = None
    if found is None:
        raise InvalidInput("There is nobody here with this address.", code="no_such_person", field="account")
    return found
