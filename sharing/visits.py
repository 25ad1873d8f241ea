"""A visit: what the cookie of a browser that came by a link says. It opens that link's pages and nothing else."""

from __future__ import annotations

import secrets
import uuid
from dataclasses import dataclass

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse

from sharing.links import LinkStanding

#: After this the link has to be opened again, which counts as another view.
LASTS_S = 24 * 3600
_SALT = "sharing.visit"


@dataclass(frozen=True, kw_only=True)
class Visit:
    """`visitor` tells two browsers apart in the access log; it is random and names nobody."""

    link_id: uuid.UUID
    seal: str
    visitor: str


def cookie_name(link_id: uuid.UUID) -> str:
    return f"shared-{link_id.hex}"


def cookie_path(link_id: uuid.UUID) -> str:
    """Where the cookie is sent: the pages of this link."""
    return f"/s/open/{link_id}/"


def begin(standing: LinkStanding) -> tuple[Visit, str]:
    """A fresh visit and the value of its cookie."""
    visit = Visit(link_id=standing.link.pk, seal=standing.seal, visitor=secrets.token_hex(8))
    return visit, signing.TimestampSigner(salt=_SALT).sign(f"{visit.link_id.hex}.{visit.seal}.{visit.visitor}")


def read(value: str | None, link_id: uuid.UUID) -> Visit | None:
    """The visit behind a cookie's value: None if it is not ours, too old, or of another link."""
    try:
        plain = signing.TimestampSigner(salt=_SALT).unsign(value or "", max_age=LASTS_S)
    except signing.BadSignature:
        return None
    link, _, rest = plain.partition(".")
    seal, _, visitor = rest.partition(".")
    return Visit(link_id=link_id, seal=seal, visitor=visitor) if link == link_id.hex else None


def of(request: HttpRequest, link_id: uuid.UUID) -> Visit | None:
    return read(request.COOKIES.get(cookie_name(link_id)), link_id)


def remember(response: HttpResponse, link_id: uuid.UUID, value: str) -> None:
    """Give the browser the cookie. Lax: it is sent when somebody comes back from another page, never with a POST."""
    response.set_cookie(
        cookie_name(link_id),
        value,
        max_age=LASTS_S,
        path=cookie_path(link_id),
        secure=settings.HTTPS,
        httponly=True,
        samesite="Lax",
    )
