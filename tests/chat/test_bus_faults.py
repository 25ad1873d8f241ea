"""Nothing is lost and nothing is shown twice, whatever the bus loses, doubles, delays, or forgets."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
import redis
from django.conf import settings

from embedded.stack import REPLACED
from tests.chat.lossy_bus import LossyBus
from tests.chat.page import DEAF_VARIABLE
from tests.chat.pairs import BURST, converse, make_pairs, passes, submit, trickle
from tests.chat.site import Site
from tests.services_plugin import OWNER_VARIABLE, RUN_VARIABLE
from tests.valkey import Valkey
from tests.waiting import until

pytestmark = [pytest.mark.faults, pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]

#: Sweeps are 5 s apart; two of them and some room.
SWEPT_S = 12
#: By a part of their names: what these see is gone unless somebody looks for gaps.
SEES_LOSSES = (
    "five_thousand",
    "doubled[lost]",
    "doubled[delayed]",
    "connection_to_valkey",
    "comes_back_empty",
    "within_the_sweep",
)
#: What makes a process part of this test run.
OF_THIS_RUN = {*REPLACED, RUN_VARIABLE, OWNER_VARIABLE, "PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER"}


def test_five_thousand_messages_through_a_bus_that_loses_delays_and_doubles(site: Site, bus: LossyBus) -> None:
    """100 pairs, 55 messages each, with lost acks and pages that are cut off again and again."""
    bus.lost, bus.delayed, bus.doubled = 0.2, 0.2, 0.1
    pairs = make_pairs(site, 100)
    for pair in pairs:
        pair.reading.lose_acks = 0.5
    chance = random.Random(3)

    async def trouble() -> None:
        for pair in pairs:
            submit(pair, BURST)
        for _ in range(30):
            await asyncio.sleep(0.3)
            for pair in chance.sample(pairs, 5):
                chance.choice([pair.sending, pair.reading]).cut()

    asyncio.run(converse(pairs, trouble))

    assert bus.dropped > 100
    passes(pairs, kept=100 * BURST)


@pytest.mark.parametrize("kind", ["lost", "delayed", "doubled"])
def test_a_third_of_what_is_published_is_lost_or_late_or_doubled(kind: str, site: Site, bus: LossyBus) -> None:
    setattr(bus, kind, 0.33)
    pairs = make_pairs(site, 5)

    async def trouble() -> None:
        await until(lambda: all(pair.reading.gen > 0 for pair in pairs))
        await trickle(pairs, 50, over_s=5)

    asyncio.run(converse(pairs, trouble))

    assert bus.seen > 100
    passes(pairs, kept=250)


def test_every_connection_to_valkey_is_cut_again_and_again(site: Site, bus: LossyBus) -> None:
    pairs = make_pairs(site, 4)

    async def trouble() -> None:
        sending = asyncio.ensure_future(trickle(pairs, 50, over_s=6))
        for _ in range(5):
            await asyncio.sleep(1)
            bus.cut()
        await sending

    asyncio.run(converse(pairs, trouble))

    assert bus.dropped > 5
    passes(pairs, kept=200)


def throw_out_subscribers(valkey: Valkey) -> int:
    """Every connection that has subscribed is closed; how many there were."""
    with redis.Redis(port=valkey.port) as client:
        return int(client.client_kill_filter(_type="pubsub"))


def test_valkey_throws_its_subscribers_out_in_the_middle_of_traffic(
    make_site: Callable[..., Site], tmp_path: Path
) -> None:
    """The layer subscribes again by itself and says nothing of what it missed."""
    valkey = Valkey(tmp_path)
    valkey.start()
    try:
        site = make_site(redis_url=valkey.url)
        pairs = make_pairs(site, 4)
        thrown_out = []

        async def trouble() -> None:
            sending = asyncio.ensure_future(trickle(pairs, 50, over_s=6))
            for _ in range(10):
                await asyncio.sleep(0.5)
                thrown_out.append(await asyncio.to_thread(throw_out_subscribers, valkey))
            await sending

        asyncio.run(converse(pairs, trouble))

        assert sum(thrown_out) >= 5
        passes(pairs, kept=200)
    finally:
        valkey.kill()


def test_valkey_dies_and_comes_back_empty(make_site: Callable[..., Site], tmp_path: Path) -> None:
    valkey = Valkey(tmp_path)
    valkey.start()
    try:
        site = make_site(redis_url=valkey.url)
        pairs = make_pairs(site, 3)

        async def trouble() -> None:
            sending = asyncio.ensure_future(trickle(pairs, 40, over_s=6))
            await asyncio.sleep(1.5)
            await asyncio.to_thread(valkey.kill)
            await asyncio.sleep(2)
            await asyncio.to_thread(valkey.start)
            await sending

        asyncio.run(converse(pairs, trouble))

        passes(pairs, kept=120)
    finally:
        valkey.kill()


def test_a_commit_that_was_never_published_arrives_within_the_sweep(site: Site, bus: LossyBus) -> None:
    """What a kill between commit and publish leaves behind, without the luck of timing: the bus loses everything."""
    bus.lost = 1.0
    [pair] = make_pairs(site, 1)
    seen_after: list[float] = []

    async def trouble() -> None:
        await until(lambda: pair.reading.gen > 0 and pair.sending.gen > 0)
        while len(seen_after) < 3 and min(seen_after, default=SWEPT_S) >= SWEPT_S:
            submit(pair, 1)
            started = time.monotonic()
            await until(lambda: len(pair.reading.shown) > len(seen_after), within_s=30)
            seen_after.append(time.monotonic() - started)

    asyncio.run(converse([pair], trouble))

    passes([pair], kept=len(seen_after))
    assert min(seen_after) < SWEPT_S


def test_all_of_these_go_red_where_nothing_repairs_gaps(tmp_path: Path) -> None:
    """The same tests once more, on servers and pages that trust the bus: each that loses something has to notice."""
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", __file__, "-q", "-n", "0", "-m", "faults", "-p", "no:cacheprovider"]
    chosen = " or ".join(SEES_LOSSES)
    # The run inside starts services of its own.
    environment = {name: value for name, value in os.environ.items() if name not in OF_THIS_RUN}

    ended = subprocess.run(
        [*command, "-k", chosen, f"--junitxml={report}"],
        cwd=settings.BASE_DIR,
        env=environment | {DEAF_VARIABLE: "1"},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )

    assert ended.returncode == pytest.ExitCode.TESTS_FAILED, ended.stdout[-3000:]
    cases = ElementTree.parse(report).getroot().iter("testcase")
    red = {case.get("name"): case.find("failure") is not None for case in cases}
    assert len(red) == len(SEES_LOSSES)
    assert all(red.values()), red
