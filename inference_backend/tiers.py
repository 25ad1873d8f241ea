"""The three kinds of callers, in the order in which they are turned away when there is too much work."""

from typing import Literal, get_args

Tier = Literal["free", "pro", "internal"]

#: First turned away, first.
TIERS: tuple[Tier, ...] = get_args(Tier)


def read_tier(value: str) -> Tier | None:
    return next((tier for tier in TIERS if tier == value), None)
