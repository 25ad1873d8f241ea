"""The texts read or saved last, decoded, in the memory of this process. By prompt: nothing is shared between two.

Holds what everybody with the same permission would be given; whoever asks has checked it before.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property

from playground.long_texts import LineIndex, index_lines

HELD_BYTES = 128 * 1024 * 1024
#: A landmark of a line index, in Python's memory; there is one every 64 KiB.
_SMALLEST = 4096

#: A prompt, and the hex SHA-256 of a text that it has.
Key = tuple[uuid.UUID, str]


class ReadText:
    """A text and, once somebody needs it, where its lines are. `at_s`: the monotonic clock when it was read."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at_s = time.monotonic()

    @cached_property
    def lines(self) -> LineIndex:
        return index_lines(self.data)

    @property
    def cost(self) -> int:
        return max(_SMALLEST, len(self.data))


@dataclass
class HeldTexts:
    """The last ones, up to `limit` bytes in all."""

    limit: int = HELD_BYTES
    _texts: OrderedDict[Key, ReadText] = field(default_factory=OrderedDict)
    _bytes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, key: Key) -> ReadText | None:
        with self._lock:
            if key in self._texts:
                self._texts.move_to_end(key)
            return self._texts.get(key)

    def hold(self, key: Key, data: bytes) -> ReadText:
        text = ReadText(data)
        with self._lock:
            if replaced := self._texts.pop(key, None):
                self._bytes -= replaced.cost
            self._texts[key] = text
            self._bytes += text.cost
            while self._bytes > self.limit and len(self._texts) > 1:
                _, dropped = self._texts.popitem(last=False)
                self._bytes -= dropped.cost
        return text

    def forget(self) -> None:
        with self._lock:
            self._texts.clear()
            self._bytes = 0


held_texts = HeldTexts()
