"""Ten thousand requests while replicas are killed, hung and revived, the store restarts, and callers come and go.

Everything is a process of its own. What happens when depends on the machine; what is asked and what is done to it is
drawn from one seed.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import httpx2
import pytest

from tests.inference_backend.chaos.callers import Call, Crowd, Seen, draw_calls
from tests.inference_backend.chaos.processes import (
    ReplicaProcess,
    ServiceProcess,
    StoreProcess,
    disturb,
    journal_of,
)
from tests.inference_backend.declared import Declared
from tests.waiting import wait_until

# Alone: its crowd and eight processes want all of a small machine, and what it promises is bounded in seconds.
pytestmark = [pytest.mark.faults, pytest.mark.long, pytest.mark.alone, pytest.mark.timeout(1200)]
SEED = 20_261_130
REQUESTS = 10_000
AT_ONCE = 48
REPLICAS = 4
SLOTS = 16
GAP_S = 0.004
TIMEOUTS = {"connect_s": 1.0, "queue_s": 20.0, "first_token_s": 3.0, "between_tokens_s": 2.0, "total_s": 60.0}
TIERS = """
[tiers.free]
concurrency = 30
delay_low_ms = 4000
delay_high_ms = 12000
[tiers.pro]
concurrency = 30
[tiers.internal]
concurrency = 30
"""


@dataclass(frozen=True, kw_only=True)
class Stack:
    replicas: list[ReplicaProcess]
    store: StoreProcess
    services: list[ServiceProcess]

    @property
    def addresses(self) -> list[str]:
        return [service.url for service in self.services]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("chaos")
    replicas = [ReplicaProcess(folder, f"gpu-{number}", gap_s=GAP_S) for number in range(REPLICAS)]
    store = StoreProcess(folder)
    declared = Declared(folder / "inference.toml", timeouts=TIMEOUTS)
    for replica in replicas:
        declared.add(replica.name, replica.url, slots=SLOTS)
    declared.write().write_text(declared.path.read_text() + TIERS)
    services = [ServiceProcess(folder, f"service-{number}", config=declared.path, store=store) for number in range(2)]
    for process in (*replicas, store, *services):
        process.start()
    wait_until(store.is_up)
    for service in services:
        service.wait_until_ready()
    yield Stack(replicas=replicas, store=store, services=services)
    for process in (*services, *replicas, store):
        process.kill()


@dataclass(frozen=True, kw_only=True)
class Aftermath:
    calls: list[Call]
    seen: Seen
    faults: Counter[str]


@pytest.fixture(scope="module")
def aftermath(stack: Stack) -> Aftermath:
    return asyncio.run(run_chaos(stack))


async def run_chaos(stack: Stack) -> Aftermath:
    calls = draw_calls(REQUESTS, random.Random(SEED))
    crowd = Crowd(stack.addresses, at_once=AT_ONCE, rng=random.Random(SEED + 1))
    disturbing = asyncio.create_task(disturb(stack.replicas, stack.store, random.Random(SEED + 2)))
    try:
        await crowd.make(calls)
    finally:
        disturbing.cancel()
        faults = await disturbing
    return Aftermath(calls=calls, seen=crowd.seen, faults=faults)


def total(stack: Stack, name: str, **labels: str) -> float:
    """A metric summed over the services and over the labels that are not given."""
    rows = [
        row
        for address in stack.addresses
        for row in httpx2.get(f"{address}/metrics", trust_env=False, timeout=30).text.splitlines()
    ]
    wanted = [f'{label}="{value}"' for label, value in labels.items()]
    return sum(
        float(row.rsplit(" ", 1)[1])
        for row in rows
        if row.partition("{")[0].partition(" ")[0] == name and all(pair in row for pair in wanted)
    )


def is_zero(stack: Stack, gauge: str) -> bool:
    return total(stack, gauge) == 0


def test_there_was_enough_of_everything(aftermath: Aftermath) -> None:
    seen = aftermath.seen
    assert min(aftermath.faults[fault] for fault in ("kill", "hang", "store")) >= 1
    assert seen.left > 100
    assert seen.ended["answer"] > REQUESTS / 2


def test_every_request_ends_exactly_once_and_whole_answers_are_right(aftermath: Aftermath) -> None:
    assert aftermath.seen.wrong == []
    assert aftermath.seen.given_up == 0


def test_a_key_has_one_answer(aftermath: Aftermath) -> None:
    keyed = {call.number for call in aftermath.calls if call.key}
    messages = aftermath.seen.messages
    assert {number: ids for number, ids in messages.items() if number in keyed and len(ids) > 1} == {}


def test_nothing_is_generated_twice_for_a_key(stack: Stack, aftermath: Aftermath) -> None:
    _, ended = journal_of(stack.replicas)
    # Where everybody left, an answer that nobody has seen is dropped, and the next caller gets another.
    stayed = [call for call in aftermath.calls if call.key and call.way != "leaves"]
    assert {call.key: ended[call.prompt] for call in stayed if ended[call.prompt] > 1} == {}


def test_nothing_is_begun_again_but_to_replace_what_was_lost(stack: Stack, aftermath: Aftermath) -> None:
    begun, _ = journal_of(stack.replicas)
    once = Counter({call.prompt: 1 if call.key else call.twins for call in aftermath.calls})
    again = sum((begun - once).values())
    assert again <= total(stack, "inference_engine_failures_total") + aftermath.seen.left
    assert set(begun) <= set(once)


def test_the_counters_of_the_service_add_up_to_what_the_callers_saw(stack: Stack, aftermath: Aftermath) -> None:
    seen = aftermath.seen
    name, path = "inference_requests_total", "/v1/messages"
    wait_until(lambda: total(stack, name, path=path) == sum(seen.statuses.values()))
    for status, count in seen.statuses.items():
        if status != 200:
            assert total(stack, name, path=path, status=str(status)) == count
    gone = total(stack, name, path=path, status="499")
    assert total(stack, name, path=path, status="200") + gone == seen.statuses[200]
    assert gone <= seen.left


def test_no_slot_place_or_lease_is_left_behind(stack: Stack, aftermath: Aftermath) -> None:
    assert aftermath.seen.statuses
    for gauge in ("inference_in_flight", "inference_running", "inference_queue_waiting"):
        wait_until(partial(is_zero, stack, gauge))
    wait_until(lambda: stack.store.keys("limits:leases:*") == [], within_s=40)
    wait_until(lambda: total(stack, "inference_replicas", state="ready") == REPLICAS * len(stack.services))
