"""Sharing with people by name, and taking it back."""

from __future__ import annotations

import datetime as dt

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from core.errors import InvalidInput, NotAllowed, NotFound, Unprocessable
from playground import access
from playground.models import Prompt
from sharing import access_log, policy
from sharing.models import Grant, Role, ShareLink
from sharing.services.epochs import lock_prompt, raise_epoch
from sharing.services.expiry import instant
from sharing.services.links import refuse_not_sharing
from sharing.services.notices import notify

MAX_GRANTS = 500


def grant_access(
    *,
    person: User,
    prompt: Prompt,
    account: User | None = None,
    email: str = "",
    role: str,
    expires_at: dt.datetime | None = None,
    may_share: bool = False,
) -> Grant:
    """Share with one person, or change what they have: there is one grant a person and prompt. One that has expired is
    over, and this is another one.

    Raises NotFound, NotAllowed (also for what somebody else gave), InvalidInput (`no_such_person` for who is absent or
    switched off alike), Unprocessable beyond MAX_GRANTS.
    """
    refuse_not_sharing(person, prompt)
    to = _recipient(prompt, account, email)
    checked, until = _role(role), instant(expires_at)
    _refuse_sharing(checked, may_share)
    with transaction.atomic():
        locked = lock_prompt(prompt.pk)
        # Again, now that it cannot end before this does: who is being removed shares nothing on the way out.
        refuse_not_sharing(person, locked)
        _refuse_more_than_own(person, locked, may_share)
        there = _not_over(Grant.objects.on(prompt.pk).filter(account=to).first())
        if there is not None:
            _refuse_of_others(person, locked, there)
            return _change(person, there, role=checked, expires_at=until, may_share=may_share)
        if Grant.objects.on(prompt.pk).count() >= MAX_GRANTS:
            raise Unprocessable(f"A prompt is shared with at most {MAX_GRANTS} people.")
        grant = Grant.objects.create(
            prompt=prompt, account=to, granted_by=person, role=checked, expires_at=until, may_share=may_share
        )
        notify(account=to, prompt=locked, kind="shared", actor=person, subject=grant.pk)
        access_log.changed(prompt_id=prompt.pk, person=person, what="grant.given")
    return grant


def _not_over(grant: Grant | None) -> Grant | None:
    """None for an expired one, which is closed at the instant when it ended."""
    if grant is None or not policy.expired(grant.expires_at, timezone.now()):
        return grant
    Grant.objects.filter(pk=grant.pk).update(revoked_at=grant.expires_at)
    # What a process still keeps of it says no: with the epoch, the new one works at once.
    raise_epoch(grant.prompt_id)
    return None


def change_role(*, person: User, grant: Grant, role: str) -> Grant:
    """Raises NotFound, NotAllowed, InvalidInput."""
    return change_grant(person=person, grant=grant, role=role)


def change_grant(*, person: User, grant: Grant, **changes: object) -> Grant:
    """Change role, expires_at or may_share. Raises NotFound, NotAllowed, InvalidInput."""
    with transaction.atomic():
        lock_prompt(grant.prompt_id)
        # What is not changed stays as it is now, not as it was when somebody looked.
        now = Grant.objects.select_related("prompt", "account").filter(pk=grant.pk, revoked_at=None).first()
        if now is None:
            raise NotFound
        refuse_not_theirs(person, now)
        role = _role(str(changes.get("role", now.role)))
        may_share = bool(changes.get("may_share", now.may_share and role == Role.EDITOR))
        _refuse_more_than_own(person, now.prompt, may_share and not now.may_share)
        _refuse_sharing(role, may_share)
        return _change(
            person,
            now,
            role=role,
            may_share=may_share,
            expires_at=instant(changes["expires_at"]) if "expires_at" in changes else now.expires_at,  # type: ignore[arg-type]
        )


def _change(person: User, grant: Grant, *, role: Role, expires_at: dt.datetime | None, may_share: bool) -> Grant:
    before = (grant.role, grant.expires_at, grant.may_share)
    grant.role, grant.expires_at, grant.may_share = role, expires_at, may_share
    if before == (role, expires_at, may_share):
        return grant
    grant.save(update_fields=["role", "expires_at", "may_share"])
    raise_epoch(grant.prompt_id)
    if before[0] != role:
        notify(account=grant.account, prompt=grant.prompt, kind="role_changed", actor=person, subject=grant.pk)
    access_log.changed(prompt_id=grant.prompt_id, person=person, what="grant.changed")
    return grant


def revoke_grant(*, person: User, grant: Grant) -> Grant:
    """Take it back; links that this person made as an editor end, too. Twice is once. Raises NotFound, NotAllowed."""
    refuse_not_theirs(person, grant)
    return _end(person, grant, "grant.revoked")


def leave_prompt(*, person: User, prompt: Prompt) -> Grant:
    """Give up what others shared with me. Raises NotFound; NotAllowed for the owner, who can only hand it over."""
    if prompt.owner_id == person.pk:
        raise NotAllowed("You own this prompt: offer it to somebody else, or put it into the trash.", code="is_owner")
    grant = Grant.objects.on(prompt.pk).filter(account=person).first()
    if grant is None:
        raise NotFound
    return _end(person, grant, "grant.left")


def _end(person: User, grant: Grant, what: str) -> Grant:
    with transaction.atomic():
        lock_prompt(grant.prompt_id)
        moment = timezone.now()
        if Grant.objects.filter(pk=grant.pk, revoked_at=None).update(revoked_at=moment):
            ShareLink.objects.on(grant.prompt_id).filter(created_by=grant.account_id).update(revoked_at=moment)
            raise_epoch(grant.prompt_id)
            access_log.changed(prompt_id=grant.prompt_id, person=person, what=what)
            told, kind = (
                (grant.account, "access_ended") if person.pk != grant.account_id else (grant.prompt.owner, "left")
            )
            notify(account=told, prompt=grant.prompt, kind=kind, actor=person, subject=grant.pk)
    grant.refresh_from_db(fields=["revoked_at"])
    return grant


def revoke_all(*, person: User, prompt: Prompt) -> dt.datetime:
    """Nobody but the owner can see this prompt any more. Answers the moment. Raises NotFound, NotAllowed."""
    if not person.has_perm(access.VIEW, prompt):
        raise NotFound
    if not person.has_perm(access.OWN, prompt):
        raise NotAllowed("Only its owner can do this.")
    with transaction.atomic():
        lock_prompt(prompt.pk)
        moment = timezone.now()
        for grant in Grant.objects.live(moment).on(prompt.pk).select_related("account"):
            notify(account=grant.account, prompt=prompt, kind="access_ended", actor=person, subject=grant.pk)
        ShareLink.objects.on(prompt.pk).update(revoked_at=moment)
        Grant.objects.on(prompt.pk).update(revoked_at=moment)
        raise_epoch(prompt.pk)
        access_log.changed(prompt_id=prompt.pk, person=person, what="all.revoked")
    return moment


def refuse_not_theirs(person: User, grant: Grant) -> None:
    """An owner may change every grant, an editor who may share those they gave."""
    refuse_not_sharing(person, grant.prompt)
    _refuse_of_others(person, grant.prompt, grant)


def _refuse_of_others(person: User, prompt: Prompt, grant: Grant) -> None:
    if person.pk not in (prompt.owner_id, grant.granted_by_id):
        raise NotAllowed("Only the owner and who gave it can change this.", code="cannot_share")


def _recipient(prompt: Prompt, account: User | None, email: str) -> User:
    to = account or User.objects.filter(email=email.strip().lower()).first()
    if to is None or not to.is_active:
        raise InvalidInput("There is nobody here with this address.", code="no_such_person", field="account")
    if to.pk == prompt.owner_id:
        raise InvalidInput("The owner has everything already.", code="is_owner", field="account")
    return to


def _refuse_more_than_own(person: User, prompt: Prompt, may_share: bool) -> None:  # noqa: FBT001
    if may_share and not person.has_perm(access.OWN, prompt):
        raise NotAllowed("Only the owner decides who may share.", code="cannot_share", field="may_share")


def _role(role: str) -> Role:
    if role not in Role.values:
        raise InvalidInput(f"A role is one of {', '.join(Role.values)}.", field="role")
    return Role(role)


def _refuse_sharing(role: Role, may_share: bool) -> None:  # noqa: FBT001
    if may_share and role != Role.EDITOR:
        raise InvalidInput("Only an editor can be let share.", field="may_share")
