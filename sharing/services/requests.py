"""Asking to see what was mentioned in a chat. Nobody learns by asking whether an id exists."""

from __future__ import annotations

import logging
import uuid

from django.db import transaction
from django.utils import timezone

import chat.services
from accounts.models import User
from chat.messages import Reference
from chat.models import ReferenceKind
from chat.models.message import Message, MessageQuerySet
from core.errors import Conflict, DomainError, InvalidInput, NotAllowed, NotFound
from inference_client.models import Run
from playground import access
from playground.models import Prompt, Version, VersionRun
from sharing.models import AccessRequest, Grant
from sharing.services.grants import grant_access
from sharing.services.notices import notify

log = logging.getLogger("playground.sharing")

Status = AccessRequest.Status


def ask_for_access(
    *, person: User, prompt: Prompt | None = None, version: Version | None = None, run: Run | None = None
) -> AccessRequest:
    """Ask the owner of a prompt; asking again finds the open request. They are told here and in a chat.

    Raises NotFound unless a version or run of it was sent to this person in a chat, or the prompt was shared with them
    before: the same as for what does not exist. Raises Conflict for who can see it already.
    """
    about, shown = _about(prompt, version, run)
    if about.trashed_at is not None or not _was_told(person, about, version, run):
        raise NotFound
    if person.has_perm(access.VIEW, about):
        raise Conflict("You can see this already.", code="has_access")
    with transaction.atomic():
        made = AccessRequest(prompt=about, version=shown, account=person)
        AccessRequest.objects.bulk_create([made], ignore_conflicts=True)
        request = AccessRequest.objects.filter(prompt=about, account=person, status=Status.OPEN).get()
        if request.pk != made.pk:
            return request
        notify(account=about.owner, prompt=about, kind="access_requested", actor=person, subject=request.pk)
    _tell(person, about.owner, request, "I would like to see this prompt.")
    return request


def answer_request(*, person: User, request: AccessRequest, role: str | None) -> AccessRequest:
    """Give a role, or None to decline. Raises NotFound, NotAllowed, InvalidInput, Conflict if it was answered."""
    prompt = request.prompt
    if not person.has_perm(access.VIEW, prompt):
        raise NotFound
    if not person.has_perm(access.SHARE, prompt):
        raise NotAllowed("Only the owner answers this.", code="cannot_share")
    with transaction.atomic():
        mine = AccessRequest.objects.filter(pk=request.pk, status=Status.OPEN)
        answered = mine.update(
            status=Status.GRANTED if role else Status.DECLINED,
            role=role or "",
            answered_by=person,
            answered_at=timezone.now(),
        )
        if not answered:
            raise Conflict("This request was answered already.", code="answered")
        if role:
            grant_access(person=person, prompt=prompt, account=request.account, role=role)
        kind = "access_granted" if role else "access_declined"
        notify(account=request.account, prompt=prompt, kind=kind, actor=person, subject=request.pk, named=bool(role))
    request.refresh_from_db()
    return request


def _about(prompt: Prompt | None, version: Version | None, run: Run | None) -> tuple[Prompt, Version | None]:
    if version is not None:
        return version.prompt, version
    if run is not None:
        row = VersionRun.objects.select_related("version__prompt__owner").filter(run=run).first()
        if row is None:
            raise NotFound
        return row.version.prompt, row.version
    if prompt is None:
        raise InvalidInput("Say what you want to see.")
    return prompt, None


def _was_told(person: User, prompt: Prompt, version: Version | None, run: Run | None) -> bool:
    sent = Message.objects.visible_to(person).filter(deleted_at=None)
    if version is not None and _sent(sent, ReferenceKind.VERSION, version.pk):
        return True
    if run is not None and _sent(sent, ReferenceKind.RUN, run.pk):
        return True
    return Grant.objects.filter(prompt=prompt, account=person).exists()


def _sent(sent: MessageQuerySet, kind: ReferenceKind, subject: uuid.UUID) -> bool:
    return sent.filter(reference_kind=kind, reference_id=subject).exists()


def _tell(person: User, owner: User, request: AccessRequest, body: str) -> None:
    """In a chat, if these two may write to each other. The owner finds the request without it, too."""
    try:
        conversation = chat.services.start_conversation(person=person, peer=owner)
        chat.services.send_message(
            sender=person,
            conversation=conversation,
            client_msg_id=request.pk,
            body=body,
            reference=Reference(kind=ReferenceKind.ACCESS_REQUEST, id=request.pk),
        )
    except DomainError as error:
        log.info("access request not sent in a chat", extra={"code": error.code})
