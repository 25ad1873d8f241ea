"""Tokens of share links: 256 random bits, of which only the SHA-256 is kept. Scanners know them by their mark."""

from __future__ import annotations

import hashlib
import re
import secrets

MARK = "psl_"
_BYTES = 32
_PREFIX_LENGTH = len(MARK) + 4
#: Longer than any token; keeps a megabyte in an address from being hashed.
MAX_LENGTH = 128
PATTERN = re.compile(r"psl_[A-Za-z0-9_-]{8,}")


def new_token() -> str:
    return MARK + secrets.token_urlsafe(_BYTES)


def hash_of(token: str) -> bytes:
    """What is kept. Plain SHA-256: 256 random bits cannot be guessed, however fast the hash.

    Always one hash, whatever is given: what is no token at all is looked up like one that does not exist.
    """
    return hashlib.sha256(token[:MAX_LENGTH].encode("utf-8", "surrogatepass")).digest()


def prefix_of(token: str) -> str:
    """So much as tells links apart in a list: 24 of the 256 bits."""
    return token[:_PREFIX_LENGTH]
