"""How long a revocation may take to reach everybody, and the parts it is made of.

    a decision is reused (from before the database was asked)  + a signed address lives + the clocks differ  <= bound
    a decision is reused                                       + a stream is asked again, with its jitter    <= bound

`SHARING_BOUND_S` is the bound, 30 s by default. It may be lowered to 0: then nothing is reused, no address is signed,
and a stream is asked about before each frame. The parts follow from it unless they are set by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields

from django.conf import settings

#: What the pages promise and the tests prove. A longer one would be another promise.
LONGEST_S = 30.0


@dataclass(frozen=True, kw_only=True)
class Lifetimes:
    """All in seconds. `presigned` 0: no addresses are signed."""

    reuse: float
    presigned: float
    skew: float
    recheck: float
    jitter: float


def derive(bound_s: float) -> Lifetimes:
    """The parts of a bound: of 30 s they are 5 + 20 + 5 and 5 + 10 + 2."""
    reuse = min(5.0, bound_s / 6)
    skew = 5.0
    presigned = float(math.floor(min(20.0, bound_s - reuse - skew)))
    if presigned < 2:
        presigned = skew = 0.0
    waiting = min(12.0, bound_s - reuse)
    return Lifetimes(reuse=reuse, presigned=presigned, skew=skew, recheck=waiting * 5 / 6, jitter=waiting / 6)


def problems(bound_s: float, parts: Lifetimes) -> Iterator[str]:
    """What is wrong with them, in sentences; nothing if the arithmetic holds."""
    if not 0 <= bound_s <= LONGEST_S:
        yield f"SHARING_BOUND_S is {bound_s:g}: it is from 0 to {LONGEST_S:g} seconds."
    for part in fields(parts):
        if getattr(parts, part.name) < 0:
            yield f"The part `{part.name}` of the bound is negative."
    addresses = parts.reuse + parts.presigned + parts.skew
    if parts.presigned and addresses > bound_s + 1e-9:
        yield f"A signed address may outlive a revocation by {addresses:g} s; SHARING_BOUND_S is {bound_s:g}."
    streams = parts.reuse + parts.recheck + parts.jitter
    if streams > bound_s + 1e-9:
        yield f"A stream may outlive a revocation by {streams:g} s; SHARING_BOUND_S is {bound_s:g}."


def current() -> Lifetimes:
    """The parts that are in force."""
    derived = derive(settings.SHARING_BOUND_S)
    given = {part.name: getattr(settings, f"SHARING_{part.name.upper()}_S") for part in fields(Lifetimes)}
    return Lifetimes(**{name: getattr(derived, name) if value is None else value for name, value in given.items()})


def in_words() -> str:
    """What the Revoke dialog promises."""
    seconds = math.ceil(settings.SHARING_BOUND_S)
    if seconds == 0:
        return "Open tabs stop at once; what was already copied stays copied."
    return f"Open tabs stop within {seconds} seconds; what was already copied stays copied."
