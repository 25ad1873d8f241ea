"""One socket, as a browser has it: greeted, answered, told, refused. Over TCP, against a server of its own."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import InvalidStatus

from accounts.models import User
from accounts.services import deactivate_account
from chat import services
from chat.models import Conversation, Inbox, Mailbox, Message
from chat.protocol import Close
from config.server import MAX_MESSAGE_BYTES
from tests.chat.conftest import Say
from tests.chat.page import closed, greet, hear, opened, say
from tests.chat.site import Site, sign_in
from tests.people import PASSWORD

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("chat-sockets")


@pytest.fixture(scope="module")
def site(django_db_setup: None, django_db_blocker: Any, folder: Path) -> Iterator[Site]:
    running = Site(folder)
    with django_db_blocker.unblock():
        running.start()
    yield running
    running.stop()


class Talk:
    """What a test has at hand: sockets of the two people, and a way to run a coroutine."""

    def __init__(self, site: Site, owner: User, friend: User) -> None:
        self.site = site
        self.browsers: dict[str, Client] = {}
        self._cookies: dict[str, str] = {}
        for name, person in (("owner", owner), ("friend", friend)):
            self.browsers[name], self._cookies[name] = sign_in(person)

    def of(self, name: str) -> Any:
        return opened(self.site.socket, self._cookies[name], origin=self.site.origin)


@pytest.fixture
def talk(site: Site, owner: User, friend: User) -> Talk:
    return Talk(site, owner, friend)


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scenario())


async def in_thread(call: Callable[[], Any]) -> Any:
    """The ORM, beside a running event loop."""
    from django.db import connection

    def work() -> Any:
        try:
            return call()
        finally:
            connection.close()

    return await asyncio.to_thread(work)


async def send(socket: ClientConnection, conversation: Conversation, body: str = "Hello") -> dict[str, Any]:
    await say(socket, type="send", conversation=str(conversation.pk), id=str(uuid.uuid4()), body=body)
    return await hear(socket, "sent")


def test_a_message_reaches_the_other_one_live_and_its_ack_empties_the_inbox(
    talk: Talk, conversation: Conversation, friend: User
) -> None:
    async def scenario() -> None:
        async with talk.of("owner") as mine, talk.of("friend") as theirs:
            await greet(mine)
            welcome = await greet(theirs)
            sent = await send(mine, conversation, "Hello 👩‍👩‍👧 שלום")
            event = await hear(theirs, "event")

            assert (sent["seq"], sent["duplicate"]) == (1, False)
            assert event["inbox_seq"] == 1
            assert event["message"]["body"] == "Hello 👩‍👩‍👧 שלום"
            assert event["message"]["id"] == sent["message"]
            await say(theirs, type="ack", upto=1, gen=welcome["gen"])
            receipt = await hear(mine, "receipt")
            assert (receipt["delivered_upto"], receipt["read_upto"]) == (1, 0)
            await say(theirs, type="read", conversation=str(conversation.pk), upto=1)
            assert (await hear(mine, "receipt"))["read_upto"] == 1

    run(scenario)
    assert not Inbox.objects.exists()
    assert Mailbox.objects.get(user=friend).acked_seq == 1


def test_what_was_sent_while_away_comes_in_pages_and_in_order(talk: Talk, say: Say) -> None:
    from chat.services.messages import SENDS

    for number in range(250):
        SENDS.forget()
        say(f"number {number}")

    async def scenario() -> None:
        async with talk.of("friend") as theirs:
            from tests.chat.page import say as tell

            await tell(theirs, type="hello", protocol=1, have=None, page=str(uuid.uuid4()))
            welcome = await hear(theirs, "welcome")
            seen: list[int] = []
            while len(seen) < 250:
                page = await hear(theirs, "page")
                assert len(page["events"]) <= 100
                seen += [event["inbox_seq"] for event in page["events"]]
                await tell(theirs, type="ack", upto=seen[-1], gen=welcome["gen"])
            assert seen == list(range(1, 251))
            assert (await hear(theirs, "drained"))["upto"] == 250

    run(scenario)


def test_a_third_page_waits_for_the_first_acknowledgement(talk: Talk, say: Say) -> None:
    from chat.services.messages import SENDS

    for number in range(230):
        SENDS.forget()
        say(f"number {number}")

    async def scenario() -> None:
        from tests.chat.page import say as tell

        async with talk.of("friend") as theirs:
            await tell(theirs, type="hello", protocol=1, have=None, page=str(uuid.uuid4()))
            welcome = await hear(theirs, "welcome")
            await hear(theirs, "page")
            await hear(theirs, "page")
            with pytest.raises(TimeoutError):
                await hear(theirs, "page", within_s=1)
            await tell(theirs, type="ack", upto=100, gen=welcome["gen"])
            assert len((await hear(theirs, "page"))["events"]) == 30

    run(scenario)


def test_an_edit_before_delivery_is_seen_at_once(talk: Talk, say: Say, owner: User) -> None:
    message = say("Helo").message
    services.edit_message(sender=owner, message_id=message.id, body="Hello")

    async def scenario() -> None:
        from tests.chat.page import say as tell

        async with talk.of("friend") as theirs:
            await tell(theirs, type="hello", protocol=1, have=None, page=str(uuid.uuid4()))
            events = (await hear(theirs, "page"))["events"]
            assert [(event["kind"], event["message"]["body"]) for event in events] == [
                ("message", "Hello"),
                ("edited", "Hello"),
            ]

    run(scenario)


def test_a_message_over_http_reaches_the_socket(talk: Talk, say: Say) -> None:
    async def scenario() -> None:
        async with talk.of("friend") as theirs, talk.of("owner") as mine:
            await greet(theirs)
            await greet(mine)
            await in_thread(say)
            assert (await hear(theirs, "event"))["inbox_seq"] == 1
            assert (await hear(mine, "own"))["kind"] == "message"

    run(scenario)


@pytest.mark.parametrize(("have", "reset"), [(None, False), (0, True), (1, False), (2, False), (3, True)], ids=str)
def test_a_position_outside_of_the_mailbox_is_reset(have: int | None, reset: bool, talk: Talk, say: Say) -> None:
    """Acknowledged up to 1 of 2: the page may have 1 or 2; anything else is of another time, or of another database."""
    say("one")
    say("two")

    async def scenario() -> None:
        async with talk.of("friend") as theirs:
            first = await greet(theirs)
            await _tell(theirs, type="ack", upto=1, gen=first["gen"])
            await _tell(theirs, type="ping", have=1, peers=[])
            await hear(theirs, "pong")
        await asyncio.sleep(2.1)  # the pause between the takeovers of two pages
        async with talk.of("friend") as again:
            await _tell(again, type="hello", protocol=1, have=have, page=str(uuid.uuid4()))
            kinds = []
            while True:
                frame = json.loads(await again.recv())
                kinds.append(frame["type"])
                if frame["type"] == "drained":
                    break
            assert ("reset" in kinds) is reset
            assert ("page" in kinds) is (have != 2)

    run(scenario)


async def _tell(socket: ClientConnection, **frame: Any) -> None:
    await say(socket, **frame)


def test_a_second_page_takes_over_and_the_first_is_told_and_closed_for_good(talk: Talk, say: Say) -> None:
    async def scenario() -> None:
        async with talk.of("friend") as first, talk.of("friend") as second:
            await greet(first)
            await asyncio.sleep(2.1)
            await greet(second)
            assert (await hear(first, "replaced"))["gen"] == 2
            assert await closed(first) == Close.REPLACED
            await in_thread(say)
            assert (await hear(second, "event"))["inbox_seq"] == 1

    run(scenario)


def test_pages_that_fight_are_slowed_down(talk: Talk) -> None:
    async def scenario() -> None:
        async with talk.of("friend") as first, talk.of("friend") as second:
            await greet(first)
            await say(second, type="hello", protocol=1, have=None, page=str(uuid.uuid4()))
            assert await closed(second) == Close.TRY_LATER

    run(scenario)


def test_the_same_page_may_come_back_at_once(talk: Talk) -> None:
    page = uuid.uuid4()

    async def scenario() -> None:
        async with talk.of("friend") as first:
            await greet(first, page=page)
            async with talk.of("friend") as second:
                assert (await greet(second, page=page, have=0))["gen"] == 2

    run(scenario)


def test_a_replaced_page_can_neither_send_nor_acknowledge_even_if_it_was_never_told(
    talk: Talk, conversation: Conversation, say: Say, owner: User, friend: User
) -> None:
    """The fence, without the bus: the generation moves in the database alone."""
    told = say

    async def scenario() -> None:
        async with talk.of("friend") as theirs:
            welcome = await greet(theirs)
            await in_thread(told)
            await hear(theirs, "event")
            await in_thread(lambda: Mailbox.objects.filter(user=friend).update(session_gen=99))
            await _tell(theirs, type="ack", upto=1, gen=welcome["gen"])
            await _tell(theirs, type="send", conversation=str(conversation.pk), id=str(uuid.uuid4()), body="Still me")
            failed = await hear(theirs, "failed")
            assert (failed["code"], failed["permanent"]) == ("replaced", False)
            assert await closed(theirs) == Close.REPLACED

    run(scenario)
    assert Inbox.objects.count() == 1
    assert not Message.objects.filter(sender=friend).exists()


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://127.0.0.1:1", "https://127.0.0.1:{port}", "null", None], ids=str
)
def test_another_origin_is_refused_by_scheme_host_and_port(origin: str | None, talk: Talk) -> None:
    asked = origin.format(port=talk.site.port) if origin else None

    async def scenario() -> None:
        with pytest.raises(InvalidStatus) as refused:
            async with opened(talk.site.socket, talk._cookies["owner"], origin=asked):
                pass
        assert refused.value.response.status_code == 403

    run(scenario)


def test_nobody_signed_in_is_closed_with_the_code_for_it(talk: Talk) -> None:
    async def scenario() -> None:
        for cookie in ("", "sessionid=of-nobody"):
            async with opened(talk.site.socket, cookie, origin=talk.site.origin) as socket:
                assert await closed(socket) == Close.SIGNED_OUT

    run(scenario)


def test_a_sign_out_in_another_tab_closes_the_socket_within_seconds(talk: Talk) -> None:
    async def scenario() -> None:
        async with talk.of("owner") as mine:
            await greet(mine)
            await in_thread(lambda: talk.browsers["owner"].post("/accounts/logout/"))
            assert await closed(mine, within_s=20) == Close.SIGNED_OUT

    run(scenario)


def test_a_change_of_password_closes_the_sockets_of_other_browsers(talk: Talk, owner: User) -> None:
    other, _ = sign_in(owner)

    def change() -> None:
        form = {"oldpassword": PASSWORD, "password1": "another battery 8 horse", "password2": "another battery 8 horse"}
        assert other.post("/accounts/password/change/", form).status_code == 302

    async def scenario() -> None:
        async with talk.of("owner") as mine:
            await greet(mine)
            await in_thread(change)
            assert await closed(mine, within_s=20) == Close.SIGNED_OUT

    run(scenario)


def test_an_account_that_is_switched_off_is_closed(talk: Talk, owner: User) -> None:
    async def scenario() -> None:
        async with talk.of("owner") as mine:
            await greet(mine)
            await in_thread(lambda: deactivate_account(account=owner))
            assert await closed(mine, within_s=20) == Close.SIGNED_OUT

    run(scenario)


@pytest.mark.parametrize(
    "frame",
    ["no json", "[]", "1", "{}", '{"type": "dance"}', '{"type": "send"}', '{"type": ["send"]}', "NaN", "[" * 9000],
)
def test_a_frame_that_cannot_be_read_is_answered_and_the_socket_stays(
    frame: str, talk: Talk, conversation: Conversation
) -> None:
    async def scenario() -> None:
        async with talk.of("owner") as mine:
            await greet(mine)
            await mine.send(frame)
            assert (await hear(mine, "failed"))["permanent"]
            assert (await send(mine, conversation))["seq"] == 1

    run(scenario)


@pytest.mark.parametrize("body", ["a\0b", "\ud800", "", "x" * 4001, 5, None])
def test_a_text_that_cannot_be_sent_is_refused_for_good_and_the_socket_stays(
    body: object, talk: Talk, conversation: Conversation
) -> None:
    async def scenario() -> None:
        async with talk.of("owner") as mine:
            await greet(mine)
            about = str(uuid.uuid4())
            await say(mine, type="send", conversation=str(conversation.pk), id=about, body=body)
            failed = await hear(mine, "failed")
            assert (failed["id"], failed["permanent"]) == (about, True)
            assert (await send(mine, conversation))["seq"] == 1

    run(scenario)


def test_a_frame_beyond_the_limit_is_refused(talk: Talk, conversation: Conversation) -> None:
    async def scenario() -> None:
        async with talk.of("owner") as mine:
            await greet(mine)
            await say(mine, type="send", conversation=str(conversation.pk), id=str(uuid.uuid4()), body="x" * 40_000)
            assert (await hear(mine, "failed"))["code"] == "frame_too_large"

    run(scenario)


def test_a_message_beyond_what_the_server_takes_in_closes_that_socket_alone(talk: Talk) -> None:
    """Refused before it is in memory, with the code of the protocol for it; whoever is beside it notices nothing."""

    async def scenario() -> None:
        async with talk.of("owner") as mine, talk.of("friend") as theirs:
            await greet(mine)
            await greet(theirs)
            await mine.send("x" * (MAX_MESSAGE_BYTES + 1))
            assert await closed(mine) == 1009
            await say(theirs, type="ping", have=0, peers=[])
            assert (await hear(theirs, "pong"))["upto"] == 0

    run(scenario)
    assert "Traceback" not in talk.site.log.read_text(encoding="utf-8")


def test_a_foreign_conversation_is_the_same_error_as_an_absent_one(talk: Talk, friend: User, stranger: User) -> None:
    foreign = services.start_conversation(person=friend, peer=stranger)

    async def scenario() -> None:
        async with talk.of("owner") as mine:
            await greet(mine)
            answers = []
            for place in (foreign.pk, uuid.uuid4()):
                await say(mine, type="send", conversation=str(place), id=str(uuid.uuid4()), body="Hello")
                answers.append({**await hear(mine, "failed"), "id": None})
                await say(mine, type="read", conversation=str(place), upto=1)
                answers.append({**await hear(mine, "failed"), "id": None})
            assert all(answer == answers[0] for answer in answers)
            assert answers[0]["code"] == "not_found"

    run(scenario)


def test_typing_and_presence_pass_between_two_and_not_past_a_block(
    talk: Talk, conversation: Conversation, owner: User, friend: User
) -> None:
    async def scenario() -> None:
        async with talk.of("owner") as mine, talk.of("friend") as theirs:
            await greet(mine)
            await greet(theirs)
            await say(mine, type="typing", conversation=str(conversation.pk))
            assert (await hear(theirs, "typing"))["person"] == str(owner.pk)
            await say(mine, type="ping", have=0, peers=[str(friend.pk)])
            assert (await hear(mine, "presence"))["people"] == [
                {"id": str(friend.pk), "online": True, "last_seen": None}
            ]

            await in_thread(lambda: services.block_person(person=friend, peer=owner))
            await asyncio.sleep(3.1)  # typing is passed on once in 3 s
            await say(mine, type="typing", conversation=str(conversation.pk))
            await say(mine, type="ping", have=0, peers=[str(friend.pk)])
            assert (await hear(mine, "presence"))["people"] == []
            await say(theirs, type="ping", have=0, peers=[str(owner.pk)])
            assert (await hear(theirs, "presence"))["people"] == []
            with pytest.raises(TimeoutError):
                await hear(theirs, "typing", within_s=0.5)

    run(scenario)


def test_presence_of_a_stranger_is_not_told(talk: Talk, stranger: User) -> None:
    async def scenario() -> None:
        async with talk.of("owner") as mine:
            await greet(mine)
            await say(mine, type="ping", have=0, peers=[str(stranger.pk)])
            assert (await hear(mine, "presence"))["people"] == []

    run(scenario)


def test_editing_and_deleting_reach_the_other_one(talk: Talk, conversation: Conversation) -> None:
    async def scenario() -> None:
        async with talk.of("owner") as mine, talk.of("friend") as theirs:
            await greet(mine)
            await greet(theirs)
            sent = await send(mine, conversation, "Helo")
            await say(mine, type="edit", id=str(uuid.uuid4()), message=sent["message"], body="Hello")
            assert (await hear(mine, "changed"))["message"]["version"] == 2
            await say(mine, type="delete", id=str(uuid.uuid4()), message=sent["message"])
            seen = [await hear(theirs, "event") for _ in range(3)]
            assert [(event["kind"], event["message"]["body"]) for event in seen] == [
                ("message", "Helo"),
                ("edited", "Hello"),
                ("deleted", None),
            ]

    run(scenario)


def test_the_first_frame_is_hello_in_our_version(talk: Talk) -> None:
    async def scenario() -> None:
        for first in ({"type": "ping"}, {"type": "hello", "protocol": 2, "page": str(uuid.uuid4()), "have": None}):
            async with talk.of("owner") as mine:
                await say(mine, **first)
                assert await closed(mine) == Close.BAD_PROTOCOL

    run(scenario)


def test_no_text_of_a_message_is_in_the_log(talk: Talk, conversation: Conversation) -> None:
    async def scenario() -> None:
        async with talk.of("owner") as mine:
            await greet(mine)
            await send(mine, conversation, "xyzzy-private")
            await mine.send('{"type": "send", "body": "xyzzy-private"}')
            await hear(mine, "failed")

    run(scenario)
    assert "xyzzy" not in talk.site.log.read_text(encoding="utf-8")


def test_an_unknown_path_is_refused(talk: Talk) -> None:
    async def scenario() -> None:
        with pytest.raises(InvalidStatus):
            async with opened(talk.site.socket + "other/", talk._cookies["owner"], origin=talk.site.origin):
                pass

    run(scenario)
