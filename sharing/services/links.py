"""Share links: made, narrowed, rotated, revoked. A token is in the answer of the call that made it, nowhere else."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.utils import timezone

from accounts.models import User
from core import idempotency
from core.errors import InvalidInput, NotAllowed, NotFound, Unprocessable
from playground import access
from playground.models import Prompt
from sharing import access_log, tokens
from sharing.models import Audience, ShareLink
from sharing.services.epochs import lock_prompt, raise_epoch
from sharing.services.expiry import instant
from sharing.targets import Target

MAX_LINKS = 100
NOTE_LENGTH = 200
MIN_PASSWORD, MAX_PASSWORD = 4, 128
MAX_VIEWS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class NewLink:
    """`token` is None in a repeated call: it was shown once."""

    link: ShareLink
    token: str | None


def create_link(
    *,
    person: User,
    prompt: Prompt,
    audience: str,
    target: Target,
    role: str = "viewer",
    shows_history: bool = False,
    expires_at: dt.datetime | None = None,
    password: str | None = None,
    max_views: int | None = None,
    note: str = "",
    idempotency_key: str | None = None,
) -> NewLink:
    """A new link. Raises NotFound, NotAllowed, InvalidInput (the field), Unprocessable beyond MAX_LINKS."""
    refuse_not_sharing(person, prompt)
    target.check(prompt)
    _refuse_role(role)
    token = tokens.new_token()
    link = ShareLink(
        prompt=prompt,
        token_hash=tokens.hash_of(token),
        token_prefix=tokens.prefix_of(token),
        audience=_audience(audience),
        target_version=target.version,
        follows_branch=target.branch,
        follows_label=target.label,
        shows_history=shows_history,
        password=_hashed(password),
        expires_at=instant(expires_at),
        max_views=_views(max_views),
        note=_note(note),
        created_by=person,
    )

    def make() -> tuple[NewLink, uuid.UUID]:
        # The lock makes the count true, and lets nobody share who is being removed.
        refuse_not_sharing(person, lock_prompt(prompt.pk))
        if ShareLink.objects.on(prompt.pk).count() >= MAX_LINKS:
            raise Unprocessable(f"A prompt has at most {MAX_LINKS} links.", next_step="Revoke those no longer used.")
        link.save(force_insert=True)
        access_log.changed(prompt_id=prompt.pk, person=person, what="link.created", link=link)
        return NewLink(link=link, token=token), link.pk

    about = (target.version and target.version.pk, target.branch, target.label)
    request = idempotency.fingerprint(prompt.pk, audience, about, shows_history, expires_at, password, max_views, note)
    return idempotency.once(
        account_id=person.pk,
        scope="links",
        key=idempotency_key,
        request=request,
        make=make,
        find=lambda pk: NewLink(link=ShareLink.objects.get(pk=pk), token=None),
    )


def rotate_link(*, person: User, link: ShareLink) -> NewLink:
    """Another address for the same link; the old one and all visits by it end. Raises NotFound, NotAllowed."""
    refuse_not_theirs(person, link)
    token = tokens.new_token()
    with transaction.atomic():
        _locked(link)
        link.token_hash, link.token_prefix = tokens.hash_of(token), tokens.prefix_of(token)
        link.save(update_fields=["token_hash", "token_prefix"])
        raise_epoch(link.prompt_id)
        access_log.changed(prompt_id=link.prompt_id, person=person, what="link.rotated", link=link)
    return NewLink(link=link, token=token)


def revoke_link(*, person: User, link: ShareLink) -> ShareLink:
    """End a link for everybody who came by it, and for nobody else. Twice is once. Raises NotFound, NotAllowed."""
    refuse_not_theirs(person, link)
    with transaction.atomic():
        lock_prompt(link.prompt_id)
        moment = timezone.now()
        if ShareLink.objects.filter(pk=link.pk, revoked_at=None).update(revoked_at=moment):
            raise_epoch(link.prompt_id)
            access_log.changed(prompt_id=link.prompt_id, person=person, what="link.revoked", link=link)
    link.refresh_from_db(fields=["revoked_at"])
    return link


def narrow_link(*, person: User, link: ShareLink, **changes: Any) -> ShareLink:
    """Change a link in place: its address stays. `changes`: audience, target, shows_history, expires_at, password,
    max_views, note; a password of None or "" takes it away. Raises NotFound, NotAllowed, InvalidInput.
    """
    refuse_not_theirs(person, link)
    values = _changed(link.prompt, changes)
    if not values:
        return link
    with transaction.atomic():
        now = _locked(link)
        if values.get("max_views") is not None and values["max_views"] < now.views:
            raise InvalidInput(f"It was opened {now.views} times already.", field="max_views")
        for name, value in values.items():
            setattr(link, name, value)
        link.save(update_fields=list(values))
        raise_epoch(link.prompt_id)
        access_log.changed(prompt_id=link.prompt_id, person=person, what="link.changed", link=link)
    return link


def _locked(link: ShareLink) -> ShareLink:
    lock_prompt(link.prompt_id)
    now = ShareLink.objects.select_for_update(no_key=True, of=("self",)).filter(pk=link.pk, revoked_at=None).first()
    if now is None:
        raise NotFound
    return now


def _changed(prompt: Prompt, changes: dict[str, Any]) -> dict[str, Any]:
    checks: dict[str, Callable[[Any], Any]] = {
        "audience": _audience,
        "expires_at": instant,
        "password": _hashed,
        "max_views": _views,
        "note": _note,
        "shows_history": bool,
    }
    values = {name: check(changes[name]) for name, check in checks.items() if name in changes}
    target = changes.get("target")
    if target is not None:
        target.check(prompt)
        values |= {
            "target_version": target.version,
            "follows_branch": target.branch,
            "follows_label": target.label,
        }
    _refuse_role(changes.get("role", "viewer"))
    return values


def refuse_not_sharing(person: User, prompt: Prompt) -> None:
    """Raises NotFound for who cannot see the prompt, NotAllowed for who sees it but may not share it."""
    if not person.has_perm(access.VIEW, prompt):
        raise NotFound
    if not person.has_perm(access.SHARE, prompt):
        raise NotAllowed("Only its owner shares this prompt.", code="cannot_share")


def refuse_not_theirs(person: User, link: ShareLink) -> None:
    """An owner may change every link to their prompt, an editor who may share those they made."""
    refuse_not_sharing(person, link.prompt)
    if person.pk not in (link.prompt.owner_id, link.created_by_id):
        raise NotAllowed("Only its owner and who made it can change this link.", code="cannot_share")


def _refuse_role(role: str) -> None:
    if role != "viewer":
        raise InvalidInput("A link lets people see. To let them do more, share with them by name.", field="role")


def _audience(audience: str) -> str:
    if audience not in Audience.values:
        raise InvalidInput(f"An audience is one of {', '.join(Audience.values)}.", field="audience")
    return audience


def _hashed(password: str | None) -> str:
    if not password:
        return ""
    if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
        raise InvalidInput(f"A password has {MIN_PASSWORD} to {MAX_PASSWORD} characters.", field="password")
    return make_password(password)


def _views(max_views: int | None) -> int | None:
    if max_views is not None and not 1 <= max_views <= MAX_VIEWS:
        raise InvalidInput(f"A view limit is from 1 to {MAX_VIEWS:,}.", field="max_views")
    return max_views


def _note(note: str) -> str:
    clean = " ".join(note.replace("\0", " ").split())
    if len(clean) > NOTE_LENGTH:
        raise InvalidInput(f"A note has at most {NOTE_LENGTH} characters.", field="note")
    return clean
