"""Secrets of people, sealed before they are stored: whoever reads the database alone reads none of them.

Fernet (AES-128-CBC with HMAC-SHA-256) under the keys of the setting SEALING_KEYS: the first one seals, all of them
open, so a key is replaced by putting a new one in front, resealing, and dropping the old one. What is sealed says whom
it belongs to: a row that was copied to another account opens for nobody.
"""

from __future__ import annotations

import json

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from core.errors import Unavailable


class SealBroken(Exception):
    """None of the keys opens it, or it belongs to somebody else."""


class SealingUnavailable(Unavailable):
    code = "sealing_unavailable"
    default_message = "This server cannot keep keys of people: its setting SEALING_KEYS is empty."
    default_next_step = "Whoever runs it can set it; until then, nothing is kept."


def is_available() -> bool:
    return bool(settings.SEALING_KEYS)


@sensitive_variables()
def seal(secret: str, *, owner: str) -> str:
    """`secret` as it may be stored. `owner` names whose it is. Raises SealingUnavailable."""
    return _box().encrypt(json.dumps({"owner": owner, "secret": secret}).encode()).decode()


@sensitive_variables()
def unseal(sealed: str, *, owner: str) -> str:
    """Raises SealBroken, SealingUnavailable."""
    try:
        opened = json.loads(_box().decrypt(sealed.encode()))
    except InvalidToken:
        raise SealBroken from None
    if opened["owner"] != owner:
        raise SealBroken
    return str(opened["secret"])


def reseal(sealed: str) -> str:
    """The same under the first key. Raises SealBroken, SealingUnavailable."""
    try:
        return _box().rotate(sealed.encode()).decode()
    except InvalidToken:
        raise SealBroken from None


def as_fernet(key: str) -> Fernet:
    """A key of the setting, with or without the `=` at its end. Raises ValueError for what is no key."""
    return Fernet(key + "=" * (-len(key) % 4))


def _box() -> MultiFernet:
    if not is_available():
        raise SealingUnavailable
    return MultiFernet([as_fernet(key) for key in settings.SEALING_KEYS])
