"""Where a new text goes in the snapshot tree of its prompt: against which base, or whole. Pure; sizes come in.

The rule bounds bytes and hops together. Each base has a budget for the deltas stored directly on it; a text that does
not fit goes one level up and becomes a base there, so a rewrite is paid once and later texts follow it. Measured
against fixed chains, stars and the two well-known version control systems, this stores least at bounded depth.
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
HOP_BYTES = 32 * 1024 * 1024
FEWEST_HOPS, MOST_HOPS = 4, 32
SMALLEST_UNIT = 512
#: A rewrite fits nowhere; this bounds what finding that out costs.
MOST_TRIES = 6

Key = TypeVar("Key")


@dataclass(frozen=True, kw_only=True)
class Base(Generic[Key]):
    """A representation that others may be stored against.

    `stored_length`: its own size; `used`: the sum of the deltas stored directly on it; `depth`: its hops from a whole
    copy, 0 for one. All lengths in bytes.
    """

    key: Key
    depth: int
    stored_length: int
    used: int


def hop_cap(byte_length: int) -> int:
    """How many hops a text of this length may be away from a whole copy."""
    return max(FEWEST_HOPS, min(MOST_HOPS, HOP_BYTES // max(1, byte_length)))


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
    room for what was measured further down is passed over: the farther a base, the larger the delta, so it would be
    refused as well. That keeps the rule of trying level by level at about one encoding a save.
    """
    allowed = [base for base in path if base.depth < hop_cap(byte_length)]
    if not allowed:
        return None
    root, deepest, whole_length = allowed[0], allowed[-1], path[0].stored_length
    needed, tried = 1, 0
    for base in reversed(allowed):
        if room(base, whole_length=whole_length) < needed:
            continue
        tried += 1
        at = root if tried == MOST_TRIES else base
        length = measure(at)
        if fits(at, length, whole_length=whole_length):
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
