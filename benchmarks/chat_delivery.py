"""What it takes from one person's `send` to the other one's `event`, beside the raw floor, in one run.

    python -m embedded.throw_away --durable python -m benchmarks.chat_delivery [--quick]

The floor is what no chat can go below that keeps a message before it tells of it: the one statement that stores it,
with its commit, and one Redis PUBLISH to a subscriber, from this process, one after the other. Commits reach the disk,
as they do for people: a floor that promises nothing would be lower than what it stands for. The chat is one uvicorn
worker with real sockets; the load comes from the same cores. Both are measured in alternating blocks and compared block
by block: the median of the ratios counts, the milliseconds are only this machine's. Exits with 1 where a gate falls
short. `--quick` has fewer of everything and leaves out the fault suite (G3).

G1 p50 at most 4 times and p99 at most 6 times the floor. G2 at most 2 ms of the worker's CPU a message. G3 the fault
suite loses nothing, and is red without the repair of gaps. G4 at most one write of last_seen a person in 5 minutes. G5
an idle socket delivers after 30 s. G6 one statement that takes 2 s delays no other socket by more than 100 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

import django

django.setup()

import psutil  # noqa: E402
import psycopg  # noqa: E402
import redis  # noqa: E402
from django.conf import settings  # noqa: E402
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY  # noqa: E402
from django.contrib.sessions.backends.db import SessionStore  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from websockets.asyncio.client import ClientConnection, connect  # noqa: E402
from websockets.typing import Origin  # noqa: E402

from accounts.models import User  # noqa: E402
from chat import presence, sending, statements  # noqa: E402
from chat.models import Conversation, Mailbox, Member  # noqa: E402
from chat.presence import Here  # noqa: E402
from chat.services.last_seen import flush_last_seen  # noqa: E402
from core.redis import client  # noqa: E402
from embedded.ports import free_port  # noqa: E402
from embedded.stack import REPLACED  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "chat_delivery.json"
BODY = "A message of about the length that people write to each other, give or take a word. "
Milliseconds = list[float]


@dataclass(frozen=True, kw_only=True)
class Sizes:
    blocks: int
    a_block: int
    pairs_s: float
    idle: int
    idle_s: float
    offline: int
    calm_s: float


FULL = Sizes(blocks=9, a_block=200, pairs_s=6.0, idle=2000, idle_s=6.0, offline=10_000, calm_s=1.0)
QUICK = Sizes(blocks=7, a_block=50, pairs_s=1.0, idle=200, idle_s=2.0, offline=1000, calm_s=0.4)


@dataclass
class Client:
    """One person's socket. `awaited` has who waits for which message: nobody takes another one for it."""

    socket: ClientConnection
    gen: int = 0
    sent: asyncio.Event = field(default_factory=asyncio.Event)
    awaited: dict[str, asyncio.Future[None]] = field(default_factory=dict)
    drained: asyncio.Event = field(default_factory=asyncio.Event)
    have: int = 0
    told: int = 0
    listening: asyncio.Task[None] | None = None

    async def listen(self) -> None:
        async for text in self.socket:
            frame = json.loads(text)
            match frame["type"]:
                case "event":
                    self.take([frame])
                case "page":
                    # A check of positions may overtake the bus: the event then comes in a page.
                    self.take(frame["events"])
                    await self.acknowledge()
                case "sent":
                    self.sent.set()
                case "drained":
                    self.drained.set()
                case "probe":
                    await self.tell(type="ping", have=self.have, peers=[])
            if self.have - self.told >= 50:
                await self.acknowledge()

    def take(self, events: list[dict[str, Any]]) -> None:
        self.have = events[-1]["inbox_seq"]
        for event in events:
            waiting = self.awaited.pop(event["message"]["client_msg_id"], None)
            if waiting is not None:
                waiting.set_result(None)

    async def acknowledge(self) -> None:
        self.told = self.have
        await self.tell(type="ack", upto=self.have, gen=self.gen)

    async def tell(self, **frame: Any) -> None:
        await self.socket.send(json.dumps(frame))


class Site:
    """One uvicorn worker on the database and the Redis of the environment."""

    def __init__(self) -> None:
        self.port = free_port()
        self.origin = f"http://127.0.0.1:{self.port}"
        words = ["-m", "uvicorn", "benchmarks.chat_server:application", "--port", str(self.port), "--loop", "uvloop"]
        self.process = subprocess.Popen(
            [sys.executable, *words, "--ws", "websockets-sansio", "--no-access-log", "--log-level", "warning"],
            cwd=ROOT,
            env=os.environ | {"PUBLIC_URL": self.origin, "ALLOWED_HOSTS": "127.0.0.1", "LOG_LEVEL": "WARNING"},
        )
        self.worker = psutil.Process(self.process.pid)

    def wait(self) -> None:
        """Until it answers. It needs no table for that, so that they are made meanwhile."""
        give_up = time.monotonic() + 60
        while time.monotonic() < give_up:
            with suppress(urllib.error.URLError, OSError):
                urllib.request.urlopen(f"{self.origin}/healthz", timeout=2)
                return
            time.sleep(0.05)
        raise SystemExit("the server did not start")

    def cpu_s(self) -> float:
        used = self.worker.cpu_times()
        return float(used.user + used.system)

    async def open(self, cookie: str) -> Client:
        socket = await connect(
            f"ws://127.0.0.1:{self.port}/ws/chat/",
            origin=Origin(self.origin),
            additional_headers={"Cookie": cookie},
            open_timeout=60,
            ping_interval=None,
            compression=None,
        )
        client = Client(socket)
        # The same page each time: another one would have to wait after a takeover.
        await client.tell(type="hello", protocol=1, have=None, page=str(uuid.uuid5(uuid.NAMESPACE_URL, cookie)))
        while (frame := json.loads(await socket.recv()))["type"] != "welcome":
            continue
        client.gen, client.have, client.told = frame["gen"], frame["base"], frame["base"]
        client.listening = asyncio.ensure_future(client.listen())
        return client


@dataclass(frozen=True, kw_only=True)
class Pair:
    conversation: uuid.UUID
    sender: User
    reader: User
    cookies: tuple[str, str]


def make_people(count: int) -> list[User]:
    run = uuid.uuid4().hex[:8]
    people = [User(email=f"bench-{run}-{number}@example.com", password="!") for number in range(count)]
    return User.objects.bulk_create(people)


def sign_in(person: User) -> str:
    session = SessionStore()
    session[SESSION_KEY] = str(person.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = person.get_session_auth_hash()
    session.save()
    return f"{settings.SESSION_COOKIE_NAME}={session.session_key}"


def make_pairs(count: int) -> list[Pair]:
    people = make_people(2 * count)
    couples = [tuple(sorted(people[at : at + 2], key=lambda each: each.pk)) for at in range(0, 2 * count, 2)]
    Mailbox.objects.bulk_create([Mailbox(user=each) for each in people])
    conversations = Conversation.objects.bulk_create(
        [Conversation(user_lo=lo, user_hi=hi, started_by=lo) for lo, hi in couples]
    )
    Member.objects.bulk_create(
        [
            Member(conversation=place, user=each)
            for place, two in zip(conversations, couples, strict=True)
            for each in two
        ]
    )
    return [
        Pair(conversation=place.pk, sender=lo, reader=hi, cookies=(sign_in(lo), sign_in(hi)))
        for place, (lo, hi) in zip(conversations, couples, strict=True)
    ]


def percentile(values: Milliseconds, share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def floor_block(pair: Pair, count: int) -> Milliseconds:
    """Store, commit, publish, hear it: one after the other, with blocking clients and nothing else in between."""
    parameters = connection.get_connection_params()
    wanted = {name: parameters[name] for name in ("host", "port", "user", "password", "dbname")}
    speaker = redis.Redis.from_url(settings.REDIS_URL)
    hearer = redis.Redis.from_url(settings.REDIS_URL).pubsub()  # type: ignore[no-untyped-call]
    hearer.subscribe("bench-floor")
    hearer.get_message(timeout=5)
    times = []
    with psycopg.connect(**wanted, autocommit=True, prepare_threshold=2) as database:
        for _ in range(count):
            draft = sending.draft(
                sender=pair.sender.pk, conversation=pair.conversation, client_msg_id=uuid.uuid4(), body=BODY
            )
            started = time.perf_counter()
            database.execute(statements.SEND.encode(), draft.parameters()).fetchall()
            speaker.publish("bench-floor", BODY * 4)
            hearer.parse_response(block=True)
            times.append((time.perf_counter() - started) * 1000)
    hearer.close()
    speaker.close()
    return times


async def say(pair: Pair, sender: Client, reader: Client) -> float:
    """One message, from before the frame is written until the event is read: milliseconds."""
    client_id = str(uuid.uuid4())
    arrived = reader.awaited[client_id] = asyncio.get_running_loop().create_future()
    started = time.perf_counter()
    await sender.tell(type="send", conversation=str(pair.conversation), id=client_id, body=BODY)
    async with asyncio.timeout(30):
        await arrived
    return (time.perf_counter() - started) * 1000


async def compare(site: Site, pair: Pair, floor_pair: Pair, sizes: Sizes) -> dict[str, Any]:
    """G1 and G2."""
    sender, reader = [await site.open(cookie) for cookie in pair.cookies]
    for _ in range(30):
        await say(pair, sender, reader)
    p50s, p99s, floors, chats = [], [], [], []
    used_s = 0.0
    for _ in range(sizes.blocks):
        floor = await asyncio.to_thread(floor_block, floor_pair, sizes.a_block)
        before_s = site.cpu_s()
        chat = [await say(pair, sender, reader) for _ in range(sizes.a_block)]
        used_s += site.cpu_s() - before_s
        p50s.append(percentile(chat, 0.5) / percentile(floor, 0.5))
        p99s.append(percentile(chat, 0.99) / percentile(floor, 0.99))
        floors += floor
        chats += chat
    return {
        "ratio_p50": round(statistics.median(p50s), 2),
        "ratio_p99": round(statistics.median(p99s), 2),
        "floor_ms": {"p50": round(percentile(floors, 0.5), 2), "p99": round(percentile(floors, 0.99), 2)},
        "chat_ms": {"p50": round(percentile(chats, 0.5), 2), "p99": round(percentile(chats, 0.99), 2)},
        "cpu_ms_a_message": round(used_s * 1000 / len(chats), 3),
    }


async def throughput(site: Site, pairs: list[Pair], seconds: float) -> dict[str, float]:
    """Messages a second, each pair with one under way, and the worker's CPU for one."""
    clients = [[await site.open(cookie) for cookie in pair.cookies] for pair in pairs]
    for two in clients:
        for each in two:
            await each.drained.wait()
    until = time.monotonic() + seconds
    times: Milliseconds = []

    async def talk(pair: Pair, sender: Client, reader: Client) -> None:
        while time.monotonic() < until:
            times.append(await say(pair, sender, reader))

    before_s = site.cpu_s()
    await asyncio.gather(*(talk(pair, *two) for pair, two in zip(pairs, clients, strict=True)))
    cpu_s = site.cpu_s() - before_s
    for two in clients:
        for each in two:
            await each.socket.close()
    return {
        "messages_a_s": round(len(times) / seconds, 1),
        "p50_ms": round(percentile(times, 0.5), 1),
        "p99_ms": round(percentile(times, 0.99), 1),
        "cpu_ms_a_message": round(cpu_s * 1000 / len(times), 3),
    }


async def idle_memory(site: Site, count: int, seconds: float) -> dict[str, float]:
    cookies = await asyncio.to_thread(lambda: [sign_in(person) for person in make_people(count)])
    before = site.worker.memory_info().rss
    clients: list[Client] = []
    started = time.monotonic()
    for at in range(0, count, 50):
        clients += await asyncio.gather(*(site.open(cookie) for cookie in cookies[at : at + 50]))
    opened_s = time.monotonic() - started
    grown = site.worker.memory_info().rss - before
    before_s, began = site.cpu_s(), time.monotonic()
    await asyncio.sleep(seconds)
    idle_cpu = (site.cpu_s() - before_s) / (time.monotonic() - began)
    for each in clients:
        await each.socket.close()
    return {
        "sockets": count,
        "kb_a_socket": round(grown / 1024 / count, 1),
        "open_s": round(opened_s, 1),
        "idle_cpu_share": round(idle_cpu, 3),
    }


def presence_cost(count: int = 2000) -> dict[str, float]:
    here = [Here(person=uuid.uuid4(), gen=1, silent_s=0.0) for _ in range(count)]
    started = time.perf_counter()
    presence.refresh(here)
    refreshed = time.perf_counter()
    for _ in range(100):
        presence.read([each.person for each in here[:50]])
    read = time.perf_counter()
    return {
        "refresh_2000_ms": round((refreshed - started) * 1000, 1),
        "read_50_ms": round((read - refreshed) * 10, 3),
    }


def fill_inbox(pair: Pair, count: int) -> None:
    """`count` messages that nobody fetched, made by the database itself."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH made AS (
                INSERT INTO chat_message (id, conversation_id, seq, sender_id, client_msg_id, body, version, created_at)
                SELECT gen_random_uuid(), %(place)s, n, %(sender)s, gen_random_uuid(), %(body)s, 1, now()
                FROM generate_series(1, %(count)s) n RETURNING id, seq
            )
            INSERT INTO chat_inbox (recipient_id, inbox_seq, kind, message_id, created_at)
            SELECT %(reader)s, seq, 'message', id, now() FROM made
            """,
            {
                "place": pair.conversation,
                "sender": pair.sender.pk,
                "reader": pair.reader.pk,
                "body": BODY,
                "count": count,
            },
        )
    Conversation.objects.filter(pk=pair.conversation).update(last_seq=count)
    Mailbox.objects.filter(user=pair.reader).update(last_inbox_seq=count)


async def drain(site: Site, pair: Pair, count: int) -> dict[str, float]:
    await asyncio.to_thread(fill_inbox, pair, count)
    started = time.perf_counter()
    reader = await site.open(pair.cookies[1])
    async with asyncio.timeout(120):
        await reader.drained.wait()
    return {"messages": count, "seconds": round(time.perf_counter() - started, 2), "complete": reader.have == count}


async def slow_statement(site: Site, stuck: Pair, other: Pair, calm_s: float) -> dict[str, Any]:
    """G6: the worst delivery of one pair while a statement of another waits for 2 s, and just before."""
    stuck_sender, _ = [await site.open(cookie) for cookie in stuck.cookies]
    sender, reader = [await site.open(cookie) for cookie in other.cookies]

    async def worst_of(seconds: float) -> float:
        until = time.monotonic() + seconds
        times = []
        while time.monotonic() < until:
            times.append(await say(other, sender, reader))
            await asyncio.sleep(0.01)
        return max(times)

    await worst_of(0.5)
    parameters = connection.get_connection_params()
    wanted = {name: parameters[name] for name in ("host", "port", "user", "password", "dbname")}
    rounds = []
    waited = True
    for _ in range(3):
        before = await worst_of(calm_s)
        stuck_sender.sent.clear()
        async with await psycopg.AsyncConnection.connect(**wanted) as blocker:
            await blocker.execute("SELECT 1 FROM chat_conversation WHERE id = %s FOR UPDATE", [stuck.conversation])
            await stuck_sender.tell(type="send", conversation=str(stuck.conversation), id=str(uuid.uuid4()), body=BODY)
            during = await worst_of(2.0)
            waited = waited and not stuck_sender.sent.is_set()
            await blocker.rollback()
        async with asyncio.timeout(10):
            await stuck_sender.sent.wait()
        rounds.append({"before_ms": round(before, 1), "during_ms": round(during, 1)})
    # A thread that all share would add 2,000 ms in every round; what the machine's other work adds is in some.
    added = statistics.median(each["during_ms"] - each["before_ms"] for each in rounds)
    return {"rounds": rounds, "added_ms": round(added, 1), "statement_waited": waited}


def last_seen_writes() -> int:
    """G4: heartbeats of one person, each followed by the task."""
    [person] = make_people(1)
    client().delete(presence.DIRTY)  # those of the measurements before
    writes = 0
    for _ in range(100):
        presence.refresh([Here(person=person.pk, gen=1, silent_s=0.0)])
        writes += flush_last_seen()
    return writes


def fault_suite() -> bool:
    """G3: every test of faults, among them the one of 5,000 messages and the one that says that they can be red."""
    command = [sys.executable, "-m", "pytest", "tests/chat", "-q", "-n", "0", "-m", "faults"]
    # The tests start services of their own.
    environment = {name: value for name, value in os.environ.items() if name not in REPLACED}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0


async def measure(site: Site, sizes: Sizes) -> dict[str, Any]:
    result: dict[str, Any] = {}
    [idle_pair] = await asyncio.to_thread(make_pairs, 1)
    idle = [await site.open(cookie) for cookie in idle_pair.cookies]
    idle_since = time.monotonic()
    pairs = await asyncio.to_thread(make_pairs, 64 + 6)
    steps: list[tuple[str, Callable[[], Awaitable[Any]]]] = [
        ("delivery", lambda: compare(site, pairs[64], pairs[65], sizes)),
        ("slow_statement", lambda: slow_statement(site, pairs[66], pairs[67], sizes.calm_s)),
        *(
            (f"pairs_{count}", lambda count=count: throughput(site, pairs[:count], sizes.pairs_s))
            for count in (1, 16, 64)
        ),
        ("drain", lambda: drain(site, pairs[68], sizes.offline)),
        ("idle", lambda: idle_memory(site, sizes.idle, sizes.idle_s)),
        ("presence", lambda: asyncio.to_thread(presence_cost)),
    ]
    for name, step in steps:
        result[name] = await step()
        print(name, json.dumps(result[name]), flush=True)
    await asyncio.sleep(max(0.0, 31 - (time.monotonic() - idle_since)))
    result["idle_30_s_delivers_ms"] = round(await say(idle_pair, *idle), 1)
    return result


def judge(result: dict[str, Any]) -> dict[str, bool]:
    delivery, slow = result["delivery"], result["slow_statement"]
    gates = {
        "G1": delivery["ratio_p50"] <= 4 and delivery["ratio_p99"] <= 6,
        "G2": delivery["cpu_ms_a_message"] <= 2,
        "G4": result["last_seen_writes"] <= 1,
        "G5": result["idle_30_s_delivers_ms"] > 0,
        "G6": slow["statement_waited"] and slow["added_ms"] <= 100,
    }
    if "fault_suite" in result:
        gates["G3"] = result["fault_suite"]
    return gates


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 16384)), hard))
    site = Site()
    try:
        call_command("migrate", verbosity=0)
        site.wait()
        result = asyncio.run(measure(site, QUICK if quick else FULL))
    finally:
        site.process.terminate()
        site.process.wait(15)
    result["last_seen_writes"] = last_seen_writes()
    print("last_seen_writes", result["last_seen_writes"])
    if not quick:
        result["fault_suite"] = fault_suite()
    result["machine"] = {"cpus": os.cpu_count(), "load": os.getloadavg()[0], "python": platform.python_version()}
    gates = judge(result)
    result["gates"] = gates
    print(json.dumps(gates))
    if not quick:
        RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0 if all(gates.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
