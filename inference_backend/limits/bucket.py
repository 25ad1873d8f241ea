"""The arithmetic of one bucket, and of the shares that processes take from it. Pure: `now` is passed in, in seconds.

A bucket fills at `per_minute / 60` a second up to `per_minute`. It may be in debt, because the tokens of an answer are
known only at its end. A process does not ask the bucket for each request: it *exchanges*, that is, hands in all that
it holds and gets a larger share back, which it spends by itself.

Over-admission: in any window of T seconds all processes together spend at most

    capacity + rate * T + processes * share

where `share` (share_size) is what SHARE_S seconds of the rate amount to, plus one request's need. Nothing is made out
of nothing: a share is taken out of the bucket before it is spent, and the bound is only about *when* it is spent.
"""

from dataclasses import dataclass
from math import floor

WINDOW_S = 60.0
#: Longer means fewer calls of the store; shorter means less that lies idle in a process that needs it no more.
SHARE_S = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Rate:
    """`per_minute` is at least 1, or nobody would ever pass."""

    per_minute: float

    @property
    def capacity(self) -> float:
        return self.per_minute

    @property
    def per_s(self) -> float:
        return self.per_minute / WINDOW_S

    def scaled(self, factor: float) -> "Rate":
        return Rate(per_minute=max(1.0, self.per_minute * factor))

    def share_size(self) -> int:
        """Units that a process takes beyond what it needs at once; 0 for rates of less than one request a share."""
        return floor(self.per_s * SHARE_S)


@dataclass(frozen=True, kw_only=True, slots=True)
class Level:
    amount: float
    at: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Offer:
    """What one process brings to an exchange: what it holds (below 0: what it owes), and what it must have back.

    `extra` is what it would like beyond that, if the bucket has it.
    """

    held: float
    need: float
    extra: float = 0.0


def refill(level: Level | None, rate: Rate, now: float) -> Level:
    """A bucket never seen before is full. A clock that went back fills nothing."""
    if level is None:
        return Level(amount=rate.capacity, at=now)
    amount = min(rate.capacity, level.amount + max(0.0, now - level.at) * rate.per_s)
    return Level(amount=amount, at=max(now, level.at))


def hand_in(level: Level, held: float, rate: Rate) -> Level:
    return Level(amount=min(rate.capacity, level.amount + held), at=level.at)


def covers(level: Level, need: float) -> bool:
    return level.amount >= need


def take_share(level: Level, offer: Offer) -> tuple[float, Level]:
    """What the process then holds, and what is left. The level must cover the need."""
    share = max(offer.need, min(offer.need + offer.extra, float(floor(level.amount))))
    return share, Level(amount=level.amount - share, at=level.at)


def payable(need: float, rate: Rate) -> float:
    """A need beyond the whole bucket is met by a full one; the rest is settled as debt when the answer is known."""
    return min(need, rate.capacity)


def wait_s(amount: float, need: float, rate: Rate) -> float:
    """Seconds until `amount` has grown to `need`."""
    return max(0.0, need - amount) / rate.per_s
