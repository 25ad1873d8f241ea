"""How many requests of one account run at the same time, over all processes.

Each process *declares* how many places of an account it holds, under its own name and with an expiry. It declares the
number itself, never a step up or down, so a lost answer or a repeated step cannot make it drift; and the places of a
process that was killed are free after LEASE_S. Within its places a process counts by itself. For limits of 32 and more
it declares some in advance, so that most requests need no call of the store; those are the places that other
processes may miss, at most 1/16 of the limit for each process, until the next renewal finds them idle.
"""

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from inference_backend.errors import RateLimitedError, StoreDownError
from inference_backend.limits.configuration import WithoutStore
from inference_backend.store import SharedStore

LEASE_S = 15.0
RENEW_S = 5.0
#: One place in so many is declared in advance.
SPARE_SHARE = 32

# ARGV: process, places wanted, limit, expiry in milliseconds, and the time in milliseconds or "" for the store's own.
# Gives the places that the process now has.
DECLARE = """
local now = tonumber(ARGV[5])
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
local others = 0
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  if all[i] ~= ARGV[1] then
    local places, until_ms = string.match(all[i + 1], '^(%d+):(%d+)$')
    if tonumber(until_ms) > now then
      others = others + tonumber(places)
    else
      redis.call('HDEL', KEYS[1], all[i])
    end
  end
end
local granted = math.max(0, math.min(tonumber(ARGV[2]), tonumber(ARGV[3]) - others))
if granted > 0 then
  redis.call('HSET', KEYS[1], ARGV[1], string.format('%d:%d', granted, now + tonumber(ARGV[4])))
  redis.call('PEXPIRE', KEYS[1], tonumber(ARGV[4]) * 2)
else
  redis.call('HDEL', KEYS[1], ARGV[1])
end
return {granted}
"""


@dataclass(kw_only=True, slots=True)
class Places:
    """Of one account in this process. `declared` is what the others know of, `waiting` callers want one now."""

    limit: int
    without_store: WithoutStore
    in_use: int = 0
    declared: int = 0
    waiting: int = 0
    step: "asyncio.Task[bool] | None" = None

    @property
    def spare(self) -> int:
        return self.limit // SPARE_SHARE

    @property
    def wanted(self) -> int:
        taken = self.in_use + self.waiting
        return min(self.limit, taken + self.spare) if taken else 0

    @property
    def has_too_many(self) -> bool:
        """Some slack, or every request that begins or ends would be a call of the store."""
        return self.declared - self.in_use - self.waiting > 2 * self.spare


class Leases:
    def __init__(self, store: SharedStore | None, *, process: str) -> None:
        self._script = store.script(DECLARE) if store else None
        self._process = process
        self._places: dict[str, Places] = {}
        self._background: set[asyncio.Task[bool]] = set()

    def in_use(self, account: str) -> int:
        return self._places[account].in_use if account in self._places else 0

    async def acquire(self, account: str, *, limit: int, without_store: WithoutStore) -> None:
        """One place until `release`. Raises RateLimitedError, or StoreDownError where the tier says so."""
        places = self._places.setdefault(account, Places(limit=limit, without_store=without_store))
        places.limit, places.without_store = limit, without_store
        with self._waiting(account, places):
            while places.in_use >= places.declared:
                if places.in_use >= limit:
                    raise _too_many(limit)
                step = places.step or self._start(account, places)
                await asyncio.wait({step})
                if not step.result() and places.in_use >= places.declared:
                    raise _too_many(limit)
            places.in_use += 1

    def release(self, account: str) -> None:
        places = self._places[account]
        places.in_use -= 1
        self._tidy(account, places)

    async def renew(self) -> None:
        """Says again what this process holds, before it expires. Call every RENEW_S."""
        steps = [places.step or self._start(account, places) for account, places in self._places.items()]
        if steps:
            await asyncio.wait(steps)
        for account, places in list(self._places.items()):
            self._forget(account, places)

    async def aclose(self) -> None:
        """Gives up everything, so that nobody has to wait until it expires."""
        for places in self._places.values():
            places.in_use = places.waiting = places.limit = 0
        await self.renew()

    @contextlib.contextmanager
    def _waiting(self, account: str, places: Places) -> Iterator[None]:
        places.waiting += 1
        try:
            yield
        finally:
            places.waiting -= 1
            # Also the place that came for a caller who has left meanwhile.
            self._tidy(account, places)

    def _tidy(self, account: str, places: Places) -> None:
        if places.has_too_many and places.step is None:
            self._start(account, places)
        self._forget(account, places)

    def _forget(self, account: str, places: Places) -> None:
        if not (places.in_use or places.declared or places.waiting or places.step):
            self._places.pop(account, None)

    def _start(self, account: str, places: Places) -> "asyncio.Task[bool]":
        step = asyncio.ensure_future(self._declare(account, places))
        places.step = step
        self._background.add(step)

        def settle(done: "asyncio.Task[bool]") -> None:
            self._background.discard(done)
            places.step = None
            if not done.cancelled() and done.exception() is None:
                self._tidy(account, places)

        step.add_done_callback(settle)
        return step

    async def _declare(self, account: str, places: Places) -> bool:
        """Whether everything that was wanted was given."""
        wanted = places.wanted
        short = places.in_use + places.waiting > places.limit
        places.declared = await self._grant(account, places, wanted)
        return not short and places.declared >= wanted

    async def _grant(self, account: str, places: Places, wanted: int) -> int:
        if self._script is None:
            return wanted
        try:
            [granted] = await self._script.run(
                keys=[f"limits:leases:{account}"],
                args=[self._process, wanted, places.limit, int(LEASE_S * 1000), ""],
            )
        except StoreDownError:
            if places.without_store == "refuse":
                raise
            return wanted
        return int(granted)


def _too_many(limit: int) -> RateLimitedError:
    return RateLimitedError(
        f"This account already runs {limit} requests at the same time; try again when one has ended.",
        retry_after_s=1,
        limit="concurrency",
    )
