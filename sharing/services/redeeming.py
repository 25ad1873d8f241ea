"""Opening a link: the one place where a token counts. Never cached, always a POST: what only looks uses nothing up."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from django.contrib.auth.hashers import check_password, make_password
from django.db import transaction
from django.db.models import Case, F, Q, Value, When
from django.utils import timezone

from accounts.models import User
from core.errors import InvalidInput, NotFound, RateLimited
from sharing import access_log, links, tokens, visits
from sharing.links import LinkStanding
from sharing.models import Audience, ShareLink

#: Wrong passwords of one link, from wherever: who guesses from many addresses gets no further.
MAX_TRIES = 10
TRIES_WITHIN = dt.timedelta(minutes=10)


@dataclass(frozen=True, kw_only=True)
class LinkSession:
    """`cookie` is the value to give to `visits.remember`."""

    link: ShareLink
    cookie: str


def redeem_link(
    *,
    token: str,
    person: User | None,
    password: str | None = None,
    visitor: visits.Visit | None = None,
    address: str | None = None,
) -> LinkSession:
    """Open a link: the browser may then see its pages for a day. `visitor` is the visit this browser has already, if
    any; it costs no second view.

    Raises NotFound (absent, revoked, expired, used up, of others: all alike), InvalidInput (`wrong_password`),
    RateLimited (too many wrong passwords).
    """
    standing = links.standing_by_token(tokens.hash_of(token))
    if standing is None or (standing.link.audience == Audience.SIGNED_IN and person is None):
        if password:
            # As long as a wrong password takes.
            make_password(password)
        _note_refusal(standing, token, address)
        raise NotFound
    link = standing.link
    if link.password:
        _check_password(link, password or "", address)
    if not _is_same_visit(standing, visitor):
        _count_view(link, address)
    visit, cookie = visits.begin(standing)
    access_log.read_by_link(
        link=link,
        visitor=visit.visitor,
        what="opened",
        address=address,
        allowed=True,
        number=standing.version.number,
        person=person,
    )
    return LinkSession(link=link, cookie=cookie)


def _is_same_visit(standing: LinkStanding, visitor: visits.Visit | None) -> bool:
    return visitor is not None and visitor.link_id == standing.link.pk and visitor.seal == standing.seal


def _note_refusal(standing: LinkStanding | None, token: str, address: str | None) -> None:
    """Of a link that is or was: the owner sees that somebody still has it. Of nothing there is nothing to note."""
    link = standing.link if standing else ShareLink.objects.filter(token_hash=tokens.hash_of(token)).first()
    if link is not None:
        reason = "signed_out" if standing else "gone"
        access_log.read_by_link(link=link, visitor="", what="opened", address=address, allowed=False, reason=reason)


def _check_password(link: ShareLink, password: str, address: str | None) -> None:
    """The try is counted before it is looked at, so that many at once are no more tries than allowed."""
    if not password:
        raise InvalidInput("This link has a password.", code="password_needed", field="password")
    now = timezone.now()
    since = now - TRIES_WITHIN
    is_old = Q(password_tries_since=None) | Q(password_tries_since__lt=since)
    counted = (
        ShareLink.objects.filter(pk=link.pk)
        .filter(is_old | Q(password_tries__lt=MAX_TRIES))
        .update(
            password_tries=Case(When(is_old, then=Value(1)), default=F("password_tries") + 1),
            password_tries_since=Case(When(is_old, then=Value(now)), default=F("password_tries_since")),
        )
    )
    if not counted:
        raise RateLimited(
            "Too many passwords were tried for this link.",
            next_step="Wait ten minutes, then try again.",
            retry_after_s=int(TRIES_WITHIN.total_seconds()),
        )
    if not check_password(password, link.password):
        access_log.read_by_link(
            link=link, visitor="", what="opened", address=address, allowed=False, reason="wrong_password"
        )
        raise InvalidInput("This is not the password of the link.", code="wrong_password", field="password")
    ShareLink.objects.filter(pk=link.pk).update(password_tries=0, password_tries_since=None)


def _count_view(link: ShareLink, address: str | None) -> None:
    """One of the views, if there is a limit: of two that come at once for the last one, one finds nothing."""
    with transaction.atomic():
        mine = ShareLink.objects.filter(pk=link.pk, revoked_at=None)
        if mine.filter(Q(max_views=None) | Q(views__lt=F("max_views"))).update(views=F("views") + 1):
            return
    access_log.read_by_link(link=link, visitor="", what="opened", address=address, allowed=False, reason="used_up")
    raise NotFound
