"""Identifiers in the shape that the API's clients know."""

import secrets
import string

_ALPHABET = string.digits + string.ascii_letters


def new_id(prefix: str) -> str:
    """Such as `msg_01AbC...`: 22 random characters are 131 bits."""
    return f"{prefix}_01" + "".join(secrets.choice(_ALPHABET) for _ in range(22))
