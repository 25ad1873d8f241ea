"""Who left without a word is not shown as here, and who was signed out is not served."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest
from django.contrib.sessions.models import Session
from websockets.asyncio.client import ClientConnection

from accounts.models import User
from chat import presence
from chat.protocol import Close
from tests.chat.lossy_bus import LossyBus
from tests.chat.page import closed, greet, hear, opened, say
from tests.chat.pairs import converse, in_thread, make_pairs
from tests.chat.site import Site
from tests.waiting import until

pytestmark = [pytest.mark.faults, pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]


PRESENCE_WRONG_FOR_S = 70


def test_a_server_that_is_killed_keeps_nobody_online_for_more_than_the_promised_time(
    make_site: Callable[..., Site], bus: LossyBus
) -> None:
    """SIGKILL: no code says goodbye. Another process is asked who is here, until it says that she is not."""
    [pair] = make_pairs(make_site(redis_url=bus.url), 1)
    hers = make_site(redis_url=bus.url)
    seen_for: list[float] = []

    async def trouble() -> None:
        async with (
            opened(hers.socket, pair.reading.cookie, origin=hers.origin) as dying,
            opened(pair.sending.url, pair.sending.cookie, origin=pair.sending.origin) as asking,
        ):
            await greet(dying)
            await greet(asking)
            for _ in range(21):  # until the next round of all that are here has been: the longest that a kill can last
                await say(dying, type="ping", have=0, peers=[])
                await asyncio.sleep(1)
            assert await is_online(asking, pair.reader)
            await asyncio.to_thread(hers.kill)
            killed_at = time.monotonic()
            while await is_online(asking, pair.reader):  # noqa: ASYNC110  # another process is asked
                await asyncio.sleep(1)
            seen_for.append(time.monotonic() - killed_at)

    asyncio.run(trouble())

    assert 5 < seen_for[0] < PRESENCE_WRONG_FOR_S


async def is_online(socket: ClientConnection, person: User) -> bool:
    await say(socket, type="ping", have=0, peers=[str(person.pk)])
    [seen] = (await hear(socket, "presence"))["people"]
    return bool(seen["online"])


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
            assert time.monotonic() - started < PRESENCE_WRONG_FOR_S

    asyncio.run(trouble())


def test_a_session_that_ends_without_a_word_closes_the_socket_in_a_minute(site: Site) -> None:
    """Nothing is published: only asking again can find it out."""
    [pair] = make_pairs(site, 1)

    async def trouble() -> None:
        await until(lambda: pair.reading.gen > 0)
        await in_thread(Session.objects.filter(session_key=pair.reading.cookie.partition("=")[2]).delete)
        await until(lambda: pair.reading.final_code == Close.SIGNED_OUT, within_s=75)

    asyncio.run(converse([pair], trouble))
