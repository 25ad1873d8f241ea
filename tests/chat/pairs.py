"""People who write and people who read, what they do while something breaks, and the questions asked afterwards.

Every test of faults sends numbered messages, breaks something meanwhile, and ends with the same questions: was
everything kept, shown once, in order, and is the inbox empty?
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from django.db import connection

from accounts.models import User
from accounts.services import create_account
from chat import services
from chat.models import Conversation, Inbox, Message
from tests.chat.page import TRUSTS_THE_BUS, Page
from tests.chat.site import Site, sign_in
from tests.people import PASSWORD

SETTLE_S = 10.0 if TRUSTS_THE_BUS else 90.0
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


async def trickle(pairs: list[Pair], count: int, *, over_s: float) -> None:
    """Submit `count` messages a pair, spread over a time."""
    for _ in range(count):
        for pair in pairs:
            submit(pair, 1)
        await asyncio.sleep(over_s / count)
