"""Nothing is lost and nothing is shown twice, over real sockets, whatever breaks: bus, database, server, network, page.

Every test sends numbered messages, breaks something meanwhile, and ends with the same four questions: was everything
kept, shown once, in order, and is the inbox empty? The last test asks them of a server that repairs no gaps.
"""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from psycopg import sql

from accounts.models import User
from accounts.services import create_account
from chat import presence, services
from chat.models import Conversation, Inbox, Message
from chat.protocol import Close
from chat.services.messages import SENDS
from tests.chat.lossy_bus import LossyBus
from tests.chat.page import Page, closed, greet, hear, opened
from tests.chat.site import APPLICATION, Site, sign_in
from tests.people import PASSWORD
from tests.valkey import Valkey
from tests.waiting import until

pytestmark = [pytest.mark.faults, pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]

SETTLE_S = 90.0
#: A sender has 60 messages at once and one a second after that.
BURST = 55


@dataclass
class Pair:
    """One who writes and one who reads."""

    sender: User
    reader: User
    conversation: Conversation
    sending: Page
    reading: Page


def make_pairs(site: Site, count: int) -> list[Pair]:
    pairs = []
    for number in range(count):
        people = [
            create_account(email=f"{role}{number}-{uuid.uuid4().hex[:6]}@example.com", password=PASSWORD)
            for role in ("sender", "reader")
        ]
        pages = [Page(site.socket, sign_in(person)[1], site.origin) for person in people]
        conversation = services.start_conversation(person=people[0], peer=people[1])
        pairs.append(Pair(people[0], people[1], conversation, *pages))
    return pairs


def submit(pair: Pair, count: int) -> None:
    for _ in range(count):
        number = len(pair.sending.sent) + len(pair.sending.outbox) + 1
        pair.sending.submit(str(pair.conversation.pk), f"number {number}")


async def in_thread(call: Callable[[], Any]) -> Any:
    def work() -> Any:
        try:
            return call()
        finally:
            connection.close()

    return await asyncio.to_thread(work)


async def converse(pairs: list[Pair], trouble: Callable[[], Awaitable[None]], *, settle_s: float = SETTLE_S) -> None:
    """Run all pages, make trouble, then wait until every outbox and every inbox is empty."""
    pages = [page for pair in pairs for page in (pair.sending, pair.reading)]
    tasks = [asyncio.ensure_future(page.run()) for page in pages]
    recipients = [pair.reader.pk for pair in pairs]
    try:
        await trouble()
        until_s = time.monotonic() + settle_s
        while time.monotonic() < until_s:
            waiting = any(page.outbox for page in pages)
            if not waiting and not await in_thread(Inbox.objects.filter(recipient__in=recipients).exists):
                break
            await asyncio.sleep(0.3)
        await asyncio.sleep(0.5)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(frozen=True)
class Verdict:
    kept: int
    lost: int
    twice: int
    out_of_order: int
    undelivered: int

    @property
    def good(self) -> bool:
        return not (self.lost or self.twice or self.out_of_order or self.undelivered)


def judge(pairs: list[Pair]) -> Verdict:
    kept = lost = twice = disorder = undelivered = 0
    for pair in pairs:
        rows = list(
            Message.objects.filter(conversation=pair.conversation).order_by("seq").values_list("body", flat=True)
        )
        shown = [message["body"] for message in pair.reading.shown]
        kept += len(rows)
        lost += len(set(rows) - set(shown)) + len(pair.sending.outbox)
        twice += len(shown) - len(set(shown)) + len(rows) - len(set(rows))
        disorder += shown != sorted(shown, key=lambda body: int(str(body).split()[1]))
        undelivered += Inbox.objects.filter(recipient=pair.reader).count()
    return Verdict(kept, lost, twice, disorder, undelivered)


def passes(pairs: list[Pair], *, kept: int) -> None:
    verdict = judge(pairs)
    assert verdict.good, verdict
    assert verdict.kept == kept


@pytest.fixture
def bus() -> LossyBus:
    proxy = LossyBus()
    proxy.start()
    return proxy


@pytest.fixture
def make_site(tmp_path: Path) -> Iterator[Callable[..., Site]]:
    sites: list[Site] = []

    def make(**options: Any) -> Site:
        site = Site(tmp_path, **options)
        site.start()
        sites.append(site)
        return site

    yield make
    for site in sites:
        site.kill()


@pytest.fixture
def site(make_site: Callable[..., Site], bus: LossyBus) -> Site:
    return make_site(redis_url=bus.url)


async def trickle(pairs: list[Pair], count: int, *, over_s: float) -> None:
    """Submit `count` messages a pair, spread over a time."""
    for _ in range(count):
        for pair in pairs:
            submit(pair, 1)
        await asyncio.sleep(over_s / count)


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


def test_every_connection_to_valkey_is_cut_again_and_again(site: Site, bus: LossyBus) -> None:
    pairs = make_pairs(site, 4)

    async def trouble() -> None:
        sending = asyncio.ensure_future(trickle(pairs, 50, over_s=6))
        for _ in range(5):
            await asyncio.sleep(1)
            bus.cut()
        await sending

    asyncio.run(converse(pairs, trouble))

    passes(pairs, kept=200)


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


def test_the_database_throws_everybody_out_and_is_away_for_two_seconds(site: Site) -> None:
    pairs = make_pairs(site, 3)
    at = connection.settings_dict

    def away() -> None:
        """The server's connections are ended, and for two seconds nobody gets a new one."""
        name = sql.Identifier(at["NAME"])
        account = {"host": at["HOST"], "port": at["PORT"], "user": at["USER"], "password": at["PASSWORD"]}
        with psycopg.connect(**account, dbname="postgres", autocommit=True) as other:
            other.execute(sql.SQL("ALTER DATABASE {} WITH ALLOW_CONNECTIONS false").format(name))
            try:
                ended = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = %s"
                assert other.execute(ended, [APPLICATION]).fetchone() != (0,)
                time.sleep(2)
            finally:
                other.execute(sql.SQL("ALTER DATABASE {} WITH ALLOW_CONNECTIONS true").format(name))

    async def trouble() -> None:
        sending = asyncio.ensure_future(trickle(pairs, 40, over_s=8))
        await asyncio.sleep(2)
        await in_thread(away)
        await sending

    asyncio.run(converse(pairs, trouble))

    passes(pairs, kept=120)


def test_the_server_is_killed_again_and_again_while_messages_commit(site: Site) -> None:
    """Kills fall between commit and publish, between commit and answer, and everywhere else."""
    pairs = make_pairs(site, 6)

    async def trouble() -> None:
        sending = asyncio.ensure_future(trickle(pairs, 50, over_s=12))
        for _ in range(3):
            await asyncio.sleep(3)
            await asyncio.to_thread(site.kill)
            await asyncio.to_thread(site.start)
        await sending

    asyncio.run(converse(pairs, trouble))

    passes(pairs, kept=300)
    assert all(pair.reading.connections >= 2 for pair in pairs)


def test_a_commit_that_was_never_published_arrives_within_the_sweep(site: Site, bus: LossyBus) -> None:
    """What a kill between commit and publish leaves behind, without the luck of timing: the bus loses everything."""
    bus.lost = 1.0
    [pair] = make_pairs(site, 1)
    seen_after: list[float] = []

    async def trouble() -> None:
        await until(lambda: pair.reading.gen > 0 and pair.sending.gen > 0)
        submit(pair, 1)
        started = time.monotonic()
        await until(lambda: len(pair.reading.shown) == 1, within_s=20)
        seen_after.append(time.monotonic() - started)

    asyncio.run(converse([pair], trouble))

    passes([pair], kept=1)
    assert seen_after[0] < 12


def test_a_reader_whose_network_stops_without_a_word_gets_everything_later(site: Site) -> None:
    """SIGSTOP of nothing: the socket stays open at the server, and the page neither reads nor answers."""
    [pair] = make_pairs(site, 1)

    async def trouble() -> None:
        await until(lambda: pair.reading.gen > 0)
        assert pair.reading.socket is not None
        pair.reading.socket.transport.pause_reading()
        submit(pair, 40)
        await until(lambda: not pair.sending.outbox)
        pair.reading.cut()

    asyncio.run(converse([pair], trouble))

    passes([pair], kept=40)


def test_a_page_that_does_not_read_is_hung_up_on_and_gets_everything_later(site: Site) -> None:
    """14 MB that cannot be compressed, of which it takes none for 10 s: closed with 4408, and it may come back."""
    [pair] = make_pairs(site, 1)

    def send_much() -> None:
        chance = random.Random(1)
        for number in range(1, 1201):
            SENDS.forget()
            body = f"number {number} " + "".join(map(chr, chance.choices(range(0x4E00, 0x9FFF), k=3900)))
            services.send_message(
                sender=pair.sender, conversation=pair.conversation, client_msg_id=uuid.uuid4(), body=body
            )

    async def trouble() -> None:
        await until(lambda: pair.reading.gen > 0)
        assert pair.reading.socket is not None
        pair.reading.socket.transport.pause_reading()
        await in_thread(send_much)
        await asyncio.sleep(13)
        pair.reading.socket.transport.resume_reading()
        await until(lambda: 4408 in pair.reading.codes, within_s=30)

    asyncio.run(converse([pair], trouble))

    passes([pair], kept=1200)


def test_a_sender_that_never_hears_an_answer_repeats_without_a_twin(site: Site) -> None:
    [pair] = make_pairs(site, 1)

    async def trouble() -> None:
        submit(pair, 30)
        for _ in range(12):
            await asyncio.sleep(0.15)
            pair.sending.cut()

    asyncio.run(converse([pair], trouble))

    passes([pair], kept=30)
    assert pair.sending.connections > 3


def test_two_pages_that_fight_end_with_one_and_lose_nothing(site: Site) -> None:
    """The first is closed with 4409 and does not come back; the second has everything."""
    [pair] = make_pairs(site, 1)
    second = Page(site.socket, pair.reading.cookie, site.origin)

    async def trouble() -> None:
        await until(lambda: pair.reading.gen > 0)
        submit(pair, 10)
        await until(lambda: len(pair.reading.shown) == 10)
        other = asyncio.ensure_future(second.run())
        await until(lambda: pair.reading.final_code == 4409, within_s=30)
        connections = pair.reading.connections
        submit(pair, 10)
        await until(lambda: len(second.shown) >= 10)
        await asyncio.sleep(3)
        assert pair.reading.connections == connections
        other.cancel()
        await asyncio.gather(other, return_exceptions=True)

    asyncio.run(converse([pair], trouble))

    bodies = {message["body"] for message in pair.reading.shown} | {message["body"] for message in second.shown}
    assert len(bodies) == 20
    assert not Inbox.objects.filter(recipient=pair.reader).exists()


def test_two_hundred_come_back_at_the_same_moment(site: Site) -> None:
    pairs = make_pairs(site, 100)

    async def trouble() -> None:
        for pair in pairs:
            submit(pair, 5)
        await until(lambda: all(not pair.sending.outbox for pair in pairs), within_s=60)
        await asyncio.to_thread(site.kill)
        await asyncio.to_thread(site.start)
        await until(lambda: all(pair.reading.connections > 1 for pair in pairs), within_s=60)
        for pair in pairs:
            submit(pair, 3)

    asyncio.run(converse(pairs, trouble))

    passes(pairs, kept=800)


def test_a_socket_that_is_silent_for_half_a_minute_still_delivers(site: Site) -> None:
    [pair] = make_pairs(site, 1)

    async def trouble() -> None:
        await until(lambda: pair.reading.gen > 0)
        await asyncio.sleep(32)
        submit(pair, 1)

    asyncio.run(converse([pair], trouble))

    passes([pair], kept=1)
    assert pair.reading.connections == 1


def test_a_session_that_ends_without_a_word_closes_the_socket_in_a_minute(site: Site) -> None:
    """Nothing is published: only asking again can find it out."""
    [pair] = make_pairs(site, 1)

    async def trouble() -> None:
        await until(lambda: pair.reading.gen > 0)
        await in_thread(Session.objects.filter(session_key=pair.reading.cookie.partition("=")[2]).delete)
        await until(lambda: pair.reading.final_code == Close.SIGNED_OUT, within_s=75)

    asyncio.run(converse([pair], trouble))


def test_a_page_that_says_nothing_is_hung_up_on_and_leaves_within_the_promised_time(
    make_site: Callable[..., Site],
) -> None:
    """It does not answer the probe; 35 s later it is closed, and after the grace it is offline."""
    direct = make_site()
    [pair] = make_pairs(direct, 1)

    async def trouble() -> None:
        async with opened(direct.socket, pair.reading.cookie, origin=direct.origin) as socket:
            await greet(socket)
            started = time.monotonic()
            await hear(socket, "probe", within_s=30)
            assert await closed(socket, within_s=30) == Close.GOING_AWAY
            await until(lambda: not presence.read([pair.reader.pk])[pair.reader.pk].online, within_s=30)
            assert time.monotonic() - started < 70

    asyncio.run(trouble())


def test_a_deploy_closes_with_1012_and_nothing_is_lost(site: Site) -> None:
    pairs = make_pairs(site, 3)
    codes: list[int | None] = []

    async def trouble() -> None:
        sending = asyncio.ensure_future(trickle(pairs, 30, over_s=5))
        await until(lambda: all(pair.reading.gen > 0 for pair in pairs))
        socket = pairs[0].reading.socket
        await asyncio.to_thread(site.stop)
        codes.append(socket.close_code if socket else None)
        await asyncio.to_thread(site.start)
        await sending

    asyncio.run(converse(pairs, trouble))

    passes(pairs, kept=90)
    assert codes == [1012]


def test_the_questions_go_red_on_a_server_that_repairs_no_gaps(make_site: Callable[..., Site], bus: LossyBus) -> None:
    """The same trouble as in the first test, and pages that trust the bus, too: a fifth of everything is missing."""
    bus.lost = 0.2
    site = make_site(redis_url=bus.url, application="tests.chat.deaf:application")
    pairs = make_pairs(site, 10)
    for pair in pairs:
        pair.reading.trusts_the_bus = True

    async def trouble() -> None:
        await until(lambda: all(pair.reading.gen > 0 and pair.sending.gen > 0 for pair in pairs))
        for pair in pairs:
            submit(pair, 50)

    asyncio.run(converse(pairs, trouble, settle_s=25))

    verdict = judge(pairs)
    assert not verdict.good
    assert verdict.lost > 0.1 * verdict.kept
