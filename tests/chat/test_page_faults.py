"""Nothing is lost and nothing is shown twice when networks, pages and people go away, come back, or fight."""

from __future__ import annotations

import asyncio
import random
import uuid

import pytest

from chat import services
from chat.models import Inbox
from chat.services.messages import SENDS
from tests.chat.network import Network
from tests.chat.page import Page
from tests.chat.pairs import converse, in_thread, make_pairs, passes, submit, trickle
from tests.chat.site import Site
from tests.waiting import until

pytestmark = [pytest.mark.faults, pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]


def test_a_network_that_swallows_everything_without_a_word_costs_time_and_nothing_else(site: Site) -> None:
    """No FIN and no RST, to neither side, twice: both pages notice the silence by themselves and come back."""
    network = Network(to_port=site.port)
    network.start()
    pairs = make_pairs(site, 4)
    for pair in pairs:
        for page in (pair.sending, pair.reading):
            page.url, page.ping_s, page.silent_s = network.socket, 1, 4

    async def trouble() -> None:
        await until(lambda: all(pair.reading.gen > 0 and pair.sending.gen > 0 for pair in pairs))
        sending = asyncio.ensure_future(trickle(pairs, 40, over_s=12))
        for _ in range(2):
            await asyncio.sleep(3)
            network.swallow()
        await sending

    asyncio.run(converse(pairs, trouble))

    assert network.swallowed >= 8
    passes(pairs, kept=160)
    assert all(page.connections >= 2 for pair in pairs for page in (pair.sending, pair.reading))


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
    """6 MB that cannot be compressed, of which it takes none for 10 s: closed with 4408, and it may come back."""
    [pair] = make_pairs(site, 1)
    pair.reading.receive_buffer = 4096
    pair.reading.silent_s = 600  # it is the server that has to end this, however long the sending takes

    def send_much() -> None:
        chance = random.Random(1)
        for number in range(1, 501):
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

    passes([pair], kept=500)


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


def test_acknowledgements_that_never_arrive_are_made_good_by_the_next_hello(site: Site) -> None:
    """Nothing is acknowledged until the page comes back and says what it has: nothing is shown again."""
    [pair] = make_pairs(site, 1)
    pair.reading.lose_acks = 1.0

    async def trouble() -> None:
        submit(pair, 40)
        await until(lambda: len(pair.reading.shown) == 40)
        assert await in_thread(Inbox.objects.filter(recipient=pair.reader).count) == 40
        pair.reading.cut()
        await until(lambda: pair.reading.connections == 2)

    asyncio.run(converse([pair], trouble))

    passes([pair], kept=40)
    assert set(pair.reading.applied.values()) == {1}


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
