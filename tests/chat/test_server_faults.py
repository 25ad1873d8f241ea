"""Nothing is lost and nothing is shown twice when the database or the server dies, stops, or tells the wrong time."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import cast
from urllib.parse import unquote, urlsplit

import psutil
import psycopg
import pytest
from django.core.management import call_command
from django.db import connection
from django.db.backends.postgresql.base import DatabaseWrapper
from psycopg import sql

from chat.models import Message
from tests.chat.lossy_bus import LossyBus
from tests.chat.page import Page
from tests.chat.pairs import converse, in_thread, make_pairs, passes, trickle
from tests.chat.site import APPLICATION, Site
from tests.embedded.conftest import stop
from tests.services_plugin import ALONE, Instance, start
from tests.waiting import until, wait_until

pytestmark = [pytest.mark.faults, pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]


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


def test_postgresql_is_killed_in_the_middle_of_traffic(
    own_database: Instance, make_site: Callable[..., Site], bus: LossyBus
) -> None:
    """SIGKILL of the server and of all its processes; it recovers from its log, and what was answered is there."""
    site = make_site(redis_url=bus.url)
    pairs = make_pairs(site, 3)

    def kill() -> None:
        postmaster = psutil.Process(own_database.pid("postgres"))
        for each in [postmaster, *postmaster.children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
        wait_until(lambda: own_database.pid("postgres") != postmaster.pid and answers(own_database))
        forget_connections()  # those of this process are dead, too

    async def trouble() -> None:
        sending = asyncio.ensure_future(trickle(pairs, 40, over_s=8))
        await until(lambda: all(pair.reading.shown for pair in pairs))
        await asyncio.to_thread(kill)
        await sending

    asyncio.run(converse(pairs, trouble))

    forget_connections()
    passes(pairs, kept=120)


def answers(database: Instance) -> bool:
    try:
        psycopg.connect(database.environment["DATABASE_URL"], connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def forget_connections() -> None:
    connection.close()
    cast("DatabaseWrapper", connection).close_pool()


@pytest.fixture
def own_database(transactional_db: None, tmp_path: Path) -> Iterator[Instance]:
    """A PostgreSQL that nobody else uses, and the connections of this process lead there meanwhile."""
    instance = start(tmp_path / "database", "--only", "postgres", environment=ALONE)
    url = urlsplit(instance.environment["DATABASE_URL"])
    at = connection.settings_dict
    before = {name: at[name] for name in ("HOST", "PORT", "USER", "PASSWORD", "NAME")}
    forget_connections()
    at.update(
        HOST=url.hostname, PORT=url.port, USER=url.username, PASSWORD=unquote(url.password or ""), NAME=url.path[1:]
    )
    try:
        call_command("migrate", verbosity=0)
        yield instance
    finally:
        forget_connections()
        at.update(before)
        stop(instance)


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


def test_a_restart_of_the_only_process_closes_with_1012_and_nothing_is_lost(site: Site) -> None:
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


def test_a_deploy_sends_sockets_away_one_after_the_other_to_the_next_process(
    make_site: Callable[..., Site], bus: LossyBus
) -> None:
    """The one that stops takes nothing new, so that the next one can have its address; who is left is served."""
    old = make_site(redis_url=bus.url, drain_s=8)
    pairs = make_pairs(old, 15)
    left_at: list[float] = []

    async def watch(page: Page) -> None:
        await until(lambda: 1012 in page.codes, within_s=60)
        left_at.append(time.monotonic())

    async def trouble() -> None:
        await until(lambda: all(pair.reading.gen > 0 and pair.sending.gen > 0 for pair in pairs), within_s=60)
        watching = [asyncio.ensure_future(watch(page)) for pair in pairs for page in (pair.sending, pair.reading)]
        sending = asyncio.ensure_future(trickle(pairs, 20, over_s=8))
        old.begin_to_stop()
        await asyncio.to_thread(make_site, redis_url=bus.url, port=old.port)
        await asyncio.gather(sending, *watching)

    asyncio.run(converse(pairs, trouble))

    passes(pairs, kept=300)
    assert all(set(page.codes) == {1012} for pair in pairs for page in (pair.sending, pair.reading))
    # Thirty in eight seconds, and not more than a handful in any one of them.
    assert max(left_at) - min(left_at) > 5
    assert max(sum(0 <= at - since < 1 for at in left_at) for since in left_at) <= 12


@pytest.fixture
def skewed_clock(transactional_db: None) -> Iterator[None]:
    """For sessions of the database that begin now: ours comes before the built-in function."""
    name = sql.Identifier(connection.settings_dict["NAME"])
    with connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA skewed")
        cursor.execute(
            "CREATE FUNCTION skewed.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS"
            " $$ SELECT pg_catalog.clock_timestamp() + (random() - 0.5) * interval '14 minutes' $$"
        )
        cursor.execute(sql.SQL("ALTER DATABASE {} SET search_path TO skewed, pg_catalog, public").format(name))
    yield
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("ALTER DATABASE {} RESET search_path").format(name))
        cursor.execute("DROP SCHEMA skewed CASCADE")


def test_a_clock_that_jumps_to_and_fro_by_minutes_changes_no_order(
    skewed_clock: None, make_site: Callable[..., Site], bus: LossyBus
) -> None:
    """The database tells each message another time, up to seven minutes off: as after bad corrections, or failovers."""
    site = make_site(redis_url=bus.url)
    bus.lost = 0.1
    pairs = make_pairs(site, 4)

    async def trouble() -> None:
        await trickle(pairs, 50, over_s=5)

    asyncio.run(converse(pairs, trouble))

    passes(pairs, kept=200)
    times = list(Message.objects.order_by("conversation", "seq").values_list("created_at", flat=True))
    backwards = sum(later < earlier for earlier, later in pairwise(times))
    assert backwards > 50
