"""Texts of many prompts at once, as far as they are small: for lists, which show a line of each."""

from __future__ import annotations

import uuid
from collections.abc import Collection

from core.errors import StorageUnavailable
from playground.bodies import chains
from playground.models import Body

Place = tuple[uuid.UUID, str]


def small_texts(places: Collection[Place], *, each_bytes: int, total_bytes: int) -> dict[Place, str]:
    """By (prompt id, hex SHA-256): the texts of at most `each_bytes`, in the given order, until `total_bytes`.

    What the store cannot give just now is left out: a list without a line is better than no list.
    """
    wanted = _within(places, each_bytes=each_bytes, total_bytes=total_bytes)
    try:
        texts = chains.decode_all(chains.with_bases(list(wanted)), set(wanted))
    except StorageUnavailable:
        return {}
    return {place: texts[pk].decode("utf-8") for pk, place in wanted.items()}


def _within(places: Collection[Place], *, each_bytes: int, total_bytes: int) -> dict[uuid.UUID, Place]:
    rows = Body.objects.filter(
        prompt_id__in={prompt_id for prompt_id, _ in places},
        sha256__in={bytes.fromhex(sha256) for _, sha256 in places},
        byte_length__lte=each_bytes,
    ).values_list("prompt_id", "sha256", "pk", "byte_length")
    known = {(prompt_id, bytes(sha256).hex()): (pk, length) for prompt_id, sha256, pk, length in rows}
    wanted: dict[uuid.UUID, Place] = {}
    for place in dict.fromkeys(places):
        pk, length = known.get(place, (None, 0))
        if pk is not None and length <= total_bytes:
            wanted[pk] = place
            total_bytes -= length
    return wanted
