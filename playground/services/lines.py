"""Short texts of rows: names, messages, tags."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from core.errors import InvalidInput

LIMITS = {"name": 200, "description": 2000, "tags": 50, "folder": 500, "message": 5000}
FOLDER_DEPTH = 10
FOLDER_NAME_LENGTH = 100
POINTER_LENGTH = 100
LATEST = "latest"
#: What a pointer is written into: the path of an address, unescaped by some proxy on the way.
_NOT_IN_POINTERS = frozenset("/\\?#%")


def line(field: str, value: str, *, empty: bool = False) -> str:
    """A short text of a row: outer blanks removed, no NUL, not empty unless allowed. Raises InvalidInput."""
    return _bounded(field, value, limit=LIMITS[field], empty=empty)


def folder_path(field: str, value: str) -> str:
    """A folder as it is kept: names joined by `/`, without blanks around them or empty ones; "" is the top.

    Raises InvalidInput.
    """
    names = [_bounded(field, name, limit=FOLDER_NAME_LENGTH, empty=True) for name in value.split("/")]
    path = unicodedata.normalize("NFC", "/".join(" ".join(name.split()) for name in names if name))
    if not path.isprintable() or {".", ".."} & set(path.split("/")):
        raise InvalidInput("A folder's name has no line breaks and is neither . nor ...", field=field)
    if path.count("/") >= FOLDER_DEPTH:
        raise InvalidInput(f"Folders are at most {FOLDER_DEPTH} deep.", field=field)
    return _bounded(field, path, limit=LIMITS["folder"], empty=True)


def tag_list(field: str, values: Sequence[str]) -> list[str]:
    """Tags in the order they were given, each once. Raises InvalidInput."""
    return list(dict.fromkeys(line(field, value) for value in values))


def pointer_name(field: str, value: str) -> str:
    """The name of a branch or label: never to be taken for a version number, and harmless in an address.

    Raises InvalidInput.
    """
    name = _bounded(field, value, limit=POINTER_LENGTH, empty=False)
    if name.isdecimal() or name == LATEST:
        raise InvalidInput("This name stands for a version already.", field=field)
    if name in (".", "..") or not name.isprintable() or set(name) & _NOT_IN_POINTERS:
        raise InvalidInput("A name here has no line breaks and none of / \\ ? # %.", field=field)
    return name


def _bounded(field: str, value: str, *, limit: int, empty: bool) -> str:
    if "\0" in value:
        raise InvalidInput("A NUL character is not possible here.", field=field)
    trimmed = value.strip()
    if not trimmed and not empty:
        raise InvalidInput("This cannot be empty.", field=field)
    if len(trimmed) > limit:
        raise InvalidInput(f"This has {len(trimmed)} characters; {limit} are possible.", field=field)
    return trimmed
