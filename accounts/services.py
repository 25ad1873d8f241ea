"""What changes accounts and their keys. Each call is one transaction; the copy in Redis follows after commit."""

from __future__ import annotations

import hashlib
import secrets
import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.utils import timezone
from django.utils.module_loading import import_string

from accounts import key_mirror
from accounts.models import ApiKey, Scope, Tier, User
from accounts.names import clean_name
from core import bus, idempotency
from core.effects import after_commit
from core.errors import Conflict, InvalidInput, NotAllowed, NotAuthenticated, Unprocessable

KEY_MARK = "ppk_"
PREFIX_LENGTH = 12
NAME_LENGTH = 100
#: A person who needs more has a program that leaks them.
MAX_KEYS = 100
ALL_SCOPES = tuple(Scope.values)


@dataclass(frozen=True, kw_only=True)
class IssuedKey:
    """A key and, only in the call that made it, its plaintext: nobody can read it again, this product included."""

    key: ApiKey
    plaintext: str | None


def digest_of(plaintext: str) -> bytes:
    """What is kept of a key. Plain SHA-256: 256 random bits cannot be guessed, however fast the hash."""
    return hashlib.sha256(plaintext.encode()).digest()


def create_account(*, email: str, password: str, name: str = "", tier: str = Tier.FREE) -> User:
    """Make an account outside sign-up (seeds, operators); its address counts as verified.

    Raises InvalidInput, or Conflict if the address is taken.
    """
    if tier not in Tier.values:
        raise InvalidInput(f"A tier is one of {', '.join(Tier.values)}.", field="tier")
    name = clean_name(name)
    address = email.strip().lower()
    try:
        validate_email(address)
    except ValidationError as error:
        raise InvalidInput("This is not an e-mail address.", field="email") from error
    try:
        validate_password(password, User(email=address, name=name))
    except ValidationError as error:
        raise InvalidInput(" ".join(error.messages), field="password") from error
    with transaction.atomic():
        account = User(email=address, name=name, tier=tier)
        account.set_password(password)
        # ON CONFLICT rather than a caught violation: it cannot take another constraint for this one.
        User.objects.bulk_create([account], ignore_conflicts=True)
        if not User.objects.filter(pk=account.pk).exists():
            raise Conflict("An account with this address exists.", code="email_taken", field="email")
        EmailAddress.objects.create(user=account, email=address, primary=True, verified=True)
    return account


def rename_account(*, account: User, name: str) -> User:
    """What others see in place of the address before the @; "" takes the name back. Raises InvalidInput."""
    account.name = clean_name(name)
    account.save(update_fields=["name"])
    return account


def create_api_key(
    *, account: User, name: str, scopes: Collection[str], made_with: ApiKey | None = None
) -> tuple[ApiKey, str]:
    """Make a key and return it with its plaintext, which is shown once and kept nowhere.

    `made_with`: the key of the program that asks. The new one can do no more than it, and ends with it; otherwise a
    leaked key would outlive its revocation. Raises InvalidInput for a bad name or scope, NotAllowed for a switched-off
    account or a scope that `made_with` lacks, Unprocessable beyond MAX_KEYS.
    """
    if made_with is not None and not set(scopes) <= set(made_with.scopes):
        raise NotAllowed("A key cannot make one that may do more than itself.", code="scope_missing", field="scopes")
    plaintext = KEY_MARK + secrets.token_urlsafe(32)
    key = ApiKey(
        account=account,
        made_with=made_with,
        name=_clean_name(name),
        digest=digest_of(plaintext),
        prefix=plaintext[:PREFIX_LENGTH],
        scopes=_clean_scopes(scopes),
    )
    with transaction.atomic():
        # The lock makes the count true, and orders this after a deactivation that is under way.
        if not User.objects.select_for_update(no_key=True).get(pk=account.pk).is_active:
            raise NotAllowed("This account is switched off.", code="account_inactive")
        if made_with is not None and not ApiKey.objects.usable().filter(pk=made_with.pk).exists():
            raise NotAuthenticated("This API key was revoked meanwhile.")
        if ApiKey.objects.of(account).usable().count() >= MAX_KEYS:
            raise Unprocessable(
                f"An account has at most {MAX_KEYS} keys.",
                code="too_many_keys",
                next_step="Revoke one that is no longer used.",
            )
        key.save(force_insert=True)
        after_commit(key_mirror.mirror_key, key)
    return key, plaintext


def create_api_key_once(
    *,
    account: User,
    name: str,
    scopes: Collection[str],
    idempotency_key: str | None,
    made_with: ApiKey | None = None,
) -> IssuedKey:
    """`create_api_key` for callers that may repeat themselves: a repeat finds the key, but never its plaintext.

    Raises IdempotencyKeyReused if the same Idempotency-Key came with another name or other scopes.
    """

    def make() -> tuple[IssuedKey, uuid.UUID]:
        key, plaintext = create_api_key(account=account, name=name, scopes=scopes, made_with=made_with)
        return IssuedKey(key=key, plaintext=plaintext), key.pk

    def find(key_id: uuid.UUID) -> IssuedKey:
        return IssuedKey(key=ApiKey.objects.of(account).get(pk=key_id), plaintext=None)

    return idempotency.once(
        account_id=account.pk,
        scope="api_key",
        key=idempotency_key,
        request=idempotency.fingerprint(_clean_name(name), _clean_scopes(scopes)),
        make=make,
        find=find,
    )


def revoke_api_key(*, key: ApiKey) -> ApiKey:
    """End a key for good, and every key that was made with it. Twice is once.

    The REST API refuses them at once, the inference backend within 5 s.
    """
    with transaction.atomic():
        # The same lock as in create_api_key: a key made with this one is either seen here or refused there.
        User.objects.select_for_update(no_key=True).get(pk=key.account_id)
        ending = list(ApiKey.objects.filter(pk=key.pk))
        for each in ending:
            ending += ApiKey.objects.filter(made_with=each)
        ApiKey.objects.filter(pk__in=[each.pk for each in ending], revoked_at=None).update(revoked_at=timezone.now())
        for each in ending:
            after_commit(key_mirror.drop_key, each)
    key.refresh_from_db(fields=["revoked_at"])
    return key


def change_tier(*, account: User, tier: str) -> User:
    """Move an account to another tier; its keys call models under the new one within 5 s. Raises InvalidInput."""
    if tier not in Tier.values:
        raise InvalidInput(f"A tier is one of {', '.join(Tier.values)}.", field="tier")
    with transaction.atomic():
        account.tier = tier
        account.save(update_fields=["tier"])
        after_commit(key_mirror.mirror_account, account)
    return account


def deactivate_account(*, account: User) -> User:
    """Switch an account off: its sessions and keys stop working at once, its data stays."""
    with transaction.atomic():
        account.is_active = False
        account.save(update_fields=["is_active"])
        after_commit(key_mirror.mirror_account, account)
        tell_sockets(account)
        import_string(settings.ACCOUNT_SWITCHED_OFF)(account.pk)
    return account


def tell_sockets(person: User) -> None:
    """Sessions of this person may have ended: their open sockets ask. Lost, it is found out within a minute."""
    after_commit(bus.publish, bus.person_group(person.pk), {"type": "session.changed"})


def reactivate_account(*, account: User) -> User:
    """Switch an account on again: keys that were not revoked work again."""
    with transaction.atomic():
        account.is_active = True
        account.save(update_fields=["is_active"])
        after_commit(key_mirror.mirror_account, account)
    return account


def _clean_name(name: str) -> str:
    clean = name.strip()
    if not 0 < len(clean) <= NAME_LENGTH or not clean.isprintable():
        raise InvalidInput(f"A key's name has 1 to {NAME_LENGTH} printable characters.", field="name")
    return clean


def _clean_scopes(scopes: Iterable[str]) -> list[str]:
    wanted = sorted(set(scopes))
    if not wanted or not set(wanted) <= set(ALL_SCOPES):
        raise InvalidInput(f"Scopes are one or more of {', '.join(ALL_SCOPES)}.", field="scopes")
    return wanted
