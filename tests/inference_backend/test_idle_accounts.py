"""An account that a request has come for is not idle any more, also while what it held is being handed in."""

import asyncio
from collections.abc import Sequence

import pytest

from inference_backend.limits import shares
from inference_backend.limits.bucket import Offer, Rate
from inference_backend.limits.buckets import LocalBuckets, Shares
from inference_backend.limits.shares import ShareKeeper

RATES = (Rate(per_minute=60_000),) * 3
NEEDS = (1.0, 10.0, 10.0)
#: More than the process holds, so that it has to ask.
MORE = (1.0, 5000.0, 5000.0)


class HaltingBuckets(LocalBuckets):
    """Answers when it is let."""

    def __init__(self) -> None:
        super().__init__(lambda: 0.0)
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def exchange(self, account: str, rates: Sequence[Rate], offers: Sequence[Offer]) -> Shares:
        await self.may_answer.wait()
        return await super().exchange(account, rates, offers)


async def test_a_request_that_comes_while_an_account_is_being_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "IDLE_S", 0.0)
    buckets = HaltingBuckets()
    keeper = ShareKeeper(buckets, LocalBuckets(lambda: 0.0))
    assert await keeper.draw("ada", RATES, NEEDS, "local") is None
    keeper.give_back("ada", NEEDS)
    # What was given back is more than a process keeps, and is handed in at once.
    await asyncio.sleep(0.05)

    buckets.may_answer.clear()
    sweeping = asyncio.create_task(keeper.sweep())
    await asyncio.sleep(0)
    drawing = asyncio.create_task(keeper.draw("ada", RATES, MORE, "local"))
    await asyncio.sleep(0)
    buckets.may_answer.set()
    assert await drawing is None
    await sweeping
    keeper.give_back("ada", MORE)
    served = keeper.find("ada")
    assert served is not None
    assert served.open == 0
