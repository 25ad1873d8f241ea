"""Every address of a name is a replica; addresses come and go."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from inference_backend.engines.protocol import GenerationRequest, TextDelta, Turn
from inference_backend.failover import Origin
from inference_backend.fleet.configuration import DnsConfiguration, ModelConfiguration
from inference_backend.fleet.discovery import Discovery, resolve_addresses
from inference_backend.fleet.fleet import Fleet
from inference_backend.generation import Generation
from inference_backend.settings import Timeouts
from tests.inference_backend.declared import Declared, in_state
from tests.inference_backend.running import running_backend
from tests.inference_backend.scripted_engine import (
    DONE,
    MODEL,
    End,
    Pause,
    Refuse,
    ScriptedEngine,
    finish,
    text,
    usage,
)
from tests.waiting import PATIENCE_S, until_beside, wait_until

# All of 127/8 is this machine.
ADDRESSES = ("127.0.0.1", "127.0.0.2", "127.0.0.3")


class NameServer:
    """What the name stands for now; None: it does not answer."""

    def __init__(self, *addresses: str) -> None:
        self.addresses: frozenset[str] | None = frozenset(addresses)
        self.asked = 0

    async def resolve(self, host: str, port: int) -> frozenset[str]:
        self.asked += 1
        if self.addresses is None:
            raise socket.gaierror(socket.EAI_AGAIN, "try again")
        return self.addresses


async def test_a_name_that_no_name_server_can_know_is_asked_for_again() -> None:
    asked: list[str] = []

    async def resolve(host: str, port: int) -> frozenset[str]:
        asked.append(host)
        if len(asked) == 1:
            host.encode("idna")
        return frozenset({ADDRESSES[0]})

    changed = asyncio.Event()
    discovery = Discovery(resolve, on_change=changed.set)
    discovery.watch([DnsConfiguration(host="a..b", port=8000, engine="vllm", every_s=0.01)])
    async with asyncio.timeout(PATIENCE_S):
        await changed.wait()
    assert discovery.addresses("a..b") == [ADDRESSES[0]]
    await discovery.aclose()


@pytest.fixture
def engines() -> Iterator[dict[str, ScriptedEngine]]:
    first = ScriptedEngine(host=ADDRESSES[0])
    first.start()
    running = {first.host: first}
    for host in ADDRESSES[1:]:
        running[host] = ScriptedEngine(host=host, port=first.port)
        running[host].start()
    yield running
    for engine in running.values():
        engine.stop()


@contextlib.asynccontextmanager
async def discovered(engines: dict[str, ScriptedEngine], names: NameServer) -> AsyncIterator[Fleet]:
    entry = DnsConfiguration(host="engines", port=engines[ADDRESSES[0]].port, engine="llama_cpp", every_s=0.05)
    fleet = Fleet(
        [ModelConfiguration(id=MODEL, dns=(entry,), drain_s=20.0)], timeouts=Timeouts(), resolve=names.resolve
    )
    watch = asyncio.create_task(fleet.watch())
    try:
        yield fleet
    finally:
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)
        await fleet.aclose()


async def until_ready(fleet: Fleet, *addresses: str) -> None:
    """These are the ready replicas, and there are no others."""
    wanted = {f"engines/{address}": "ready" for address in addresses}
    await until_beside(lambda: {row["replica"]: row["state"] for row in fleet.report()} == wanted)


async def test_addresses_are_replicas_and_follow_the_name(engines: dict[str, ScriptedEngine]) -> None:
    names = NameServer("127.0.0.1", "127.0.0.2")
    async with discovered(engines, names) as fleet:
        await until_ready(fleet, "127.0.0.1", "127.0.0.2")
        names.addresses = frozenset({"127.0.0.2", "127.0.0.3"})
        await until_ready(fleet, "127.0.0.2", "127.0.0.3")


async def test_a_name_server_that_does_not_answer_takes_no_replica_away(engines: dict[str, ScriptedEngine]) -> None:
    names = NameServer("127.0.0.1")
    async with discovered(engines, names) as fleet:
        await until_ready(fleet, "127.0.0.1")
        names.addresses, asked = None, names.asked
        await until_beside(lambda: names.asked >= asked + 3)
        await until_ready(fleet, "127.0.0.1")
        names.addresses = frozenset({"127.0.0.1", "127.0.0.3"})
        await until_ready(fleet, "127.0.0.1", "127.0.0.3")


async def test_an_address_that_vanishes_finishes_its_answer(engines: dict[str, ScriptedEngine]) -> None:
    names = NameServer("127.0.0.1")
    async with discovered(engines, names) as fleet:
        await until_ready(fleet, "127.0.0.1")
        pieces = [step for _ in range(10) for step in (text(" word"), Pause(0.1))]
        engines["127.0.0.1"].play(*pieces, finish(), usage(5, 10), DONE, End())
        generation = Generation(
            fleet.find(MODEL),
            GenerationRequest(turns=(Turn(role="user", text="hi"),), max_tokens=50),
            Origin(id="one", tier="pro", key="somebody"),
            stop_sequences=(),
            on_failure=lambda error: None,
        )
        said = ""
        async with contextlib.aclosing(generation.events()) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    said += event.text
                    names.addresses = frozenset({"127.0.0.2"})
        assert said == " word" * 10
        assert generation.continued == 0
        await until_ready(fleet, "127.0.0.2")


async def test_an_address_that_is_not_well_gets_no_traffic(engines: dict[str, ScriptedEngine]) -> None:
    engines["127.0.0.2"].golden_answer = [Refuse(500)]
    names = NameServer("127.0.0.1", "127.0.0.2")
    async with discovered(engines, names) as fleet:
        await until_beside(lambda: "status 500" in str(fleet.report()))
        states = {row["replica"]: row["state"] for row in fleet.report()}
        assert states["engines/127.0.0.2"] != "ready"


async def test_the_resolver_of_the_system_is_asked() -> None:
    assert await resolve_addresses("localhost", 80) & {"127.0.0.1", "::1"}
    with pytest.raises(OSError, match=r"\w"):
        await resolve_addresses("no-such-host.invalid", 80)


def test_the_service_finds_its_engines_by_name(engines: dict[str, ScriptedEngine], tmp_path: Path) -> None:
    declared = Declared(tmp_path / "inference.toml")
    declared.write_text(
        f'[[models]]\nid = "{MODEL}"\n[[models.dns]]\nhost = "localhost"\nport = {engines["127.0.0.1"].port}\n'
        'engine = "llama_cpp"\nevery_s = 0.2\n'
    )
    with running_backend(declared.settings) as address:
        wait_until(lambda: in_state(address, "ready") == {"localhost/127.0.0.1"})
