"""One generation for each key, without the service around it: callers, processes and faults in every order."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from starlette.types import Message, Send

from inference_backend.errors import (
    ConflictError,
    EngineCutError,
    InFlightElsewhereError,
    OverloadedError,
    StoreDownError,
    TooLargeToReplayError,
)
from inference_backend.idempotency import once, recording
from inference_backend.idempotency.journal import LocalJournal, SharedJournal
from inference_backend.idempotency.key import KeyedRequest
from inference_backend.idempotency.once import OncePerKey, Outcome
from inference_backend.store import SharedStore
from tests.valkey import Valkey
from tests.waiting import PATIENCE_S, until

HEAD: Message = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}


class Caller:
    """Collects what it is sent."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.headers: dict[bytes, bytes] = {}
        self.body = b""
        self.ended = False
        self.heard = asyncio.Event()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], dict(message["headers"])
        else:
            self.body += message["body"]
            self.ended = not message.get("more_body", False)
        self.heard.set()

    @property
    def is_replayed(self) -> bool:
        return b"idempotent-replayed" in self.headers


class Generator:
    """Produces "one two" and waits in the middle until it may go on."""

    def __init__(self, *, whole: bool = True, refuses: Exception | None = None) -> None:
        self.runs = 0
        self.cancelled = 0
        self.go_on = asyncio.Event()
        self._whole = whole
        self._refuses = refuses

    async def produce(self, send: Send) -> bool:
        self.runs += 1
        try:
            if self._refuses:
                raise self._refuses
            await send(HEAD)
            await send({"type": "http.response.body", "body": b"one ", "more_body": True})
            await self.go_on.wait()
            await send({"type": "http.response.body", "body": b"two", "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return self._whole


class Refusing:
    """Refuses when it is told to."""

    def __init__(self) -> None:
        self.running, self.refuse = asyncio.Event(), asyncio.Event()

    async def produce(self, send: Send) -> bool:
        self.running.set()
        await self.refuse.wait()
        raise OverloadedError("full")


@pytest.fixture
def process(store: SharedStore) -> OncePerKey:
    return OncePerKey(SharedJournal(store), process="one")


@pytest.fixture
def another(store: SharedStore) -> OncePerKey:
    return OncePerKey(SharedJournal(store), process="two")


@pytest.fixture
def request_() -> KeyedRequest:
    return KeyedRequest(name=secrets.token_hex(16), fingerprint="this body")


Start = Callable[..., "asyncio.Task[Outcome]"]


def start(
    process: OncePerKey, request: KeyedRequest, caller: Caller, generator: "Generator | Refusing"
) -> "asyncio.Task[Outcome]":
    return asyncio.ensure_future(process.answer(request, caller.send, generator.produce))


async def begin(process: OncePerKey, request: KeyedRequest) -> "tuple[Generator, Caller, asyncio.Task[Outcome]]":
    """A generation in the middle of its answer, and who asked for it."""
    generator, caller = Generator(), Caller()
    task = start(process, request, caller, generator)
    await until(lambda: caller.body == b"one ")
    return generator, caller, task


async def ask(process: OncePerKey, request: KeyedRequest) -> Caller:
    """Who asked, after a generation that nothing holds up."""
    generator, caller = Generator(), Caller()
    generator.go_on.set()
    await start(process, request, caller, generator)
    return caller


async def leave(*callers: "asyncio.Task[Outcome]") -> None:
    for caller in callers:
        caller.cancel()
    await asyncio.gather(*callers, return_exceptions=True)


async def test_a_second_caller_joins_from_the_beginning_and_follows(
    process: OncePerKey, request_: KeyedRequest
) -> None:
    generator, first, task = await begin(process, request_)
    second = Caller()
    tasks = [task, start(process, request_, second, generator)]
    await until(lambda: second.body == b"one ")
    generator.go_on.set()
    await asyncio.gather(*tasks)
    assert first.body == second.body == b"one two"
    assert (first.ended, second.ended) == (True, True)
    assert generator.runs == 1
    assert (first.is_replayed, second.is_replayed) == (False, True)


async def test_callers_who_come_at_once_share_one_generation(process: OncePerKey, request_: KeyedRequest) -> None:
    generator, callers = Generator(), [Caller() for _ in range(20)]
    generator.go_on.set()
    await asyncio.gather(*(start(process, request_, caller, generator) for caller in callers))
    assert generator.runs == 1
    assert {caller.body for caller in callers} == {b"one two"}
    assert sum(not caller.is_replayed for caller in callers) == 1


async def test_an_answer_is_replayed_by_this_process_and_by_another(
    process: OncePerKey, another: OncePerKey, request_: KeyedRequest
) -> None:
    generator = Generator()
    generator.go_on.set()
    await start(process, request_, Caller(), generator)
    for service in (process, another):
        caller = Caller()
        await start(service, request_, caller, generator)
        assert (caller.status, caller.body, caller.ended) == (200, b"one two", True)
        assert caller.is_replayed
        assert caller.headers[b"content-type"] == b"text/event-stream"
    assert generator.runs == 1


async def test_a_caller_of_another_process_hears_the_answer_while_it_is_written(
    process: OncePerKey, another: OncePerKey, request_: KeyedRequest
) -> None:
    generator, first, second, third = Generator(), Caller(), Caller(), Caller()
    task = start(process, request_, first, generator)
    await until(lambda: first.body == b"one ")
    listening = [start(another, request_, caller, generator) for caller in (second, third)]
    await until(lambda: second.body == third.body == b"one ")
    generator.go_on.set()
    await task
    assert [await one for one in listening] == ["joined", "joined"]
    for caller in (second, third):
        assert (caller.status, caller.body, caller.ended) == (200, b"one two", True)
        assert caller.is_replayed
        assert caller.headers[b"content-type"] == b"text/event-stream"
    assert generator.runs == 1


async def test_what_is_listened_to_and_breaks_off_ends_in_an_error_and_is_generated_anew_afterwards(
    process: OncePerKey, another: OncePerKey, request_: KeyedRequest
) -> None:
    broken, good, first, second = Generator(whole=False), Generator(), Caller(), Caller()
    task = start(process, request_, first, broken)
    await until(lambda: first.body == b"one ")
    listening = start(another, request_, second, good)
    await until(lambda: second.body == b"one ")
    broken.go_on.set()
    await task
    with pytest.raises(EngineCutError):
        await listening
    assert not second.ended
    good.go_on.set()
    caller = Caller()
    await start(another, request_, caller, good)
    assert caller.body == b"one two"
    assert good.runs == 1


async def test_who_waits_for_an_answer_that_never_begins_elsewhere_generates_it(
    process: OncePerKey, another: OncePerKey, request_: KeyedRequest
) -> None:
    refusing, good, caller = Refusing(), Generator(), Caller()
    good.go_on.set()
    task = start(process, request_, Caller(), refusing)
    await refusing.running.wait()
    listening = start(another, request_, caller, good)
    await asyncio.sleep(0.1)
    refusing.refuse.set()
    with pytest.raises(OverloadedError):
        await task
    assert await listening == "generated"
    assert caller.body == b"one two"
    assert not caller.is_replayed


async def test_who_stops_listening_leaves_the_writer_alone(
    process: OncePerKey, another: OncePerKey, request_: KeyedRequest
) -> None:
    generator, first, task = await begin(process, request_)
    second = Caller()
    listening = start(another, request_, second, generator)
    await until(lambda: second.body == b"one ")
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
    generator.go_on.set()
    assert await task == "generated"
    assert first.body == b"one two"
    assert (generator.runs, generator.cancelled) == (1, 0)


async def test_another_body_is_a_conflict_during_and_after_the_answer(
    process: OncePerKey, another: OncePerKey, request_: KeyedRequest
) -> None:
    generator, _, task = await begin(process, request_)
    changed = KeyedRequest(name=request_.name, fingerprint="another body")
    for service in (process, another):
        with pytest.raises(ConflictError):
            await start(service, changed, Caller(), generator)
    generator.go_on.set()
    await task
    with pytest.raises(ConflictError):
        await start(process, changed, Caller(), generator)


async def test_a_request_that_was_turned_away_frees_its_key_before_the_caller_knows(
    process: OncePerKey, another: OncePerKey, request_: KeyedRequest
) -> None:
    refusing, good, caller = Generator(refuses=OverloadedError("full")), Generator(), Caller()
    good.go_on.set()
    with pytest.raises(OverloadedError):
        await start(process, request_, Caller(), refusing)
    await start(another, request_, caller, good)
    assert caller.body == b"one two"
    assert not caller.is_replayed


async def test_failing_at_the_start_and_trying_again_at_once_fails_the_second_time_by_its_own_merit(
    process: OncePerKey, request_: KeyedRequest
) -> None:
    for _ in range(20):
        refusing = Generator(refuses=OverloadedError("full"))
        with pytest.raises(OverloadedError):
            await start(process, request_, Caller(), refusing)
        assert refusing.runs == 1
    assert (await ask(process, request_)).body == b"one two"


async def test_an_answer_that_broke_off_is_generated_anew(process: OncePerKey, request_: KeyedRequest) -> None:
    broken, good, first, second = Generator(whole=False), Generator(), Caller(), Caller()
    broken.go_on.set()
    good.go_on.set()
    await start(process, request_, first, broken)
    await start(process, request_, second, good)
    assert second.body == b"one two"
    assert not second.is_replayed
    assert (broken.runs, good.runs) == (1, 1)


async def test_when_the_only_caller_leaves_the_generation_ends_and_the_key_is_free(
    process: OncePerKey, another: OncePerKey, request_: KeyedRequest
) -> None:
    generator, _, task = await begin(process, request_)
    second = Caller()
    await leave(task)
    assert generator.cancelled == 1
    again = Generator()
    again.go_on.set()
    await start(another, request_, second, again)
    assert second.body == b"one two"


async def test_who_comes_back_at_once_finds_the_answer_still_on_its_way(
    process: OncePerKey, request_: KeyedRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(once, "LINGER_S", 30.0)
    generator, first, again = Generator(), Caller(), Caller()
    task = start(process, request_, first, generator)
    await until(lambda: first.body == b"one ")
    task.cancel()
    await asyncio.sleep(0.05)
    retry = start(process, request_, again, generator)
    await until(lambda: again.body == b"one ")
    await asyncio.gather(task, return_exceptions=True)
    generator.go_on.set()
    assert await retry == "joined"
    assert again.body == b"one two"
    assert (generator.runs, generator.cancelled) == (1, 0)


async def test_when_the_only_caller_leaves_another_process_still_hears_the_answer(
    process: OncePerKey, another: OncePerKey, request_: KeyedRequest
) -> None:
    generator, _, task = await begin(process, request_)
    second = Caller()
    listening = start(another, request_, second, generator)
    await until(lambda: second.body == b"one ")
    task.cancel()
    await asyncio.sleep(once.LINGER_S + 0.2)
    generator.go_on.set()
    assert await listening == "joined"
    assert second.body == b"one two"
    assert (generator.runs, generator.cancelled) == (1, 0)
    await asyncio.gather(task, return_exceptions=True)


async def test_when_one_of_two_callers_leaves_the_other_gets_the_answer(
    process: OncePerKey, request_: KeyedRequest
) -> None:
    generator, _, task = await begin(process, request_)
    second = Caller()
    tasks = [task, start(process, request_, second, generator)]
    await until(lambda: second.body == b"one ")
    await leave(tasks[0])
    generator.go_on.set()
    await tasks[1]
    assert second.body == b"one two"
    assert generator.cancelled == 0


async def test_leaving_at_any_moment_leaves_no_key_behind(
    process: OncePerKey, another: OncePerKey, request_: KeyedRequest
) -> None:
    for turns in range(40):
        generator = Generator()
        task = start(process, request_, Caller(), generator)
        for _ in range(turns):
            await asyncio.sleep(0)
        await leave(task)
    assert (await ask(another, request_)).body == b"one two"


async def test_an_attempt_that_was_overtaken_stops(
    store: SharedStore, request_: KeyedRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process stood still for longer than its lease."""
    monkeypatch.setattr(once, "RENEW_S", 1.0)
    stalled = OncePerKey(SharedJournal(store, lease_s=0.05), process="one")
    other = OncePerKey(SharedJournal(store), process="two")
    old, new, first, second = Generator(), Generator(), Caller(), Caller()
    task = start(stalled, request_, first, old)
    await until(lambda: first.body == b"one ")
    await asyncio.sleep(0.1)
    running = start(other, request_, second, new)
    await until(lambda: second.body == b"one ")
    with pytest.raises(InFlightElsewhereError):
        await task
    assert old.cancelled == 1
    new.go_on.set()
    await running
    assert second.body == b"one two"


async def test_an_answer_too_large_to_keep_is_given_once(
    process: OncePerKey, request_: KeyedRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording.Recording.__init__, "__kwdefaults__", {"limit": 5})
    generator, caller = Generator(), Caller()
    generator.go_on.set()
    await start(process, request_, caller, generator)
    assert caller.body == b"one two"
    with pytest.raises(TooLargeToReplayError):
        await start(process, request_, Caller(), generator)
    assert generator.runs == 1


async def test_a_large_answer_waits_for_its_reader_instead_of_filling_the_memory() -> None:
    tape, sent, gate = recording.Recording(limit=100), 0, asyncio.Event()

    async def write() -> None:
        nonlocal sent
        await tape.send(HEAD)
        for _ in range(1000):
            await tape.send({"type": "http.response.body", "body": b"x" * 10, "more_body": True})
            sent += 10
        await tape.send({"type": "http.response.body", "body": b"", "more_body": False})

    got = Caller()

    async def slow(message: Message) -> None:
        await gate.wait()
        await got.send(message)

    reading = asyncio.ensure_future(tape.follow(slow, list))
    writing = asyncio.ensure_future(write())
    await asyncio.sleep(0.05)
    assert sent <= 120
    gate.set()
    await asyncio.gather(reading, writing)
    assert len(got.body) == 10_000


async def test_while_the_store_is_down_keyed_requests_are_refused_and_generate_nothing(
    tmp_path: Path, request_: KeyedRequest
) -> None:
    server = Valkey(tmp_path)
    server.start()
    connected = SharedStore(server.url)
    service, generator = OncePerKey(SharedJournal(connected), process="one"), Generator()
    server.kill()
    with pytest.raises(StoreDownError, match="Nothing was generated"):
        await start(service, request_, Caller(), generator)
    assert generator.runs == 0
    await connected.aclose()


async def test_an_answer_that_ends_while_the_store_restarts_is_kept_all_the_same(
    tmp_path: Path, request_: KeyedRequest
) -> None:
    server = Valkey(tmp_path)
    server.start()
    connected = SharedStore(server.url)
    service, other = (OncePerKey(SharedJournal(connected), process=name) for name in ("one", "two"))
    generator, _, task = await begin(service, request_)
    joined = Caller()
    server.kill()
    generator.go_on.set()
    await task
    await start(service, request_, joined, generator)
    assert joined.body == b"one two"
    server.start()

    async def replayed() -> bool:
        caller = Caller()
        try:
            await start(other, request_, caller, Generator(refuses=OverloadedError("not here")))
        except (StoreDownError, OverloadedError):
            return False
        return caller.body == b"one two"

    await eventually(replayed)
    assert generator.runs == 1
    await connected.aclose()
    server.kill()


async def eventually(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await holds():  # noqa: ASYNC110 - what is awaited sets no event
            await asyncio.sleep(0.05)


async def test_without_a_store_one_process_still_answers_once(request_: KeyedRequest) -> None:
    service, generator = OncePerKey(LocalJournal(), process="one"), Generator()
    generator.go_on.set()
    for _ in range(3):
        caller = Caller()
        await start(service, request_, caller, generator)
        assert caller.body == b"one two"
    assert generator.runs == 1


async def test_closing_frees_the_keys_of_what_still_runs(
    process: OncePerKey, another: OncePerKey, request_: KeyedRequest
) -> None:
    _, _, task = await begin(process, request_)
    await process.aclose()
    await asyncio.gather(task, return_exceptions=True)
    assert (await ask(another, request_)).body == b"one two"
