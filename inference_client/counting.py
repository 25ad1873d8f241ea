"""How many tokens a request would take, asked of the model server before anything is sent to be answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
from django.views.decorators.debug import sensitive_variables

from accounts.models import User
from core.tls import trust
from inference_client.failures import plain_sentence
from inference_client.listing import key_headers
from inference_client.providers import ProviderKeyMissing, Target, target_for

CONNECT_S = 1.0
ANSWER_S = 5.0
#: What a count takes of a request; the rest changes nothing about its input.
_COUNTED = ("model", "messages", "system", "tools", "tool_choice", "thinking", "output_config")


@dataclass(frozen=True, kw_only=True)
class Counted:
    """`tokens`: None where nobody could say, and `reason` says why; `refusal`: what the server has against it."""

    tokens: int | None = None
    reason: str = ""
    refusal: str = ""


@sensitive_variables()
def count_tokens(*, account: User, provider: str, body: Mapping[str, Any], api_version: str) -> Counted:
    """Ask for the input tokens of a Messages API request. Takes a few seconds at most, and raises nothing.

    Source: POST /v1/messages/count_tokens of the Messages API.
    """
    try:
        target = target_for(account, provider)
    except ProviderKeyMissing as error:
        return Counted(reason=error.message)
    try:
        answer = httpx2.post(
            f"{target.base_url}/v1/messages/count_tokens",
            json={name: body[name] for name in _COUNTED if name in body},
            headers=_headers(account, target, api_version),
            timeout=httpx2.Timeout(ANSWER_S, connect=CONNECT_S),
            verify=trust(),
        )
    except httpx2.TimeoutException:
        return Counted(reason=f"{target.name} took too long to count.")
    except httpx2.HTTPError:
        return Counted(reason=f"{target.name} does not answer.")
    return _read(answer, target)


def _headers(account: User, target: Target, api_version: str) -> dict[str, str]:
    headers = {"anthropic-version": api_version}
    if target.is_ours:
        headers |= {"x-playground-account": str(account.pk), "x-playground-tier": account.tier}
    return headers | (key_headers(target) if target.api_key else {})


def _read(answer: httpx2.Response, target: Target) -> Counted:
    try:
        body = answer.json()
    except ValueError:
        return Counted(reason=f"{target.name} sent an answer that cannot be read.")
    if answer.status_code == 200:
        tokens = body.get("input_tokens") if isinstance(body, dict) else None
        known = isinstance(tokens, int) and not isinstance(tokens, bool)
        return Counted(tokens=tokens) if known else Counted(reason=f"{target.name} gave no number.")
    error = body.get("error") if isinstance(body, dict) else None
    said = plain_sentence(error.get("message")) if isinstance(error, dict) else ""
    # Not 404: it may be a server that answers messages and counts nothing.
    if answer.status_code in (400, 413, 422) and said:
        return Counted(reason=f"{target.name} would refuse this.", refusal=said)
    if answer.status_code in (401, 403):
        return Counted(reason=f"{target.name} does not accept the key.")
    return Counted(reason=f"{target.name} cannot count at the moment.")
