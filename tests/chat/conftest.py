from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from accounts.models import User
from chat import services
from chat.models import Conversation
from chat.services import Sent
from chat.services.messages import SENDS
from tests.chat.lossy_bus import LossyBus
from tests.chat.page import TRUSTS_THE_BUS
from tests.chat.site import APPLICATION, Site
from tests.waiting import wait_until

Say = Callable[..., Sent]


@pytest.fixture(autouse=True)
def full_buckets() -> Iterator[None]:
    """The limits of the tests before this one are not this one's."""
    SENDS.forget()
    yield
    SENDS.forget()


@pytest.fixture
def conversation(owner: User, friend: User) -> Conversation:
    return services.start_conversation(person=owner, peer=friend)


@pytest.fixture
def say(owner: User, conversation: Conversation) -> Say:
    """`say("Hello", sender=..., client_msg_id=...)`: a message in `conversation`, of the owner by default."""

    def send(body: str = "Hello", *, sender: User = owner, client_msg_id: uuid.UUID | None = None) -> Sent:
        return services.send_message(
            sender=sender, conversation=conversation, client_msg_id=client_msg_id or uuid.uuid4(), body=body
        )

    return send


@pytest.fixture
def bus() -> LossyBus:
    proxy = LossyBus()
    proxy.start()
    return proxy


def sessions_of_sites() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s AND datname = current_database()",
            [APPLICATION],
        )
        return int(cursor.fetchone()[0])


@pytest.fixture
def make_site(tmp_path: Path) -> Iterator[Callable[..., Site]]:
    sites: list[Site] = []

    def make(**options: Any) -> Site:
        if TRUSTS_THE_BUS:
            options["application"] = "tests.chat.deaf:application"
        site = Site(tmp_path, **options)
        site.start()
        sites.append(site)
        return site

    yield make
    for site in sites:
        site.kill()
    # PostgreSQL notices a moment later, and would not let the database be dropped before.
    wait_until(lambda: not sessions_of_sites())


@pytest.fixture
def site(make_site: Callable[..., Site], bus: LossyBus) -> Site:
    return make_site(redis_url=bus.url)
