"""Who is calling the REST API: the bearer of a key, or the person whose browser sends a session cookie."""

from __future__ import annotations

import hmac
from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from rest_framework import authentication, exceptions
from rest_framework.request import Request

from accounts.models import ApiKey, Scope, User
from accounts.services import digest_of
from core.errors import NotAllowed, NotAuthenticated
from core.prepared import Prepared

SCHEME = "Bearer"
#: Longer than any key we make; keeps a megabyte in the header from being hashed.
MAX_LENGTH = 256
USED_AT_PRECISION = timedelta(minutes=1)
_USABLE = Prepared(lambda digest: ApiKey.objects.usable().select_related("account").filter(digest=digest))


class ApiKeyAuthentication(authentication.BaseAuthentication):
    """`Authorization: Bearer <key>`, looked up on every call, so that a revoked key is refused at once.

    Another scheme is not ours to judge and is ignored. Timing tells an attacker nothing: the index is searched by a
    SHA-256 that he can steer only by already having the key.
    """

    def authenticate(self, request: Request) -> tuple[User, ApiKey] | None:
        """Raises NotAuthenticated for a key that does not work, NotAllowed for one without the scope `api`."""
        scheme, _, credential = authentication.get_authorization_header(request).partition(b" ")
        if scheme.lower() != SCHEME.lower().encode():
            return None
        key = _find(credential.strip())
        if key is None:
            raise NotAuthenticated("This API key does not work: it is wrong, revoked, or its account is switched off.")
        if Scope.API not in key.scopes:
            raise NotAllowed(
                "This key may call models, but not the REST API.",
                code="scope_missing",
                next_step="Use a key with the scope `api`.",
            )
        record_use(key)
        return key.account, key

    def authenticate_header(self, request: Request) -> str:
        del request
        return SCHEME


class SessionAuthentication(authentication.SessionAuthentication):
    """The browser's session, always with the CSRF token: a foreign page can send the cookie, but not the token."""

    def authenticate_header(self, request: Request) -> str:
        del request
        return SCHEME

    def enforce_csrf(self, request: Request) -> None:
        """Raises NotAllowed with a code that a script can tell apart from a missing permission."""
        try:
            super().enforce_csrf(request)
        except exceptions.PermissionDenied as error:
            raise NotAllowed(
                "The CSRF token is missing or wrong.",
                code="csrf_failed",
                next_step="Reload the page, or send an API key instead of the session cookie.",
            ) from error


def _find(credential: bytes) -> ApiKey | None:
    if not 0 < len(credential) <= MAX_LENGTH or not credential.isascii():
        return None
    digest = digest_of(credential.decode("ascii"))
    key = _USABLE.first(digest=digest)
    return key if key is not None and hmac.compare_digest(bytes(key.digest), digest) else None


def record_use(key: ApiKey) -> None:
    """Note that the key was used, to the minute: most calls write nothing, and none waits for a lock on the row."""
    now = timezone.now()
    if key.last_used_at is not None and now - key.last_used_at < USED_AT_PRECISION:
        return
    with transaction.atomic():
        free = ApiKey.objects.select_for_update(skip_locked=True).filter(pk=key.pk, last_used_at=key.last_used_at)
        ApiKey.objects.filter(pk__in=free.values("pk")).update(last_used_at=now)
