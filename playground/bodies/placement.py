"""Where a new text goes in the snapshot tree of its prompt: against which base, or whole. Pure; sizes come in.

The rule bounds bytes and hops together. Each base has a budget for the deltas stored directly on it; a text that does
not fit goes one level up and becomes a base there, so a rewrite is paid once and later texts follow it. Measured
against fixed chains, stars and the two well-known version control systems, this stores least at bounded depth.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def tries(path: Sequence[Base[Key]], byte_length: int) -> list[Base[Key]]:
    """The bases to try for a text of `byte_length`, best first: deepest, middle, root.

    `path` leads from the whole copy down. Three tries bound the cost of saving a rewrite, which fits nowhere.
    """
    allowed = [base for base in path if base.depth < hop_cap(byte_length)]
    if not allowed:
        return []
    picks = [allowed[-1], allowed[(len(allowed) - 1) // 2], allowed[0]]
    return list(dict.fromkeys(picks))


def fits(base: Base[Key], delta_length: int, *, whole_length: int) -> bool:
    """Whether a delta may be stored on `base`; `whole_length` is the stored size of the whole copy at the root."""
    if base.depth == 0 and delta_length > CUT * whole_length:
        return False
    return base.used + delta_length <= BUDGET * max(base.stored_length, unit(whole_length))


def is_base(*, delta_length: int, whole_length: int, moved_up: bool) -> bool:
    """Whether a text stored as a delta serves as a base for later ones.

    It does if it was refused further down, or if it is large enough that repeating it would cost more than a hop.
    """
    return moved_up or delta_length > unit(whole_length) // 4
