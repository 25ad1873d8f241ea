"""The socket of an open page without what it can do without, and with more of them than anybody needs."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from channels_redis.pubsub import RedisPubSubLoopLayer
from django.db import connection
from pytest_django import Settings
from redis.exceptions import ConnectionError as RedisAway

from accounts.models import User
from config.websockets import websocket
from sharing import consumer, visits
from sharing.services import NewLink, redeem_link, revoke_link
from tests.sharing.conftest import Link

pytestmark = pytest.mark.django_db(transaction=True)


async def opened(made: NewLink, cookie: str, origin: str) -> Any:
    headers = [(b"cookie", f"{visits.cookie_name(made.link.pk)}={cookie}".encode()), (b"origin", origin.encode())]
    scope = {"type": "websocket", "path": f"/s/open/{made.link.pk}/watch/", "headers": headers, "subprotocols": []}
    socket: Any = ApplicationCommunicator(websocket, scope)  # type: ignore[no-untyped-call]
    await socket.send_input({"type": "websocket.connect"})
    assert (await socket.receive_output(timeout=20))["type"] == "websocket.accept"
    return socket


async def closed(socket: Any) -> int:
    """The code."""
    said = await socket.receive_output(timeout=20)
    await socket.send_input({"type": "websocket.disconnect", "code": said["code"]})
    await socket.wait(timeout=20)
    return int(said["code"])


def test_without_news_a_socket_is_asked_about_and_closed_all_the_same(
    owner: User, link: Link, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SHARING_BOUND_S = 3.0
    made = link()
    cookie = redeem_link(token=made.token or "", person=None).cookie

    async def away(*_: object) -> None:
        raise RedisAway

    def revoke() -> None:
        revoke_link(person=owner, link=made.link)
        connection.close()

    monkeypatch.setattr(RedisPubSubLoopLayer, "group_add", away)

    async def watch() -> None:
        socket = await opened(made, cookie, settings.PUBLIC_URL)
        told = await socket.receive_output(timeout=20)
        assert json.loads(told["text"]) == {"type": "open", "version": 1, "can": []}
        await asyncio.to_thread(revoke)
        assert await closed(socket) == consumer.CLOSE_ENDED

    asyncio.run(watch())


def test_a_visit_opens_no_more_sockets_than_a_person_has_tabs(link: Link, settings: Settings) -> None:
    made = link()
    cookie = redeem_link(token=made.token or "", person=None).cookie
    visit = visits.read(cookie, made.link.pk)
    assert visit is not None
    while not consumer.OPENINGS.take(visit.visitor):
        pass

    async def one_more() -> None:
        assert await closed(await opened(made, cookie, settings.PUBLIC_URL)) == consumer.CLOSE_TRY_LATER

    asyncio.run(one_more())
