"""How much one person may do at a socket, and what nobody's presence or links make the server do."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection

from accounts.models import User
from chat.models import Conversation
from chat.protocol import Close
from tests.chat.page import closed, greet, hear, opened, say
from tests.chat.pairs import in_thread, make_pairs
from tests.chat.site import Site, sign_in
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def site(make_site: Callable[..., Site]) -> Site:
    return make_site()


def test_a_burst_beyond_sixty_is_refused_for_the_moment_and_the_socket_stays(
    site: Site, owner: User, conversation: Conversation
) -> None:
    _, cookie = sign_in(owner)

    async def scenario() -> None:
        async with opened(site.socket, cookie, origin=site.origin) as mine:
            await greet(mine)
            for _ in range(60):
                await send(mine, "Hello")
                await hear(mine, "sent")
            refused: dict[str, Any] = {}
            while not refused:  # one a second flows in meanwhile
                await send(mine, "Hello")
                answer = json.loads(await mine.recv())
                refused = answer if answer["type"] == "failed" else {}
            assert (refused["code"], refused["permanent"]) == ("rate_limited", False)
            await asyncio.sleep(refused["retry_after_s"])
            await send(mine, "Hello")
            assert (await hear(mine, "sent"))["seq"] >= 61

    async def send(socket: ClientConnection, body: str) -> None:
        await say(socket, type="send", conversation=str(conversation.pk), id=str(uuid.uuid4()), body=body)

    asyncio.run(scenario())


def test_a_person_opens_twenty_sockets_a_minute(site: Site, owner: User) -> None:
    _, cookie = sign_in(owner)

    async def attempt() -> int:
        async with opened(site.socket, cookie, origin=site.origin) as socket:
            return await closed(socket)

    async def scenario() -> list[int]:
        return await asyncio.gather(*(attempt() for _ in range(40)))

    codes = asyncio.run(scenario())
    # Who is let in and never says hello is sent away for that. One more every 3 s is let in meanwhile.
    assert set(codes) == {Close.TRY_LATER, Close.BAD_PROTOCOL}
    assert 20 <= codes.count(Close.BAD_PROTOCOL) < 35


def test_a_link_in_a_message_is_fetched_by_nobody(site: Site, owner: User, conversation: Conversation) -> None:
    """Neither when it is sent nor when its page is drawn: there are no previews."""
    visits: list[object] = []
    browser, cookie = sign_in(owner)

    async def visited(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visits.append(reader)
        writer.close()

    async def scenario() -> None:
        server = await asyncio.start_server(visited, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with opened(site.socket, cookie, origin=site.origin) as mine:
            await greet(mine)
            body = f"http://127.0.0.1:{port}/a [b](http://[::ffff:7f00:1]:{port}/c) http://169.254.169.254/"
            await say(mine, type="send", conversation=str(conversation.pk), id=str(uuid.uuid4()), body=body)
            await hear(mine, "sent")
            shown = await in_thread(lambda: browser.get(f"/chat/{conversation.pk}/").content.decode())
            assert f"127.0.0.1:{port}/a" in shown
            await asyncio.sleep(1)
        server.close()

    asyncio.run(scenario())
    assert visits == []


def test_people_who_come_and_go_tell_nobody_who_did_not_ask(site: Site) -> None:
    """No storm: one who is connected hears nothing while all the others reconnect, and what they ask is answered."""
    pairs = make_pairs(site, 12)
    watching = pairs[0]

    async def scenario() -> None:
        async with opened(site.socket, watching.sending.cookie, origin=site.origin) as mine:
            await greet(mine)
            pages = [pair.reading for pair in pairs]
            tasks = [asyncio.ensure_future(page.run()) for page in pages]
            await until(lambda: all(page.gen > 0 for page in pages))
            for page in pages:
                page.cut()
            await until(lambda: all(page.connections > 1 for page in pages))
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            assert await _heard(mine) == []
            await say(mine, type="ping", have=0, peers=[str(watching.reader.pk)])
            assert [each["id"] for each in (await hear(mine, "presence"))["people"]] == [str(watching.reader.pk)]

    asyncio.run(scenario())


async def _heard(socket: ClientConnection) -> list[object]:
    """What has come meanwhile, but for the server's question whether somebody is there."""
    heard: list[object] = []
    try:
        async with asyncio.timeout(0.5):
            while True:
                heard.append(await socket.recv())
    except TimeoutError:
        return [each for each in heard if "probe" not in str(each)]
