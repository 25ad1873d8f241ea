"""How near two texts are in meaning, by the embeddings of the inference backend."""

from __future__ import annotations

import math
from collections.abc import Sequence

import httpx2
from django.conf import settings

from core.tls import trust

WITHIN_S = 15.0
MOST_CHARACTERS = 100_000


class NoEmbeddings(Exception):
    """Why there are none: a sentence for people."""


def of(one: str, other: str) -> float:
    """Cosine of the two embeddings, -1 to 1; a blank text is near to blank ones only. Raises NoEmbeddings."""
    if not one.strip() or not other.strip():
        return float(one.strip() == other.strip())
    if max(len(one), len(other)) > MOST_CHARACTERS:
        raise NoEmbeddings(f"Texts of more than {MOST_CHARACTERS:,} characters are not embedded.")
    first, second = _embed([one, other])
    return cosine(first, second)


def cosine(first: Sequence[float], second: Sequence[float]) -> float:
    lengths = math.hypot(*first) * math.hypot(*second)
    return sum(a * b for a, b in zip(first, second, strict=True)) / lengths if lengths else 0.0


def _embed(texts: Sequence[str]) -> list[list[float]]:
    headers = {"Authorization": f"Bearer {settings.INFERENCE_API_KEY}"} if settings.INFERENCE_API_KEY else {}
    address = f"{settings.INFERENCE_BASE_URL}/v1/embeddings"
    body = {"model": settings.EMBEDDING_MODEL, "input": list(texts)}
    try:
        answer = httpx2.post(address, json=body, headers=headers, timeout=WITHIN_S, verify=trust())
    except httpx2.HTTPError as error:
        raise NoEmbeddings("The inference backend did not answer with embeddings.") from error
    if answer.status_code != 200:
        raise NoEmbeddings(f"The inference backend gives no embeddings here (status {answer.status_code}).")
    try:
        found = [[float(number) for number in each["embedding"]] for each in answer.json()["data"]]
    except (ValueError, KeyError, TypeError) as error:
        raise NoEmbeddings("The inference backend answered with something else than embeddings.") from error
    if len(found) != len(texts) or len({len(each) for each in found}) != 1:
        raise NoEmbeddings("The inference backend answered with something else than embeddings.")
    return found
