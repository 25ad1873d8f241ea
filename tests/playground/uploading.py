"""Sending a large text as a browser does: announce, PUT with the address and headers given, complete; then packing."""

from __future__ import annotations

import hashlib
import random
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
from django.conf import settings
from rest_framework.test import APIClient

from playground.bodies import objects, parts
from playground.models import Prompt
from playground.services import packing

API = "/api/v1"
DEAD = "http://127.0.0.1:1"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def noise(length: int, seed: int = 3) -> bytes:
    """Lines of random hex, which compress by half only."""
    draw = random.Random(seed)
    lines = (draw.randbytes(39).hex() for _ in range(length // 79 + 1))
    return "\n".join(lines).encode()[:length]


def announce(api: APIClient, prompt: Prompt, data: bytes, **changes: Any) -> dict[str, Any]:
    """The answer to announcing `data`, with `changes` to what is declared."""
    declared = {"size": len(data), "sha256": sha256(data), **changes}
    answer = api.post(f"{API}/prompts/{prompt.pk}/uploads", declared, format="json")
    assert answer.status_code == 201, answer.content
    started: dict[str, Any] = answer.json()
    return started


def put(started: dict[str, Any], data: bytes) -> httpx2.Response:
    """What a browser does with the answer, knowing nothing else."""
    return httpx2.request(started["method"], started["url"], headers=started["headers"], content=data, timeout=60)


def announce_parts(api: APIClient, prompt: Prompt, data: bytes, **headers: Any) -> dict[str, Any]:
    """The answer to announcing `data` in parts."""
    pieces = [data[start : start + parts.PART_BYTES] for start in range(0, len(data), parts.PART_BYTES)]
    declared = {"size": len(data), "sha256": sha256(data), "part_sha256": [sha256(piece) for piece in pieces]}
    answer = api.post(f"{API}/prompts/{prompt.pk}/uploads", declared, format="json", **headers)
    assert answer.status_code == 201, answer.content
    started: dict[str, Any] = answer.json()
    return started


def put_part(part: dict[str, Any], data: bytes) -> httpx2.Response:
    """The part's stretch of `data`, to its address."""
    return put(part, data[part["offset"] : part["offset"] + part["size"]])


def put_parts(started: dict[str, Any], data: bytes) -> list[int]:
    """Send what is missing; the numbers of what was."""
    missing = [part for part in started["parts"] if not part["received"]]
    for part in missing:
        assert put_part(part, data).is_success
    return [part["number"] for part in missing]


def unfinished(prompt: Prompt) -> list[str]:
    """Names of what the store awaits in parts."""
    return [each.multipart_id for each in parts.unfinished(f"staging/{prompt.pk}/")]


def complete(api: APIClient, started: dict[str, Any]) -> Any:
    return api.post(f"{API}/uploads/{started['id']}/complete")


def state(api: APIClient, started: dict[str, Any]) -> dict[str, Any]:
    answer = api.get(f"{API}/uploads/{started['id']}")
    assert answer.status_code == 200
    shown: dict[str, Any] = answer.json()
    return shown


def pack(started: dict[str, Any]) -> None:
    """What the worker does."""
    packing.pack_upload(upload_id=uuid.UUID(started["id"]))


def upload(api: APIClient, prompt: Prompt, data: bytes, **changes: Any) -> dict[str, Any]:
    """All of it: the answer to announcing, for its id."""
    started = announce(api, prompt, data, **changes)
    assert put(started, data).is_success
    assert complete(api, started).status_code == 202
    pack(started)
    return started


def save(api: APIClient, prompt: Prompt, *texts: Any, **headers: Any) -> Any:
    """Post a version whose messages are `texts`: texts or references."""
    messages = [{"role": "user", "content": text} for text in texts]
    spec = {"model": "test-model", "max_tokens": 16, "messages": messages}
    return api.post(f"{API}/prompts/{prompt.pk}/versions", {"spec": spec}, format="json", **headers)


def keys(prefix: str) -> list[str]:
    return [each.key for each in objects.page(prefix, after="")]


@contextmanager
def store_down() -> Iterator[None]:
    """The store does not answer: what this process knows of it leads to a dead port."""
    before = settings.S3_ENDPOINT_URL
    settings.S3_ENDPOINT_URL = DEAD
    objects.forget_connections()
    try:
        yield
    finally:
        settings.S3_ENDPOINT_URL = before
        objects.forget_connections()
