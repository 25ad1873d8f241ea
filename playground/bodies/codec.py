"""Text bytes <-> stored representation.

Snapshots are whole zstd frames. Deltas use the base's bytes as a *prefix* with long-distance matching and a window
that covers base and text: the ordinary dictionary API silently stores full copies from about 4 MB.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from backports import zstd

#: Largest text. Base and text together must fit the largest window every decoder accepts (2^27 bytes).
MAX_TEXT_BYTES = 64 * 1024 * 1024
#: zstd takes no shorter prefix.
MIN_BASE_BYTES = 8
_WINDOW_LOG_MAX = 27
#: Of zstd. A whole copy is rare and every delta rests on it, so it may cost more: 4 % smaller than at level 3 for three
#: times the time (0.26 s for 20 MB). A delta at level 4 costs what one at level 3 does.
_SNAPSHOT_LEVEL, _DELTA_LEVEL = 7, 4
#: For a representation that is made once in the background: 12 to 17 % smaller, decoded as quickly. Costs 0.3 to 0.5 s
#: for 1 MB; a longer text would take 20 s and 150 MB at 20 MB, so it gets the level that takes 1 s there.
_THOROUGH_LEVEL, _THOROUGH_LEVEL_OF_LONG, LONG_BYTES = 19, 12, 4 * 1024 * 1024


class CorruptBody(Exception):
    """Stored bytes that do not decode, or decode to something other than what was saved."""


@dataclass(frozen=True, kw_only=True)
class Encoded:
    """A representation ready to be stored: `sha256` and `byte_length` are of the text, `data` is what is stored."""

    sha256: bytes
    byte_length: int
    data: bytes


def encode_snapshot(text: bytes, *, thorough: bool = False) -> Encoded:
    """A full zstd frame, decoded back and compared before it is handed out. `thorough`: small rather than soon."""
    data = zstd.compress(text, level=_thorough_level(text) if thorough else _SNAPSHOT_LEVEL)
    return _checked(text, data, base=None)


def encode_delta(text: bytes, base: bytes, *, thorough: bool = False) -> Encoded:
    """A frame against `base`, decoded back and compared. `thorough`: small rather than soon.

    Raises ValueError if both do not fit one window, or if the base is shorter than MIN_BASE_BYTES.
    """
    if len(base) < MIN_BASE_BYTES:
        raise ValueError(f"a base has at least {MIN_BASE_BYTES} bytes")
    options: dict[int, int] = {
        zstd.CompressionParameter.compression_level: _thorough_level(text) if thorough else _DELTA_LEVEL,
        zstd.CompressionParameter.enable_long_distance_matching: 1,
        zstd.CompressionParameter.window_log: _window_log(len(text) + len(base)),
    }
    dictionary = zstd.ZstdDict(base, is_raw=True)
    data = zstd.compress(text, options=options, zstd_dict=dictionary.as_prefix)
    return _checked(text, data, base=base)


def _thorough_level(text: bytes) -> int:
    return _THOROUGH_LEVEL if len(text) <= LONG_BYTES else _THOROUGH_LEVEL_OF_LONG


def _window_log(length: int) -> int:
    bits = max(10, (max(length, 1) - 1).bit_length())
    if bits > _WINDOW_LOG_MAX:
        raise ValueError(f"text and base together have {length} bytes, more than a window holds")
    return bits


def _checked(text: bytes, data: bytes, *, base: bytes | None) -> Encoded:
    if decode(data, sha256=None, byte_length=len(text), base=base) != text:
        raise CorruptBody("the encoded bytes do not decode to the text")
    return Encoded(sha256=hashlib.sha256(text).digest(), byte_length=len(text), data=data)


def decode(data: bytes, *, sha256: bytes | None, byte_length: int, base: bytes | None = None) -> bytes:
    """The text of a representation, compared with its SHA-256. Raises CorruptBody, never returns other bytes.

    `sha256` is None for a step on the way to a text that is compared itself: hashing every text of a chain would cost
    more than decoding them, and damage anywhere shows in the last one.

    Decoding stops at `byte_length` + 1 bytes, so a damaged or hostile frame cannot fill the memory.
    """
    dictionary = None if base is None else zstd.ZstdDict(base, is_raw=True).as_prefix
    decompressor = zstd.ZstdDecompressor(
        zstd_dict=dictionary, options={zstd.DecompressionParameter.window_log_max: _WINDOW_LOG_MAX}
    )
    try:
        text = decompressor.decompress(data, max_length=byte_length + 1)
    except zstd.ZstdError as error:
        raise CorruptBody(f"the frame does not decode: {error}") from error
    if len(text) != byte_length or (sha256 is not None and hashlib.sha256(text).digest() != sha256):
        raise CorruptBody("the decoded bytes are not the ones that were saved")
    return text
