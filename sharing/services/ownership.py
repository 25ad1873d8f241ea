"""Handing a prompt over. The links of who had it end; who had it goes on as an editor."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from core.errors import Conflict, InvalidInput, NotAllowed, NotFound
from playground import access
from playground.models import Prompt
from sharing import access_log
from sharing.models import Grant, OwnershipTransfer, Role, ShareLink
from sharing.models.transfer import OwnershipTransferQuerySet
from sharing.services.epochs import raise_epoch
from sharing.services.notices import notify

Status = OwnershipTransfer.Status


def offer_ownership(*, person: User, prompt: Prompt, to: User) -> OwnershipTransfer:
    """Offer a prompt to somebody who can see it; an earlier offer is withdrawn. Raises NotFound, NotAllowed,
    InvalidInput.
    """
    if not person.has_perm(access.VIEW, prompt):
        raise NotFound
    if not person.has_perm(access.OWN, prompt):
        raise NotAllowed("Only its owner can hand it over.")
    if to.pk == person.pk or not to.is_active or not to.has_perm(access.VIEW, prompt):
        raise InvalidInput("Share it with this person first.", code="no_such_person", field="to")
    with transaction.atomic():
        Prompt.objects.select_for_update(no_key=True).get(pk=prompt.pk)
        _open(prompt).update(status=Status.WITHDRAWN, answered_at=timezone.now())
        transfer = OwnershipTransfer.objects.create(prompt=prompt, from_account=person, to_account=to)
        notify(account=to, prompt=prompt, kind="ownership_offered", actor=person, subject=transfer.pk)
        access_log.changed(prompt_id=prompt.pk, person=person, what="ownership.offered")
    return transfer


def accept_ownership(*, person: User, transfer: OwnershipTransfer) -> Prompt:
    """The prompt is this person's; its links by the former owner end. Raises NotFound, Conflict if it is over."""
    if transfer.to_account_id != person.pk:
        raise NotFound
    with transaction.atomic():
        prompt = Prompt.objects.select_for_update(no_key=True).get(pk=transfer.prompt_id)
        moment = timezone.now()
        mine = _open(prompt).filter(pk=transfer.pk, from_account=prompt.owner_id)
        if prompt.trashed_at is not None or not mine.update(status=Status.ACCEPTED, answered_at=moment):
            raise _over()
        former = prompt.owner
        Prompt.objects.filter(pk=prompt.pk).update(owner=person, folder="", updated_at=moment)
        ShareLink.objects.on(prompt.pk).filter(created_by=former).update(revoked_at=moment)
        Grant.objects.on(prompt.pk).filter(account=person).update(revoked_at=moment)
        Grant.objects.create(prompt=prompt, account=former, role=Role.EDITOR, granted_by=person)
        raise_epoch(prompt.pk)
        notify(account=former, prompt=prompt, kind="ownership_accepted", actor=person, subject=transfer.pk)
        access_log.changed(prompt_id=prompt.pk, person=person, what="ownership.accepted")
    prompt.refresh_from_db()
    return prompt


def decline_ownership(*, person: User, transfer: OwnershipTransfer) -> OwnershipTransfer:
    """Who was offered it does not want it, or who offered it takes that back. Raises NotFound, Conflict."""
    statuses = {transfer.to_account_id: Status.DECLINED, transfer.from_account_id: Status.WITHDRAWN}
    if person.pk not in statuses:
        raise NotFound
    with transaction.atomic():
        mine = OwnershipTransfer.objects.filter(pk=transfer.pk, status=Status.OPEN)
        if not mine.update(status=statuses[person.pk], answered_at=timezone.now()):
            raise _over()
        kind = f"ownership_{statuses[person.pk].value}"
        other = transfer.from_account if person.pk == transfer.to_account_id else transfer.to_account
        notify(account=other, prompt=transfer.prompt, kind=kind, actor=person, subject=transfer.pk)
    transfer.refresh_from_db()
    return transfer


def _open(prompt: Prompt) -> OwnershipTransferQuerySet:
    return OwnershipTransfer.objects.filter(prompt=prompt, status=Status.OPEN)


def _over() -> Conflict:
    return Conflict("This offer is over.", code="offer_over", next_step="Ask for another one.")
