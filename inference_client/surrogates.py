"""Halves of surrogate pairs in what a model sends.

JSON can spell one character as two escapes, and a stream may send them in two pieces. Each half alone has no UTF-8
form, so it can be neither relayed nor stored: whole pairs are joined, and a half that stays alone becomes U+FFFD.
"""

from __future__ import annotations

import codecs
from typing import Any


class PairJoiner:
    """Takes text piece by piece and gives it back with pairs joined, holding back a first half at the end."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-16-le")(errors="replace")
        self._holding = False

    def join(self, piece: str, *, final: bool = False) -> str:
        if not final and not self._holding and piece.isascii():
            return piece
        joined = self._decoder.decode(piece.encode("utf-16-le", "surrogatepass"), final=final)
        self._holding = self._decoder.getstate()[0] != b""
        return joined


def join_pairs(value: Any) -> Any:
    """JSON data with every text in it made storable."""
    if isinstance(value, str):
        return value if value.isascii() else PairJoiner().join(value, final=True)
    if isinstance(value, dict):
        return {join_pairs(key): join_pairs(item) for key, item in value.items()}
    if isinstance(value, list):
        return [join_pairs(item) for item in value]
    return value
