"""Reading through the texts held in memory: so that windows of a long text cost one decoding and not one each."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterable

from core.errors import StorageUnavailable
from playground.bodies import store
from playground.bodies.held import HeldTexts, Key, ReadText, held_texts

_LOCKS = 16


class RecentTexts:
    """Threads that want the same text wait for the first."""

    def __init__(self, held: HeldTexts) -> None:
        self._held = held
        self._reading = tuple(threading.Lock() for _ in range(_LOCKS))

    def get(self, *, prompt_id: uuid.UUID, sha256: str) -> ReadText:
        """Raises StorageUnavailable, also for a damaged text. The caller has checked that the person may read it."""
        key = (prompt_id, sha256)
        if held := self._held.get(key):
            return held
        with self._reading[hash(key) % _LOCKS]:
            return self._held.get(key) or self._read(key)

    def get_all(self, *, prompt_id: uuid.UUID, sha256s: Iterable[str]) -> dict[str, bytes]:
        """By hex SHA-256; those that are not held are read together. An unknown one is absent. As `get` otherwise."""
        held = {sha256: self._held.get((prompt_id, sha256)) for sha256 in sha256s}
        found = {sha256: text.data for sha256, text in held.items() if text is not None}
        if missing := held.keys() - found.keys():
            read = store.read_bytes(prompt_id=prompt_id, sha256s=missing)
            for sha256, data in read.items():
                self._held.hold((prompt_id, sha256), data)
            found |= read
        return found

    def _read(self, key: Key) -> ReadText:
        texts = store.read_bytes(prompt_id=key[0], sha256s=[key[1]])
        if key[1] not in texts:
            raise StorageUnavailable("This text is not in the store.", code="body_unreadable")
        return self._held.hold(key, texts[key[1]])


recent_texts = RecentTexts(held_texts)
