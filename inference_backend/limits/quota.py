"""The limits of one account, met by one request: taken before it runs, and given back as far as it did not use them."""

import asyncio
import contextlib
import datetime as dt
import functools
import logging
import math
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Literal

from inference_backend.errors import RateLimitedError
from inference_backend.limits.bucket import payable
from inference_backend.limits.buckets import LocalBuckets, SharedBuckets, Shares
from inference_backend.limits.configuration import TierLimits
from inference_backend.limits.leases import RENEW_S, Leases
from inference_backend.limits.shares import IDLE_S, ShareKeeper
from inference_backend.store import SharedStore
from inference_backend.tiers import Tier

Kind = Literal["answers", "counts"]

logger = logging.getLogger(__name__)

#: In the order of the buckets.
NAMES = ("requests", "input_tokens", "output_tokens")
#: `tokens` are whichever of the two kinds is nearer to its limit.
_HEADERS = tuple(
    tuple(f"anthropic-ratelimit-{name}-{key}".encode() for key in ("limit", "remaining", "reset"))
    for name in ("requests", "input-tokens", "output-tokens", "tokens")
)


@dataclass(kw_only=True, slots=True)
class Charge:
    """What one request took. Tokens that it does not say it used are given back, and so is a request that used none."""

    reserved: tuple[float, float, float]
    used: tuple[float, float, float] | None = None

    def settle(self, *, input_tokens: int, output_tokens: int) -> None:
        self.used = (1.0, float(input_tokens), float(output_tokens))

    def refund(self) -> tuple[float, ...]:
        """Below 0 where more was used than was reserved."""
        if self.used is None:
            return self.reserved
        return tuple(reserved - used for reserved, used in zip(self.reserved, self.used, strict=True))


class Limits:
    """Of all accounts. `tiers` may be replaced while the service runs."""

    def __init__(
        self,
        *,
        tiers: Mapping[Tier, TierLimits],
        store: SharedStore | None,
        process: str,
        on_refusal: Callable[[Tier, str], None] = lambda tier, limit: None,
    ) -> None:
        self.tiers = tiers
        self._shares = ShareKeeper(SharedBuckets(store) if store else None, LocalBuckets(time.monotonic))
        self._leases = Leases(store, process=process)
        self._on_refusal = on_refusal

    @contextlib.asynccontextmanager
    async def admit(
        self,
        *,
        account: str,
        tier: Tier,
        input_tokens: int,
        output_tokens: int,
        expected_wait_s: float,
        kind: Kind = "answers",
    ) -> AsyncIterator[Charge]:
        """Holds a place and the reserved amounts while the body runs. Raises RateLimitedError or StoreDownError.

        `expected_wait_s` is that of the tier: the longer, the tighter the limits (tightening.py). Requests of another
        `kind` have the same limits once more, for themselves.
        """
        name = _name(account, tier, kind)
        try:
            charge = await self._take(name, tier, input_tokens, output_tokens, expected_wait_s)
        except RateLimitedError as refusal:
            self._on_refusal(tier, refusal.limit)
            raise
        try:
            yield charge
        finally:
            self._leases.release(name)
            self._shares.give_back(name, charge.refund())

    async def _take(
        self, name: str, tier: Tier, input_tokens: int, output_tokens: int, expected_wait_s: float
    ) -> Charge:
        limits = self.tiers[tier]
        rates = limits.scaled(limits.tightening.factor(expected_wait_s))
        wanted = (1.0, float(input_tokens), float(output_tokens))
        needs = (payable(wanted[0], rates[0]), payable(wanted[1], rates[1]), payable(wanted[2], rates[2]))
        refusal = await self._shares.draw(name, rates, needs, limits.without_store)
        if refusal is not None:
            raise _refuse(refusal)
        try:
            await self._leases.acquire(name, limit=limits.concurrency, without_store=limits.without_store)
        except BaseException:
            self._shares.give_back(name, needs)
            raise
        return Charge(reserved=needs)

    def headers(self, account: str, tier: Tier) -> list[tuple[bytes, bytes]]:
        """`anthropic-ratelimit-*`, as far as this process knows. `reset` is when the limit is whole again."""
        shares = self._shares.find(_name(account, tier, "answers"))
        rates = shares.rates if shares else self.tiers[tier].rates
        remaining = shares.remaining(time.monotonic()) if shares else tuple(rate.capacity for rate in rates)
        now = time.time()
        lines = [
            (left / rate.capacity, b"%d" % rate.capacity, b"%d" % left, now + (rate.capacity - left) / rate.per_s)
            for rate, left in zip(rates, remaining, strict=True)
        ]
        tightest = min(lines[1:], key=itemgetter(0))
        headers: list[tuple[bytes, bytes]] = []
        for names, (_, limit, left, reset_at) in zip(_HEADERS, (*lines, tightest), strict=True):
            headers += (names[0], limit), (names[1], left), (names[2], _rfc3339(math.ceil(reset_at)))
        return headers

    async def watch(self) -> None:
        """Hands in what lies idle and renews what runs; until cancelled."""
        renew_at = time.monotonic() + RENEW_S
        while True:
            await asyncio.sleep(IDLE_S)
            try:
                await self._shares.sweep()
                if time.monotonic() >= renew_at:
                    renew_at = time.monotonic() + RENEW_S
                    await self._leases.renew()
            except Exception:  # without this task the places of running requests would expire under them
                logger.exception("upkeep of the limits failed")

    async def aclose(self) -> None:
        await self._shares.aclose()
        await self._leases.aclose()


@functools.lru_cache(maxsize=1024)
def _rfc3339(second: int) -> bytes:
    return dt.datetime.fromtimestamp(second, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ").encode()


def _name(account: str, tier: Tier, kind: Kind) -> str:
    """An account that changes its tier starts with fresh limits."""
    return f"{kind}:{tier}:{account}"


def _refuse(refusal: Shares) -> RateLimitedError:
    wait = max(refusal.waits_s)
    limit = NAMES[refusal.waits_s.index(wait)]
    # Jitter, or everybody who was refused together comes back together.
    retry_after_s = max(1, math.ceil(wait + random.uniform(0, min(1.0, wait / 4))))  # noqa: S311 - no secret
    if wait <= 60 < retry_after_s:
        retry_after_s = 60
    noun = limit.replace("_", " ")
    return RateLimitedError(
        f"This account has used up its {noun} of this minute; try again in {retry_after_s} s.",
        retry_after_s=retry_after_s,
        limit=limit,
    )
