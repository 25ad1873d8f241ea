"""Limits per account: the arithmetic of the buckets, and several processes that share them."""

import asyncio
import re
import secrets
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference_backend.errors import RateLimitedError, StoreDownError
from inference_backend.limits.bucket import Level, Offer, Rate
from inference_backend.limits.buckets import SharedBuckets, exchange_all
from inference_backend.limits.configuration import KEYS, TierLimits, read_tier_limits
from inference_backend.limits.quota import Charge, Limits
from inference_backend.limits.tightening import Tightening
from inference_backend.settings import SettingsError
from inference_backend.store import SharedStore
from inference_backend.tiers import Tier
from tests.valkey import Valkey
from tests.waiting import PATIENCE_S

RATES = st.integers(min_value=1, max_value=1_000_000).map(lambda number: Rate(per_minute=float(number)))


def tiers(**free: object) -> dict[Tier, TierLimits]:
    return read_tier_limits({"tiers": {"free": free}})


@pytest.fixture
def account() -> str:
    return secrets.token_hex(8)


async def admit(limits: Limits, account: str, **changes: float) -> Charge:
    """One request that ends at once and uses what it reserved."""
    need = {"input_tokens": 0, "output_tokens": 0, "expected_wait_s": 0.0} | changes
    async with limits.admit(
        account=account,
        tier="free",
        input_tokens=int(need["input_tokens"]),
        output_tokens=int(need["output_tokens"]),
        expected_wait_s=need["expected_wait_s"],
    ) as charge:
        charge.settle(input_tokens=int(need["input_tokens"]), output_tokens=int(need["output_tokens"]))
    return charge


async def refused_limit(limits: Limits, account: str, **changes: float) -> str:
    with pytest.raises(RateLimitedError) as caught:
        await admit(limits, account, **changes)
    assert caught.value.retry_after_s is not None
    return caught.value.limit


Step = tuple[int, float, int]
STEPS = st.lists(
    st.tuples(st.integers(0, 3), st.floats(0, 5, allow_nan=False), st.integers(1, 3)), min_size=1, max_size=120
)


@given(rate=RATES, steps=STEPS)
@settings(max_examples=300, deadline=None)
def test_processes_together_admit_no_more_than_the_rate_the_bucket_and_their_shares(
    rate: Rate, steps: list[Step]
) -> None:
    """In every window: capacity + rate * T + processes * (share + need)."""
    processes, most = 4, 3
    held = [0.0] * processes
    level: Level | None = None
    now, admitted = 0.0, [(0.0, 0)]
    for process, pause, need in steps:
        now += pause
        if held[process] < need:
            offer = Offer(held=held[process], need=float(need), extra=rate.share_size())
            shares, [level] = exchange_all([level], [rate], [offer], now)
            held[process] = shares.shares[0]
        if held[process] >= need:
            held[process] -= need
            admitted.append((now, need))
    bound = rate.capacity + processes * (rate.share_size() + most)
    for start in range(len(admitted)):
        total = 0
        for at, need in admitted[start:]:
            total += need
            assert total <= bound + rate.per_s * (at - admitted[start][0]) + 1e-6


@given(rate=RATES, steps=STEPS)
@settings(max_examples=200, deadline=None)
def test_an_exchange_makes_and_loses_nothing(rate: Rate, steps: list[Step]) -> None:
    level: Level | None = Level(amount=rate.capacity / 2, at=0.0)
    held = 0.0
    for _, _, need in steps:
        before = level.amount + held if level else 0.0
        offer = Offer(held=held, need=float(need), extra=rate.share_size())
        shares, [level] = exchange_all([level], [rate], [offer], 0.0)
        held = shares.shares[0]
        assert level.amount + held == pytest.approx(min(before, rate.capacity + held))
        assert shares.granted == (before >= need) or rate.capacity < need


@given(steps=STEPS, per_minute=st.integers(1, 100_000))
@settings(max_examples=25, deadline=None)
def test_the_script_in_the_store_does_what_the_arithmetic_says(
    redis_url: str, steps: list[Step], per_minute: int
) -> None:
    rates = [Rate(per_minute=float(per_minute)), Rate(per_minute=per_minute * 3.0), Rate(per_minute=7.0)]

    async def compare() -> None:
        store, account, now = SharedStore(redis_url), secrets.token_hex(8), 1000.0
        shared = SharedBuckets(store, clock=lambda: now)
        levels: list[Level | None] = [None, None, None]
        for process, pause, need in steps:
            now += pause
            offers = [
                Offer(held=float(process - 1), need=float(need), extra=rate.share_size() * (process % 2))
                for rate in rates
            ]
            expected, after = exchange_all(levels, rates, offers, now)
            levels = list(after)
            got = await shared.exchange(account, rates, offers)
            assert got.granted == expected.granted
            assert got.shares == pytest.approx(expected.shares, abs=1e-3)
            assert got.levels == pytest.approx(expected.levels, abs=1e-3)
            assert got.waits_s == pytest.approx(expected.waits_s, abs=1e-3)
        await store.aclose()

    asyncio.run(compare())


@given(low=st.floats(0, 10), width=st.floats(0.001, 100), floor=st.floats(0.01, 1), wait=st.floats(0, 1000))
def test_limits_shrink_between_two_waits_and_never_below_the_floor(
    low: float, width: float, floor: float, wait: float
) -> None:
    tightening = Tightening(low_s=low, high_s=low + width, floor=floor)
    factor = tightening.factor(wait)
    assert floor <= factor <= 1
    assert wait > low or factor == 1
    assert wait < low + width or factor == floor
    assert tightening.factor(wait + 1) <= factor


async def test_two_processes_share_the_requests_of_a_minute(store: SharedStore, account: str) -> None:
    limits = tiers(requests_per_minute=6)
    first = Limits(tiers=limits, store=store, process="one")
    second = Limits(tiers=limits, store=store, process="two")
    for process in (first, second) * 3:
        await admit(process, account)
    assert await refused_limit(first, account) == "requests"
    assert await refused_limit(second, account) == "requests"


async def test_the_limit_is_the_accounts_own(store: SharedStore, account: str) -> None:
    limits = Limits(tiers=tiers(requests_per_minute=1), store=store, process="one")
    await admit(limits, account)
    assert await refused_limit(limits, account) == "requests"
    await admit(limits, account + "-another")


async def test_tokens_that_were_reserved_and_not_made_are_given_back(store: SharedStore, account: str) -> None:
    limits = tiers(output_tokens_per_minute=100)
    one = Limits(tiers=limits, store=store, process="one")
    two = Limits(tiers=limits, store=store, process="two")
    for _ in range(9):
        async with one.admit(account=account, tier="free", input_tokens=1, output_tokens=90, expected_wait_s=0) as used:
            assert await refused_limit(two, account, output_tokens=90) == "output_tokens"
            used.settle(input_tokens=1, output_tokens=1)
        await given_back(two, account, output_tokens=90)


async def given_back(limits: Limits, account: str, **need: float) -> None:
    """What one process gives back reaches the others with its next call, which is on its way."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                async with limits.admit(
                    account=account,
                    tier="free",
                    input_tokens=0,
                    output_tokens=int(need["output_tokens"]),
                    expected_wait_s=0,
                ):
                    break
            except RateLimitedError:
                await asyncio.sleep(0.02)
    await asyncio.sleep(0.15)


async def test_an_answer_longer_than_reserved_becomes_a_debt(store: SharedStore, account: str) -> None:
    limits = Limits(tiers=tiers(input_tokens_per_minute=60), store=store, process="one")
    async with limits.admit(
        account=account, tier="free", input_tokens=10, output_tokens=0, expected_wait_s=0
    ) as charge:
        charge.settle(input_tokens=100, output_tokens=0)
    with pytest.raises(RateLimitedError) as caught:
        await admit(limits, account, input_tokens=10)
    assert caught.value.limit == "input_tokens"
    assert 45 <= (caught.value.retry_after_s or 0) <= 60


async def test_a_request_larger_than_the_limit_of_a_minute_passes_when_the_bucket_is_full(account: str) -> None:
    limits = Limits(tiers=tiers(input_tokens_per_minute=50), store=None, process="one")
    await admit(limits, account, input_tokens=500)
    assert await refused_limit(limits, account, input_tokens=1) == "input_tokens"


async def test_a_refusal_by_concurrency_costs_nothing(store: SharedStore, account: str) -> None:
    limits = Limits(tiers=tiers(requests_per_minute=2, concurrency=1), store=store, process="one")
    async with limits.admit(account=account, tier="free", input_tokens=1, output_tokens=1, expected_wait_s=0) as a:
        assert await refused_limit(limits, account) == "concurrency"
        a.settle(input_tokens=1, output_tokens=1)
    await admit(limits, account)
    assert await refused_limit(limits, account) == "requests"


async def test_limits_tighten_as_the_queue_grows(account: str) -> None:
    changed = tiers(requests_per_minute=100, delay_low_ms=1000, delay_high_ms=2000, limit_floor=0.05)
    limits = Limits(tiers=changed, store=None, process="one")
    for _ in range(5):
        await admit(limits, account, expected_wait_s=9.0)
    assert await refused_limit(limits, account, expected_wait_s=9.0) == "requests"


async def test_what_is_left_is_still_known_when_the_account_was_idle(store: SharedStore, account: str) -> None:
    limits = Limits(tiers=tiers(requests_per_minute=3), store=store, process="one")
    watching = asyncio.ensure_future(limits.watch())
    await admit(limits, account)
    await admit(limits, account)
    await asyncio.sleep(2.5)
    assert dict(limits.headers(account, "free"))[b"anthropic-ratelimit-requests-remaining"] == b"1"
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


async def test_a_debt_is_remembered_while_its_answer_takes_long(account: str) -> None:
    """Other requests of the account are long over, and its bucket is full again, when the answer turns out long."""
    limits = Limits(tiers=tiers(output_tokens_per_minute=600_000), store=None, process="one")
    watching = asyncio.ensure_future(limits.watch())
    async with limits.admit(account=account, tier="free", input_tokens=0, output_tokens=1, expected_wait_s=0) as charge:
        await asyncio.sleep(2.2)
        charge.settle(input_tokens=0, output_tokens=900_000)
    assert await refused_limit(limits, account, output_tokens=1) == "output_tokens"
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


async def test_most_requests_of_a_busy_account_need_no_call_of_the_store(store: SharedStore, account: str) -> None:
    limits = Limits(tiers=tiers(requests_per_minute=60_000), store=store, process="one")
    before = await calls(store)
    for _ in range(400):
        await admit(limits, account)
    assert await calls(store) - before < 20


async def calls(store: SharedStore) -> int:
    answer = await store.script("return redis.call('INFO', 'commandstats')").run(keys=[], args=[])
    line = next(
        (line for line in bytes(answer).decode().splitlines() if line.startswith("cmdstat_evalsha")), "calls=0,"
    )
    return int(line.partition("calls=")[2].partition(",")[0])


async def test_without_the_store_each_process_counts_by_itself_or_nobody_is_served(
    tmp_path: Path, account: str
) -> None:
    server = Valkey(tmp_path)
    server.start()
    store = SharedStore(server.url)
    server.kill()
    lenient = Limits(tiers=tiers(requests_per_minute=2), store=store, process="one")
    await admit(lenient, account)
    await admit(lenient, account)
    assert await refused_limit(lenient, account) == "requests"
    strict = Limits(tiers=tiers(without_store="refuse"), store=store, process="two")
    with pytest.raises(StoreDownError):
        await admit(strict, account)
    await store.aclose()


async def test_a_store_that_comes_back_is_used_again(tmp_path: Path, account: str) -> None:
    server = Valkey(tmp_path)
    server.start()
    store = SharedStore(server.url)
    server.kill()
    one = Limits(tiers=tiers(requests_per_minute=3), store=store, process="one")
    await admit(one, account)
    server.start()
    await asyncio.sleep(0.6)
    two = Limits(tiers=tiers(requests_per_minute=3), store=store, process="two")
    for process in (one, two, one):
        await admit(process, account)
    assert await refused_limit(two, account) == "requests"
    await store.aclose()
    server.kill()


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ({"requests_per_minute": 0}, "requests_per_minute"),
        ({"concurrency": "many"}, "concurrency"),
        ({"output_tokens_per_minute": True}, "output_tokens_per_minute"),
        ({"delay_low_ms": 5, "delay_high_ms": 5}, "delay_low_ms"),
        ({"limit_floor": 2}, "limit_floor"),
        ({"without_store": "guess"}, "without_store"),
        ({"request_per_minute": 5}, "request_per_minute"),
    ],
)
def test_a_wrong_limit_is_named_with_its_table(table: dict[str, object], name: str) -> None:
    with pytest.raises(SettingsError, match=rf"\[tiers\.free\].*{name}"):
        read_tier_limits({"tiers": {"free": table}})


def test_a_table_for_a_tier_that_does_not_exist_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"\[tiers\.emperor\]"):
        read_tier_limits({"tiers": {"emperor": {}}})


def test_every_limit_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "inference-configuration.md").read_text(encoding="utf-8")
    section = text.partition("## Limits of accounts")[2].partition("\n## ")[0]
    rows = "".join(line.split("|")[1] for line in section.splitlines() if line.startswith("| `"))
    assert set(re.findall(r"`(\w+)`", rows)) == KEYS
