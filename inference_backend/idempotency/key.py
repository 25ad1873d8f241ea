"""Which requests are the same request."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

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


def identify_request(*, account: str, key: str, version: str, body: bytes) -> KeyedRequest:
    """The order of fields and the blanks between them make no difference; the API version does. `body` is JSON.

    Costs about 25 ms a megabyte: call it off the event loop for large bodies.
    """
    canonical = json.dumps(json.loads(body), sort_keys=True, separators=(",", ":"))
    return KeyedRequest(
        # The length keeps (a, bc) and (ab, c) apart.
        name=hashlib.sha256(f"{len(account)}:{account}{key}".encode()).hexdigest(),
        fingerprint=hashlib.sha256(f"{version}\n{canonical}".encode("utf-8", "surrogatepass")).hexdigest(),
    )
