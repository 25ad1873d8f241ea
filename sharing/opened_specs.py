"""The specs of versions that links open, in this process: a version never changes, so only its size ends its stay.

Holds what everybody who may see the version would be given; whoever asks has checked that before.
"""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from typing import Any

from playground import freezing
from playground.models import Version

#: A larger text is read in windows.
INLINE_BYTES = 64 * 1024
HELD_BYTES = 32 * 1024 * 1024

_held: OrderedDict[uuid.UUID, tuple[dict[str, Any], int]] = OrderedDict()
_lock = threading.Lock()
_bytes = 0


def spec_of(version: Version) -> dict[str, Any]:
    """Texts up to INLINE_BYTES in full, others as `{"body", "bytes"}`. Not to be changed. Raises StorageUnavailable."""
    with _lock:
        if version.pk in _held:
            _held.move_to_end(version.pk)
            return _held[version.pk][0]
    spec = freezing.thaw_small(version, most=INLINE_BYTES)
    _keep(version.pk, spec, cost=len(version.spec) + _texts(spec))
    return spec


def _texts(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(_texts(each) for each in value.values())
    return sum(_texts(each) for each in value) if isinstance(value, list) else 8


def _keep(version_id: uuid.UUID, spec: dict[str, Any], *, cost: int) -> None:
    global _bytes  # noqa: PLW0603  # the one sum over the one dict, under the one lock
    with _lock:
        if version_id in _held:
            return
        _held[version_id] = (spec, cost)
        _bytes += cost
        while _bytes > HELD_BYTES and len(_held) > 1:
            _, (_, freed) = _held.popitem(last=False)
            _bytes -= freed
