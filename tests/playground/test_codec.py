"""Every text reads back byte-identical, and damage is found, not returned."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playground.bodies import codec

UGLY = [
    "",
    "a",
    "\ufeffBOM",
    "a\r\nb\nc\rd",
    "nul\0inside",
    "e\u0301 is not \u00e9",
    "👩‍👩‍👧‍👦" * 1000,
    "trailing blanks   \t\n\n\n",
    "שלום \u202e مرحبا",
    "\u2028\u2029\u0085\x0c",
]


def prose(length: int) -> bytes:
    """Seeded prose-like bytes: 5,000 words drawn at random, which zstd alone brings to about a quarter."""
    draw = random.Random(7)
    words = ["".join(draw.choices("etaoinshrdlu", k=draw.randint(2, 11))) for _ in range(5000)]
    return " ".join(draw.choices(words, k=length // 6)).encode()[:length]


def decoded(encoded: codec.Encoded, base: bytes | None = None) -> bytes:
    return codec.decode(encoded.data, sha256=encoded.sha256, byte_length=encoded.byte_length, base=base)


@pytest.mark.parametrize("text", UGLY)
def test_ugly_texts_survive(text: str) -> None:
    assert decoded(codec.encode_snapshot(text.encode())).decode() == text


@given(st.binary(max_size=5000))
def test_any_bytes_survive_a_snapshot(text: bytes) -> None:
    assert decoded(codec.encode_snapshot(text)) == text


@settings(max_examples=50)
@given(st.binary(max_size=3000), st.binary(min_size=codec.MIN_BASE_BYTES, max_size=3000))
def test_any_bytes_survive_a_delta_against_any_base(text: bytes, base: bytes) -> None:
    assert decoded(codec.encode_delta(text, base), base) == text


@settings(max_examples=30)
@given(st.binary(max_size=3000), st.binary(min_size=codec.MIN_BASE_BYTES, max_size=3000))
def test_any_bytes_survive_a_thorough_encoding(text: bytes, base: bytes) -> None:
    assert decoded(codec.encode_snapshot(text, thorough=True)) == text
    assert decoded(codec.encode_delta(text, base, thorough=True), base) == text


def test_a_thorough_encoding_is_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    text = prose(400_000)
    whole, half = text[:300_000], text[:150_000] + text[250_000:]
    assert len(codec.encode_snapshot(whole, thorough=True).data) < 0.95 * len(codec.encode_snapshot(whole).data)
    assert len(codec.encode_delta(half, whole, thorough=True).data) < 0.95 * len(codec.encode_delta(half, whole).data)
    monkeypatch.setattr(codec, "LONG_BYTES", 1000)
    assert len(codec.encode_snapshot(whole, thorough=True).data) < len(codec.encode_snapshot(whole).data)


def test_four_bytes_changed_in_20_mb_cost_less_than_16_kib() -> None:
    """The ordinary dictionary API silently stores a full copy here."""
    base = prose(20 * 1024 * 1024)
    text = base[: 10 * 1024 * 1024] + b"edit" + base[10 * 1024 * 1024 + 4 :]
    encoded = codec.encode_delta(text, base)
    assert len(encoded.data) < 16 * 1024
    assert decoded(encoded, base) == text


def test_a_damaged_frame_is_found() -> None:
    encoded = codec.encode_snapshot(b"text " * 100)
    damaged = bytearray(encoded.data)
    damaged[len(damaged) // 2] ^= 0xFF
    with pytest.raises(codec.CorruptBody):
        codec.decode(bytes(damaged), sha256=encoded.sha256, byte_length=encoded.byte_length)


def test_a_cut_frame_is_found() -> None:
    encoded = codec.encode_snapshot(b"text " * 100)
    with pytest.raises(codec.CorruptBody):
        codec.decode(encoded.data[:-3], sha256=encoded.sha256, byte_length=encoded.byte_length)


def test_another_text_is_not_taken_for_this_one() -> None:
    wanted, other = codec.encode_snapshot(b"aaaa"), codec.encode_snapshot(b"bbbb")
    with pytest.raises(codec.CorruptBody):
        codec.decode(other.data, sha256=wanted.sha256, byte_length=wanted.byte_length)


def test_a_small_frame_cannot_fill_the_memory() -> None:
    """A hostile object that decodes to a gigabyte stops at the length its row states."""
    bomb = codec.encode_snapshot(b"\0" * 50_000_000)
    with pytest.raises(codec.CorruptBody):
        codec.decode(bomb.data, sha256=bomb.sha256, byte_length=1000)


def test_base_and_text_beyond_one_window_are_refused() -> None:
    with pytest.raises(ValueError, match="more than a window holds"):
        codec.encode_delta(bytes(70_000_000), bytes(70_000_000))


def test_a_base_that_zstd_cannot_take_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 8 bytes"):
        codec.encode_delta(b"text", b"short")
