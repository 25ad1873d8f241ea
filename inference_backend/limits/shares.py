"""What this process holds of one account's buckets, and how it gets more."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from inference_backend.errors import StoreDownError
from inference_backend.limits.bucket import Offer, Rate
from inference_backend.limits.buckets import Buckets, Shares
from inference_backend.limits.configuration import WithoutStore

#: A refusal stands for this long without asking again, so that a caller who hammers costs no call of the store.
REFUSAL_S = 0.1
IDLE_S = 1.0
COUNT = 3

Triple = tuple[float, float, float]


@dataclass(kw_only=True, slots=True)
class AccountShares:
    """`held`, `levels` in the order requests, input tokens, output tokens; times by the monotonic clock, in seconds."""

    rates: tuple[Rate, ...]
    held: list[float] = field(default_factory=lambda: [0.0] * COUNT)
    levels: tuple[float, ...] | None = None
    levels_at: float = 0.0
    used_at: float = 0.0
    #: Being drawn, or drawn and not given back: their refund, or their debt, is still to come.
    open: int = 0
    refused: Shares | None = None
    refused_at: float = float("-inf")
    refused_needs: tuple[float, ...] = ()
    exchange: "asyncio.Task[Shares] | None" = None

    def spend(self, needs: Sequence[float]) -> bool:
        if any(held < need for held, need in zip(self.held, needs, strict=True)):
            return False
        self.give(tuple(-need for need in needs))
        return True

    def give(self, amounts: Sequence[float]) -> None:
        for index, amount in enumerate(amounts):
            self.held[index] += amount

    def standing_refusal(self, needs: Sequence[float], now: float) -> Shares | None:
        if now - self.refused_at > REFUSAL_S:
            return None
        asks_less = any(need < refused for need, refused in zip(needs, self.refused_needs, strict=True))
        return None if asks_less else self.refused

    def holds_too_much(self) -> bool:
        """Beyond a share: such as the tokens that were reserved for an answer and not made."""
        return any(held > rate.share_size() for held, rate in zip(self.held, self.rates, strict=True))

    def remaining(self, now: float) -> tuple[float, ...]:
        """As far as this process knows: what others took since its last exchange is not in it."""
        if self.levels is None:
            return tuple(rate.capacity for rate in self.rates)
        elapsed = max(0.0, now - self.levels_at)
        remaining = [
            max(0.0, min(rate.capacity, level + held + elapsed * rate.per_s))
            for rate, level, held in zip(self.rates, self.levels, self.held, strict=True)
        ]
        return tuple(remaining)

    def is_whole(self, now: float) -> bool:
        left = zip(self.remaining(now), self.rates, strict=True)
        return all(amount >= rate.capacity for amount, rate in left)


class ShareKeeper:
    """The shares of all accounts that this process serves."""

    def __init__(self, shared: Buckets | None, local: Buckets) -> None:
        self._shared = shared
        self._local = local
        self._accounts: dict[str, AccountShares] = {}

    def find(self, account: str) -> AccountShares | None:
        return self._accounts.get(account)

    async def draw(
        self, account: str, rates: tuple[Rate, ...], needs: Sequence[float], without_store: WithoutStore
    ) -> Shares | None:
        """Spends `needs`, or gives the refusal. Raises StoreDownError where the tier is not served without a store."""
        shares = self._accounts.setdefault(account, AccountShares(rates=rates))
        shares.rates, shares.used_at = rates, time.monotonic()
        # From now on, or it could be forgotten while this waits for somebody else's exchange.
        shares.open += 1
        try:
            refusal = await self._spend(account, shares, needs, without_store)
        except BaseException:
            shares.open -= 1
            raise
        if refusal is not None:
            shares.open -= 1
        return refusal

    async def _spend(
        self, account: str, shares: AccountShares, needs: Sequence[float], without_store: WithoutStore
    ) -> Shares | None:
        while not shares.spend(needs):
            if refusal := shares.standing_refusal(needs, time.monotonic()):
                return refusal
            if shares.exchange:
                # Somebody else's: it may bring enough for both.
                await asyncio.wait({shares.exchange})
                continue
            task = self._start(account, shares, needs, without_store)
            await asyncio.wait({task})
            task.result()
        return None

    def give_back(self, account: str, amounts: Sequence[float]) -> None:
        """Once after each draw that was not refused."""
        shares = self._accounts[account]
        shares.open -= 1
        shares.give(amounts)
        shares.refused = None
        shares.refused_at = float("-inf")
        if shares.holds_too_much() and shares.exchange is None:
            self._start(account, shares, (0.0,) * COUNT, "local")

    async def sweep(self) -> None:
        """Hands in what idle accounts hold, and forgets those whose limits are whole. Call about every IDLE_S."""
        oldest = time.monotonic() - IDLE_S
        idle = {name: one for name, one in self._accounts.items() if one.used_at < oldest and one.exchange is None}
        await self._hand_in(idle)

    async def aclose(self) -> None:
        await self._hand_in(dict(self._accounts))

    async def _hand_in(self, accounts: dict[str, AccountShares]) -> None:
        tasks = [
            self._start(name, one, (0.0,) * COUNT, "local", takes_extra=False)
            for name, one in accounts.items()
            if one.exchange is None and any(one.held)
        ]
        if tasks:
            await asyncio.wait(tasks)
        now = time.monotonic()
        for name, one in accounts.items():
            if one.exchange is None and not (one.open or any(one.held)) and one.is_whole(now):
                self._accounts.pop(name, None)

    def _start(
        self,
        account: str,
        shares: AccountShares,
        needs: Sequence[float],
        without_store: WithoutStore,
        *,
        takes_extra: bool = True,
    ) -> "asyncio.Task[Shares]":
        task = asyncio.ensure_future(
            self._exchange(account, shares, tuple(needs), without_store, takes_extra=takes_extra)
        )
        shares.exchange = task

        def settle(done: "asyncio.Task[Shares]") -> None:
            shares.exchange = None
            if not done.cancelled():
                done.exception()

        task.add_done_callback(settle)
        return task

    async def _exchange(
        self,
        account: str,
        shares: AccountShares,
        needs: tuple[float, ...],
        without_store: WithoutStore,
        *,
        takes_extra: bool,
    ) -> Shares:
        rates, held = shares.rates, tuple(shares.held)
        offers = [
            Offer(held=mine, need=need, extra=rate.share_size() if takes_extra else 0)
            for mine, need, rate in zip(held, needs, rates, strict=True)
        ]
        outcome = await self._ask(account, rates, offers, without_store)
        # Not set but added: refunds may have come while the store was asked.
        shares.give(tuple(got - mine for got, mine in zip(outcome.shares, held, strict=True)))
        shares.levels, shares.levels_at = outcome.levels, time.monotonic()
        if not outcome.granted:
            shares.refused, shares.refused_at, shares.refused_needs = outcome, shares.levels_at, needs
        return outcome

    async def _ask(
        self, account: str, rates: Sequence[Rate], offers: Sequence[Offer], without_store: WithoutStore
    ) -> Shares:
        if self._shared is not None:
            try:
                return await self._shared.exchange(account, rates, offers)
            except StoreDownError:
                if without_store == "refuse":
                    raise
        return await self._local.exchange(account, rates, offers)
