"""Whoever leaves, at whatever moment, leaves nothing behind: no place in the pool, no connection to an engine."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Iterator

import pytest

from inference_backend.engines.protocol import EngineEvent, GenerationRequest, TextDelta, Turn
from inference_backend.errors import DeadlineExceededError
from inference_backend.failover import Origin
from inference_backend.fleet.configuration import ModelConfiguration, ReplicaConfiguration
from inference_backend.fleet.fleet import Fleet
from inference_backend.fleet.model import Model
from inference_backend.generation import Generation
from inference_backend.settings import Timeouts
from tests.inference_backend.scripted_engine import (
    MODEL,
    Await,
    Close,
    Hang,
    Refuse,
    Reset,
    ScriptedEngine,
    text,
    whole,
)
from tests.waiting import until_beside

REQUEST = GenerationRequest(turns=(Turn(role="user", text="hi"),), max_tokens=50, temperature=0.0)


@pytest.fixture
def engine() -> Iterator[ScriptedEngine]:
    engine = ScriptedEngine()
    engine.start()
    yield engine
    engine.stop()


@contextlib.asynccontextmanager
async def served(engine: ScriptedEngine, timeouts: Timeouts | None = None) -> AsyncIterator[Model]:
    """With one place only, so that a lost place shows at once."""
    replica = ReplicaConfiguration(name="only", engine="llama_cpp", url=engine.url, slots=1)
    fleet = Fleet([ModelConfiguration(id=MODEL, replicas=(replica,))], timeouts=timeouts or Timeouts())
    watch = asyncio.create_task(fleet.watch())
    try:
        model = fleet.find(MODEL)
        await until_beside(lambda: model.ready)
        yield model
    finally:
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)
        await fleet.aclose()


def generation(model: Model, name: str) -> Generation:
    origin = Origin(id=name, tier="pro", key="somebody")
    return Generation(model, REQUEST, origin, stop_sequences=(), on_failure=lambda error: None)


async def read(model: Model, name: str, *, most: int = 1000) -> str:
    said: list[EngineEvent] = []
    async with contextlib.aclosing(generation(model, name).events()) as events:
        async for event in events:
            said.append(event)
            if sum(isinstance(one, TextDelta) for one in said) == most:
                break
    return "".join(event.text for event in said if isinstance(event, TextDelta))


async def leave(task: "asyncio.Task[str]") -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert task.cancelled()


async def nothing_is_left(model: Model, engine: ScriptedEngine) -> None:
    snapshot = model.pool.snapshot()
    assert (snapshot.running, sum(snapshot.waiting.values())) == (0, 0)
    assert model.replica("only").running == 0
    await until_beside(lambda: engine.open_now == 0)
    engine.forget()
    assert await read(model, "afterwards") == "Hello there"


async def test_leaving_in_the_middle_of_an_answer(engine: ScriptedEngine) -> None:
    async with served(engine) as model:
        engine.play(text("one"), Hang())
        assert await read(model, "first", most=1) == "one"
        await until_beside(engine.caller_left.is_set)
        await nothing_is_left(model, engine)


async def test_leaving_before_the_first_token(engine: ScriptedEngine) -> None:
    async with served(engine) as model:
        engine.play(Hang())
        task = asyncio.create_task(read(model, "first"))
        await until_beside(lambda: engine.requests)
        await leave(task)
        await until_beside(engine.caller_left.is_set)
        await nothing_is_left(model, engine)


async def test_leaving_the_queue(engine: ScriptedEngine) -> None:
    async with served(engine) as model:
        engine.play(text("one"), Hang())
        first = asyncio.create_task(read(model, "first"))
        await until_beside(lambda: engine.requests)
        second = asyncio.create_task(read(model, "second"))
        await until_beside(lambda: sum(model.pool.snapshot().waiting.values()) == 1)
        await leave(second)
        assert len(engine.requests) == 1, "what waited never got to the engine"
        await leave(first)
        await nothing_is_left(model, engine)


async def test_a_deadline_in_the_queue(engine: ScriptedEngine) -> None:
    async with served(engine, Timeouts(queue_s=0.3)) as model:
        engine.play(text("one"), Hang())
        first = asyncio.create_task(read(model, "first"))
        await until_beside(lambda: engine.requests)
        with pytest.raises(DeadlineExceededError):
            await read(model, "second")
        await leave(first)
        await nothing_is_left(model, engine)


async def test_leaving_while_a_lost_replica_is_verified_again(engine: ScriptedEngine) -> None:
    async with served(engine) as model:
        verified = threading.Event()
        engine.golden_answer = [Await(verified), Close()]
        engine.play(text("one"), Reset())
        task = asyncio.create_task(read(model, "first"))
        await until_beside(lambda: model.replica("only").state == "suspect")
        await leave(task)
        engine.golden_answer = whole("Paris.")
        verified.set()
        await until_beside(lambda: model.ready)
        await nothing_is_left(model, engine)


async def test_leaving_while_the_answer_is_replayed(engine: ScriptedEngine) -> None:
    async with served(engine) as model:
        engine.play(text("one"), text(" two"), Reset())
        engine.play(text("one"), Hang())
        task = asyncio.create_task(read(model, "first"))
        await until_beside(lambda: len(engine.requests) == 2)
        await leave(task)
        await until_beside(engine.caller_left.is_set)
        await nothing_is_left(model, engine)


async def test_an_answer_that_fails_for_good(engine: ScriptedEngine) -> None:
    async with served(engine) as model:
        for number in range(5):
            engine.play(Refuse(400, "no"))
            with pytest.raises(Exception, match="refused"):
                await read(model, f"refused-{number}")
        await nothing_is_left(model, engine)
