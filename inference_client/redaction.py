"""Takes a secret out of what is about to be stored: a server may quote the key that it refuses."""

from __future__ import annotations

import re
from typing import Any

REMOVED = "[key removed]"
#: What keys of Anthropic and of this playground look like, whoever's they are.
_KEY_LIKE = re.compile(r"\b(?:sk-|ppk_|psl_)[A-Za-z0-9_-]{16,}")
#: Shorter ones are no keys, and would be found in ordinary words.
_SHORTEST = 8


def without_secret(value: Any, secret: str) -> Any:
    """JSON data without `secret` in any of its texts or names. What merely looks like a key stays: it may be meant."""
    if len(secret) < _SHORTEST:
        return value
    return _mapped(value, lambda text: text.replace(secret, REMOVED))


def without_keys(value: Any, secret: str) -> Any:
    """The same, and without anything that looks like a key: for messages of errors, which nobody meant to hold one."""
    return _mapped(without_secret(value, secret), lambda text: _KEY_LIKE.sub(REMOVED, text))


def _mapped(value: Any, change: Any) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {_mapped(name, change): _mapped(item, change) for name, item in value.items()}
    if isinstance(value, list):
        return [_mapped(item, change) for item in value]
    return value
