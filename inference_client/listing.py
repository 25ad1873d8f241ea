"""Asks a provider which models it offers: also the question whether it is there, and whether it takes a key."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Mapping
from typing import Any, Literal

import httpx2
from django.views.decorators.debug import sensitive_variables

from core.tls import trust
from inference_client.models import Provider
from inference_client.providers import Target

TIMEOUT_S = 2.0
#: Anthropic's list takes a version; which models it names does not depend on it.
API_VERSION = "2023-06-01"
_PAGE = 1000
_LARGEST_BYTES = 4 * 1024 * 1024

#: silent: no answer in time; refused: not with this key; limited: it answers, but not now; broken: it makes no sense.
Problem = Literal["silent", "refused", "limited", "broken"]
_BY_STATUS: Mapping[int, Problem] = {401: "refused", 403: "refused", 429: "limited"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Listing:
    """Rows of models as plain JSON, and what was wrong (None: nothing)."""

    rows: list[dict[str, Any]]
    problem: Problem | None = None


def ask(target: Target) -> Listing:
    """What the provider answers within about two seconds. Raises nothing that is its fault or the network's."""
    try:
        return _read(target)
    except httpx2.HTTPStatusError as error:
        return Listing(rows=[], problem=_BY_STATUS.get(error.response.status_code, "broken"))
    except httpx2.TransportError:
        return Listing(rows=[], problem="silent")
    except (httpx2.HTTPError, ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return Listing(rows=[], problem="broken")


@sensitive_variables()
def _read(target: Target) -> Listing:
    headers = {"anthropic-version": API_VERSION}
    if target.api_key:
        headers |= key_headers(target)
    # A redirect would carry the key to whoever is named there.
    with httpx2.stream(
        "GET",
        f"{target.base_url}/v1/models",
        params={"limit": _PAGE},
        headers=headers,
        timeout=TIMEOUT_S,
        follow_redirects=False,
        verify=trust(),
    ) as answer:
        answer.raise_for_status()
        rows = json.loads(_body(answer))["data"]
    return Listing(rows=[_row(each, target.provider) for each in rows])


def key_headers(target: Target) -> dict[str, str]:
    """Anthropic takes its keys as `x-api-key`; servers with the OpenAI API, as vLLM, only as a bearer token."""
    if target.provider == Provider.ANTHROPIC:
        return {"x-api-key": target.api_key}
    return {"Authorization": f"Bearer {target.api_key}"}


def _body(answer: httpx2.Response) -> bytes:
    """Bounded in time as a whole, not only between two bytes, and in size."""
    until = time.monotonic() + TIMEOUT_S
    parts: list[bytes] = []
    for part in answer.iter_bytes():
        parts.append(part)
        if time.monotonic() > until:
            raise httpx2.ReadTimeout("The list takes too long.")
        if sum(map(len, parts)) > _LARGEST_BYTES:
            raise ValueError("The list is too long.")
    return b"".join(parts)


def _row(row: Mapping[str, Any], provider: str) -> dict[str, Any]:
    """A row in Anthropic's shape or in our backend's richer one."""
    context = row.get("context_window", row.get("max_input_tokens"))
    return {
        "id": str(row["id"]),
        "context": context if isinstance(context, int) else None,
        "capabilities": row.get("capabilities"),
        "provider": str(provider),
        "notice": str(row["notice"]) if row.get("notice") else None,
        "load": _load(row.get("load")),
    }


def _load(given: object) -> dict[str, float | None] | None:
    """How busy our backend's model is; None for a server that does not say, or says something else."""
    if not isinstance(given, Mapping):
        return None
    load = {name: given.get(name) for name in ("waiting", "running", "slots", "tokens_per_s")}
    return load if all(value is None or isinstance(value, int | float) for value in load.values()) else None
