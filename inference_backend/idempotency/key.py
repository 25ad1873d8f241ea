"""Which requests are the same request."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from inference_backend.errors import InvalidRequestError

HEADER = "idempotency-key"
LONGEST = 255
_VISIBLE = re.compile(r"[!-~]{1,255}")


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyedRequest:
    """`name` stands for (account, key): a hash, so that neither is a name in the store. `fingerprint` for the rest."""

    name: str
    fingerprint: str


def read_idempotency_key(headers: Mapping[str, str]) -> str | None:
    """Raises InvalidRequestError for anything but 1 to 255 visible ASCII characters."""
    key = headers.get(HEADER)
    if key is not None and not _VISIBLE.fullmatch(key):
        raise InvalidRequestError(f"must be 1 to {LONGEST} visible ASCII characters", field=HEADER)
    return key


def identify_request(*, account: str, key: str, version: str, request: object) -> KeyedRequest:
    """`request` is a checked request, or JSON. What it means counts, not how it was written; so does the API version.

    Takes milliseconds for large requests: call it off the event loop for those.
    """
    return KeyedRequest(
        # The length keeps (a, bc) and (ab, c) apart.
        name=hashlib.sha256(f"{len(account)}:{account}{key}".encode()).hexdigest(),
        fingerprint=_fingerprint([version, request]),
    )


def _fingerprint(value: Any) -> str:
    """SHA-256 of the value with sorted fields, as hex digits.

    Fed piece by piece: a canonical text of many megabytes would be written in one call, in which no other thread
    runs, the event loop's included.
    """
    digest = hashlib.sha256()
    for piece in _pieces(value):
        digest.update(piece)
    return digest.hexdigest()


def _pieces(value: Any) -> Iterator[bytes]:
    """Lengths come first, so that no two values have the same pieces."""
    if isinstance(value, str):
        text = value.encode("utf-8", "surrogatepass")
        yield b"s%d:" % len(text)
        yield text
    elif isinstance(value, BaseModel):
        yield from _pieces({name: getattr(value, name) for name in value.model_fields_set})
    elif isinstance(value, dict):
        yield b"d%d:" % len(value)
        for name in sorted(value):
            yield from _pieces(name)
            yield from _pieces(value[name])
    elif isinstance(value, list):
        yield b"l%d:" % len(value)
        for item in value:
            yield from _pieces(item)
    else:
        yield b"v%s;" % json.dumps(value).encode()
