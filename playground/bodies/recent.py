"""The texts read last, decoded, in this process: so that windows of a long text cost one decoding and not one each.

Holds what everybody with the same permission would be given; whoever asks has checked it before.
"""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property

from core.errors import StorageUnavailable
from playground.bodies import store
from playground.long_texts import LineIndex, index_lines

HELD_BYTES = 128 * 1024 * 1024
#: A landmark of a line index, in Python's memory; there is one every 64 KiB.
_SMALLEST = 4096
_LOCKS = 16

Key = tuple[uuid.UUID, str]


class ReadText:
    """A text and, once somebody needs it, where its lines are."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    @cached_property
    def lines(self) -> LineIndex:
        return index_lines(self.data)

    @property
    def cost(self) -> int:
        return max(_SMALLEST, len(self.data))


@dataclass
class RecentTexts:
    """The last texts read, up to `limit` bytes in all. Threads that want the same one wait for the first."""

    limit: int = HELD_BYTES
    _held: OrderedDict[Key, ReadText] = field(default_factory=OrderedDict)
    _bytes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _reading: tuple[threading.Lock, ...] = field(default_factory=lambda: tuple(threading.Lock() for _ in range(_LOCKS)))

    def get(self, *, prompt_id: uuid.UUID, sha256: str) -> ReadText:
        """Raises StorageUnavailable, also for a damaged text. The caller has checked that the person may read it."""
        key = (prompt_id, sha256)
        if held := self._look_up(key):
            return held
        with self._reading[hash(key) % _LOCKS]:
            return self._look_up(key) or self._read(key)

    def _look_up(self, key: Key) -> ReadText | None:
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
            return self._held.get(key)

    def _read(self, key: Key) -> ReadText:
        texts = store.read_bytes(prompt_id=key[0], sha256s=[key[1]])
        if key[1] not in texts:
            raise StorageUnavailable("This text is not in the store.", code="body_unreadable")
        text = ReadText(texts[key[1]])
        with self._lock:
            self._held[key] = text
            self._bytes += text.cost
            while self._bytes > self.limit and len(self._held) > 1:
                _, dropped = self._held.popitem(last=False)
                self._bytes -= dropped.cost
        return text


recent_texts = RecentTexts()
