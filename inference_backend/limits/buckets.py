"""The three buckets of an account (requests, input tokens, output tokens) where they are kept: in the store that all
processes share, or, without one, in this process. The arithmetic is bucket.py's, in Lua a second time."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from inference_backend.limits.bucket import Level, Offer, Rate, covers, hand_in, refill, take_share, wait_s
from inference_backend.store import SharedStore

#: Accounts remembered by a process without a store; the one unused for longest starts anew beyond that.
ACCOUNTS = 100_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Shares:
    """The outcome of an exchange, in the order of the buckets.

    `shares`: what the process now holds. `levels`: what is left in the buckets. `waits_s`: seconds until the buckets
    cover the needs; all 0 where `granted`.
    """

    granted: bool
    shares: tuple[float, ...]
    levels: tuple[float, ...]
    waits_s: tuple[float, ...]


class Buckets(Protocol):
    async def exchange(self, account: str, rates: Sequence[Rate], offers: Sequence[Offer]) -> Shares:
        """Hands in what is held of every bucket and takes new shares, of all or of none. Raises StoreDownError."""


def exchange_all(
    levels: Sequence[Level | None], rates: Sequence[Rate], offers: Sequence[Offer], now: float
) -> tuple[Shares, list[Level]]:
    """One exchange with several buckets, at `now` in seconds; and their levels afterwards. Pure."""
    rows = list(zip(levels, rates, offers, strict=True))
    filled = [hand_in(refill(level, rate, now), offer.held, rate) for level, rate, offer in rows]
    if not all(covers(level, offer.need) for level, offer in zip(filled, offers, strict=True)):
        waits = tuple(
            wait_s(level.amount, offer.need, rate) for level, offer, rate in zip(filled, offers, rates, strict=True)
        )
        return _shares((0.0,) * len(filled), filled, waits), filled
    taken = [take_share(level, offer) for level, offer in zip(filled, offers, strict=True)]
    after = [level for _, level in taken]
    return _shares(tuple(share for share, _ in taken), after, ()), after


def _shares(shares: tuple[float, ...], levels: Sequence[Level], waits: tuple[float, ...]) -> Shares:
    amounts = tuple(level.amount for level in levels)
    return Shares(granted=not waits, shares=shares, levels=amounts, waits_s=waits or (0.0,) * len(amounts))


class LocalBuckets:
    """Of this process alone; `clock` gives seconds."""

    def __init__(self, clock: "Clock") -> None:
        self._clock = clock
        self._levels: OrderedDict[str, list[Level]] = OrderedDict()

    async def exchange(self, account: str, rates: Sequence[Rate], offers: Sequence[Offer]) -> Shares:
        shares, levels = exchange_all(self._levels.get(account) or [None] * len(rates), rates, offers, self._clock())
        self._levels[account] = levels
        self._levels.move_to_end(account)
        while len(self._levels) > ACCOUNTS:
            self._levels.popitem(last=False)
        return shares


class Clock(Protocol):
    def __call__(self) -> float: ...


# The same steps as exchange_all. ARGV: the time in seconds or "" for the store's own, then for each bucket its
# capacity, rate a second, and its offer (extra, held, need). Numbers come back as text: Lua's would be cut
# to whole ones. A bucket that is full again is forgotten.
EXCHANGE = """
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) + tonumber(time[2]) / 1e6
end
local count = (#ARGV - 1) / 5
local stored = redis.call('HMGET', KEYS[1], 'at', 'level1', 'level2', 'level3')
local at = tonumber(stored[1])
local elapsed = 0
if at then elapsed = math.max(0, now - at) end
local levels, enough, full_in = {}, true, 0
for i = 1, count do
  local capacity, rate, held, need =
    tonumber(ARGV[i * 5 - 3]), tonumber(ARGV[i * 5 - 2]), tonumber(ARGV[i * 5]), tonumber(ARGV[i * 5 + 1])
  local level = tonumber(stored[i + 1]) or capacity
  level = math.min(capacity, level + elapsed * rate)
  level = math.min(capacity, level + held)
  levels[i] = level
  if level < need then enough = false end
end
local answer = {enough and 1 or 0}
for i = 1, count do
  local capacity, rate, extra, need =
    tonumber(ARGV[i * 5 - 3]), tonumber(ARGV[i * 5 - 2]), tonumber(ARGV[i * 5 - 1]), tonumber(ARGV[i * 5 + 1])
  local share, wait = 0, 0
  if enough then
    share = math.max(need, math.min(need + extra, math.floor(levels[i])))
    levels[i] = levels[i] - share
  else
    wait = math.max(0, need - levels[i]) / rate
  end
  full_in = math.max(full_in, (capacity - levels[i]) / rate)
  answer[#answer + 1] = string.format('%.17g', share)
  answer[#answer + 1] = string.format('%.17g', levels[i])
  answer[#answer + 1] = string.format('%.6f', wait)
end
local write = {'at', string.format('%.17g', math.max(now, at or now))}
for i = 1, count do
  write[#write + 1] = 'level' .. i
  write[#write + 1] = string.format('%.17g', levels[i])
end
redis.call('HSET', KEYS[1], unpack(write))
redis.call('EXPIRE', KEYS[1], math.ceil(full_in) + 60)
return answer
"""


class SharedBuckets:
    """In Redis or Valkey, under `limits:buckets:<account>`, by its clock."""

    def __init__(self, store: SharedStore, *, clock: Clock | None = None) -> None:
        self._script = store.script(EXCHANGE)
        self._clock = clock

    async def exchange(self, account: str, rates: Sequence[Rate], offers: Sequence[Offer]) -> Shares:
        args: list[str | float] = [self._clock() if self._clock else ""]
        for rate, offer in zip(rates, offers, strict=True):
            args += [rate.capacity, rate.per_s, offer.extra, offer.held, offer.need]
        granted, *numbers = await self._script.run(keys=[f"limits:buckets:{account}"], args=args)
        values = [float(number) for number in numbers]
        return Shares(
            granted=granted == 1, shares=tuple(values[::3]), levels=tuple(values[1::3]), waits_s=tuple(values[2::3])
        )
