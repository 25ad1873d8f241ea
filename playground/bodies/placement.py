"""Where a new text goes in the snapshot tree of its prompt: against which base, or whole. Pure; sizes come in.

The rule bounds bytes and the work of reading together. Each base has a budget for the deltas stored directly on it; a
text that does not fit goes one level up and becomes a base there, so a rewrite is paid once and later texts follow it.
What it costs to read a text is reckoned from the sizes on its path: many small steps and a few large ones may cost the
same. Measured against fixed chains, stars and the two well-known version control systems, this stores least for what
reading costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

#: A budget is this many times the size of the base.
BUDGET = 3
#: Above this share of a whole copy, a delta is not worth its hop.
CUT = 0.75
#: Decoding costs a pass over the whole text per hop, so the allowed hops shrink as texts grow.
HOP_BYTES = 16 * 1024 * 1024
FEWEST_HOPS, MOST_HOPS = 4, 32
SMALLEST_UNIT = 512
#: Up to this many bytes a text is stored whole: as a delta it would be 100 to 130 bytes smaller, beside rows of 1.5 KB
#: that each save has anyway, and the way to its base would be asked for by each save and walked by each read.
WHOLE_BYTES = 512
#: What reading costs, in microseconds of CPU as measured by `benchmarks/version_store.py` on 2 cores of an EPYC: a hop
#: has a row and a pass over the text, and what is stored is fetched, if it is not in the row, and decompressed.
HOP_US, TEXT_BYTE_US, STORED_BYTE_US, OBJECT_US = 40.0, 0.0001, 0.003, 1000.0
#: The most that decoding the path of a text may cost: 8 ms at 1 MB. Hashing and queries come on top.
COST_LIMIT_US, COST_LIMIT_BYTE_US = 4000.0, 0.004
#: A representation up to this size is also kept in its row, so that most reads need no S3 call.
INLINE_BYTES = 16 * 1024
#: A rewrite fits nowhere; this bounds what finding that out costs.
MOST_TRIES = 6

Key = TypeVar("Key")


@dataclass(frozen=True, kw_only=True)
class Base(Generic[Key]):
    """A representation that others may be stored against.

    `stored_length`: its own size; `used`: the sum of the deltas stored directly on it; `depth`: its hops from a whole
    copy, 0 for one; `cost_us`: what decoding it costs, with all that it rests on. All lengths in bytes.
    """

    key: Key
    depth: int
    cost_us: float
    stored_length: int
    used: int


def hop_cap(byte_length: int) -> int:
    """How many hops a text of this length may be away from a whole copy."""
    return max(FEWEST_HOPS, min(MOST_HOPS, HOP_BYTES // max(1, byte_length)))


def step_us(*, byte_length: int, stored_length: int) -> float:
    """What decoding a text of `byte_length` from `stored_length` bytes adds to what its base costs."""
    fetched = OBJECT_US if stored_length > INLINE_BYTES else 0.0
    return HOP_US + byte_length * TEXT_BYTE_US + stored_length * STORED_BYTE_US + fetched


def is_quick(base: Base[Key], *, byte_length: int, delta_length: int) -> bool:
    """Whether a text stored on `base` is read within the limit for its length."""
    cost_us = base.cost_us + step_us(byte_length=byte_length, stored_length=delta_length)
    return cost_us <= COST_LIMIT_US + byte_length * COST_LIMIT_BYTE_US


def unit(whole_length: int) -> int:
    """The smallest size that a budget is reckoned from, given the stored size of the whole copy at the root."""
    return max(SMALLEST_UNIT, whole_length // 512)


def room(base: Base[Key], *, whole_length: int) -> int:
    """How many bytes of deltas a base may still take; `whole_length`: the stored size of the whole copy at the root."""
    return BUDGET * max(base.stored_length, unit(whole_length)) - base.used


@dataclass(frozen=True, kw_only=True)
class Placed(Generic[Key]):
    """`serves`: whether the new text is a base for later ones."""

    base: Base[Key]
    serves: bool


def place(path: Sequence[Base[Key]], byte_length: int, *, measure: Callable[[Base[Key]], int]) -> Placed[Key] | None:
    """The deepest base of `path` (whole copy first) that may take a text of `byte_length`; None: store it whole.

    `measure` answers the length of the delta against a base and is called MOST_TRIES times at most. A base without
    room or time for what was measured further down is passed over: the farther a base, the larger the delta, so it
    would be refused as well. That keeps the rule of trying level by level at about one encoding a save.
    """
    allowed = [
        base
        for base in path
        if base.depth < hop_cap(byte_length) and is_quick(base, byte_length=byte_length, delta_length=1)
    ]
    if not allowed:
        return None
    root, deepest, whole_length = allowed[0], allowed[-1], path[0].stored_length
    needed, tried = 1, 0
    for base in reversed(allowed):
        if room(base, whole_length=whole_length) < needed:
            continue
        if not is_quick(base, byte_length=byte_length, delta_length=needed):
            continue
        tried += 1
        at = root if tried == MOST_TRIES else base
        length = measure(at)
        quick = is_quick(at, byte_length=byte_length, delta_length=length)
        if quick and fits(at, length, whole_length=whole_length):
            moved_up = at is not deepest
            return Placed(base=at, serves=is_base(delta_length=length, whole_length=whole_length, moved_up=moved_up))
        if tried == MOST_TRIES:
            return None
        needed = max(needed, length)
    return None


def fits(base: Base[Key], delta_length: int, *, whole_length: int) -> bool:
    """Whether a delta may be stored on `base`; `whole_length` is the stored size of the whole copy at the root."""
    if base.depth == 0 and delta_length > CUT * whole_length:
        return False
    return delta_length <= room(base, whole_length=whole_length)


def is_base(*, delta_length: int, whole_length: int, moved_up: bool) -> bool:
    """Whether a text stored as a delta serves as a base for later ones.

    It does if it was refused further down, or if it is large enough that repeating it would cost more than a hop.
    """
    return moved_up or delta_length > unit(whole_length) // 4
