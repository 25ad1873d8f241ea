"""The models that the inference backend offers, as it lists them itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx2
from django.conf import settings
from django.core.cache import cache
from redis import RedisError

from core.errors import InferenceUnavailable, InvalidInput

TIMEOUT_S = 2.0
CACHE_S = 10
#: While the backend is down, most requests need not wait for it.
CACHE_ABSENCE_S = 2
#: Anthropic's list takes a version; which models it names does not depend on it.
_API_VERSION = "2023-06-01"
_PAGE = 1000
_CACHE_KEY = "inference-models"
ANTHROPIC = "anthropic"
#: How many models a refusal names.
_NAMED = 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class Model:
    """`context`: tokens of context. `capabilities`: as the backend declares them. None where it says nothing."""

    id: str
    context: int | None = None
    capabilities: Any = None
    provider: str = ""
    notice: str | None = None


def list_models() -> list[Model]:
    """The models on offer, at most 10 s old. Raises InferenceUnavailable."""
    cached = _recall()
    if cached is None:
        try:
            cached = _fetch()
        except (httpx2.HTTPError, ValueError, TypeError, AttributeError, KeyError) as error:
            _remember([], CACHE_ABSENCE_S)
            raise InferenceUnavailable from error
        _remember(cached, CACHE_S)
    if not cached:
        raise InferenceUnavailable
    return [Model(**fields) for fields in cached]


def refuse_unknown(model: str) -> None:
    """Raise InvalidInput for a model that is surely not on offer.

    Not while the backend is away (the run will say so), and not for Anthropic's API, which takes names that it does
    not list.
    """
    try:
        known = list_models()
    except InferenceUnavailable:
        return
    if any(each.id == model or each.provider == ANTHROPIC for each in known):
        return
    names = [each.id for each in known]
    raise InvalidInput(
        f"There is no model {model!r} here. On offer: {', '.join(names[:_NAMED])}.",
        code="unknown_model",
        field="model",
        data={"models": names[:_NAMED]},
    )


def as_model(row: Mapping[str, Any], *, host: str) -> Model:
    """A row of the backend's list, in Anthropic's shape or our backend's richer one."""
    context = row.get("context_window", row.get("max_input_tokens"))
    provider = row.get("provider") or (ANTHROPIC if host.endswith(".anthropic.com") else "self-hosted")
    return Model(
        id=str(row["id"]),
        context=context if isinstance(context, int) else None,
        capabilities=row.get("capabilities"),
        provider=str(provider),
        notice=str(row["notice"]) if row.get("notice") else None,
    )


def _fetch() -> list[dict[str, Any]]:
    host = urlsplit(settings.INFERENCE_BASE_URL).hostname or ""
    headers = {"anthropic-version": _API_VERSION}
    if settings.INFERENCE_API_KEY:
        headers["Authorization"] = f"Bearer {settings.INFERENCE_API_KEY}"
    answer = httpx2.get(
        f"{settings.INFERENCE_BASE_URL}/v1/models", params={"limit": _PAGE}, headers=headers, timeout=TIMEOUT_S
    )
    answer.raise_for_status()
    return [dataclasses.asdict(as_model(row, host=host)) for row in answer.json()["data"]]


def _recall() -> list[dict[str, Any]] | None:
    try:
        value: list[dict[str, Any]] | None = cache.get(_CACHE_KEY)
    except RedisError:
        return None
    return value


def _remember(models: list[dict[str, Any]], seconds: int) -> None:
    try:
        cache.set(_CACHE_KEY, models, seconds)
    except RedisError:
        return
