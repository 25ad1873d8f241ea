"""The states of an idempotency key, and the scripts that keep them in the store."""

import asyncio
import json
import secrets

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference_backend.dialect.schema import parse_messages_request
from inference_backend.errors import InvalidRequestError
from inference_backend.idempotency.journal import (
    CLAIM,
    FINISH,
    RELEASE,
    RENEW,
    Journal,
    KeptAnswer,
    LocalJournal,
    SharedJournal,
)
from inference_backend.idempotency.key import KeyedRequest, identify_request, read_idempotency_key
from inference_backend.idempotency.transitions import End, Entry, claim, finish, release, renew
from inference_backend.store import SharedStore

LEASE = 10.0
#: Of attempts, each for its request.
FENCES = {"a:1": "this body", "a:2": "this body", "b:1": "this body", "b:2": "another"}
Step = tuple[str, str, float]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["claim", "renew", "done", "failed", "too_large", "release"]),
        st.sampled_from(sorted(FENCES)),
        st.sampled_from([0.0, 1.0, 9.0, 11.0]),
    ),
    max_size=40,
)
ENDS: dict[str, End] = {"done": "done", "failed": "failed", "too_large": "too_large"}


def take(entry: Entry | None, step: str, fence: str, now: float) -> tuple[object, Entry | None]:
    fingerprint = FENCES[fence]
    if step == "claim":
        return claim(entry, fingerprint=fingerprint, fence=fence, now=now, lease_s=LEASE)
    if step == "renew":
        return renew(entry, fingerprint=fingerprint, fence=fence, now=now, lease_s=LEASE)
    if step == "release":
        return None, release(entry, fence=fence)
    return finish(entry, fingerprint=fingerprint, fence=fence, end=ENDS[step])


@given(steps=STEPS)
@settings(max_examples=400, deadline=None)
def test_only_the_attempt_that_holds_a_key_changes_it(steps: list[Step]) -> None:
    entry: Entry | None = None
    now = 0.0
    for step, fence, pause in steps:
        now += pause
        before = entry
        outcome, entry = take(before, step, fence, now)
        if before is None:
            continue
        lives = before.state == "in_flight" and before.lease_until > now
        if before.state in {"done", "too_large"}:
            assert entry == before
        if lives and before.fence != fence:
            assert entry == before
        if outcome == "claimed":
            assert not lives or before.fence == fence
            assert before.fingerprint == FENCES[fence]
        if step == "claim" and before.fingerprint != FENCES[fence]:
            assert outcome == "conflict"


@given(steps=STEPS)
@settings(max_examples=40, deadline=None)
def test_the_scripts_in_the_store_take_the_same_steps(redis_url: str, steps: list[Step]) -> None:
    async def compare() -> None:
        store, key = SharedStore(redis_url), f"idempotency:{secrets.token_hex(8)}"
        scripts = {name: store.script(text) for name, text in (("claim", CLAIM), ("renew", RENEW))}
        end, free = store.script(FINISH), store.script(RELEASE)
        look = store.script("return redis.call('HMGET', KEYS[1], 'fingerprint', 'state', 'fence', 'lease_until')")
        entry: Entry | None = None
        now = 1000.0
        for step, fence, pause in steps:
            now += pause
            fingerprint = FENCES[fence]
            outcome, entry = take(entry, step, fence, now)
            if step in scripts:
                [got, *_] = await scripts[step].run(keys=[key], args=[fingerprint, fence, LEASE, 60_000, now])
                assert outcome == (got.decode() if step == "claim" else bool(got))
            elif step == "release":
                await free.run(keys=[key], args=[fence])
            else:
                [kept] = await end.run(keys=[key], args=[fingerprint, fence, step, 60_000, "head", "body"])
                assert outcome == kept.decode()
            stored = await look.run(keys=[key], args=[])
            if entry is None:
                assert stored[0] is None
            else:
                assert [field.decode() for field in stored[:3]] == [entry.fingerprint, entry.state, entry.fence]
                assert float(stored[3]) == pytest.approx(entry.lease_until)
        await store.aclose()

    asyncio.run(compare())


@pytest.fixture(params=["shared", "local"])
async def journal(request: pytest.FixtureRequest, redis_url: str) -> Journal:
    return SharedJournal(SharedStore(redis_url)) if request.param == "shared" else LocalJournal()


def keyed(fingerprint: str = "body") -> KeyedRequest:
    return KeyedRequest(name=secrets.token_hex(16), fingerprint=fingerprint)


async def test_an_answer_comes_back_as_it_was(journal: Journal) -> None:
    request = keyed()
    answer = KeptAnswer(status=200, headers=(("content-type", "text/x"),), body="é\n\n".encode() * 50_000)
    assert (await journal.claim(request, "f:1")).verdict == "claimed"
    assert await journal.finish(request, "f:1", "done", answer) == "kept"
    again = await journal.claim(request, "f:2")
    assert (again.verdict, again.answer) == ("done", answer)


async def test_the_cleanup_of_an_old_attempt_does_not_free_the_key_of_the_new_one(journal: Journal) -> None:
    request = keyed()
    await journal.claim(request, "f:1")
    await journal.release(request, "f:1")
    assert (await journal.claim(request, "f:2")).verdict == "claimed"
    await journal.release(request, "f:1")
    assert await journal.finish(request, "f:1", "failed", None) == "busy"
    assert (await journal.claim(request, "f:3")).verdict == "busy"


async def test_a_failed_attempt_lets_the_next_one_in(journal: Journal) -> None:
    request = keyed()
    await journal.claim(request, "f:1")
    await journal.finish(request, "f:1", "failed", None)
    assert (await journal.claim(request, "f:2")).verdict == "claimed"


async def test_a_whole_answer_stays_where_the_attempt_that_overtook_it_broke_off(journal: Journal) -> None:
    request, answer = keyed(), KeptAnswer(status=200, headers=(), body=b"whole")
    await journal.claim(request, "f:2")
    assert await journal.finish(request, "f:1", "done", answer) == "busy"
    await journal.finish(request, "f:2", "failed", None)
    assert await journal.finish(request, "f:1", "done", answer) == "kept"
    assert (await journal.claim(request, "f:3")).answer == answer


BODY = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}


def identify(content: object, *, account: str = "ada", key: str = "k", version: str = "v") -> KeyedRequest:
    request = parse_messages_request(json.dumps(content, indent=1).encode())
    return identify_request(account=account, key=key, version=version, request=request)


def test_how_a_request_is_written_makes_no_difference_and_everything_else_does() -> None:
    first = identify(BODY)
    assert identify(dict(reversed(BODY.items()))) == first
    assert identify(BODY | {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]}) == first
    assert identify(BODY | {"max_tokens": 6}).fingerprint != first.fingerprint
    assert identify(BODY | {"stream": True}).fingerprint != first.fingerprint
    assert identify(BODY, version="w").fingerprint != first.fingerprint
    assert identify(BODY, account="bob").name != first.name
    assert identify(BODY, account="adak", key="") != identify(BODY, account="ada", key="k")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(first=JSON, second=JSON)
@settings(max_examples=300, deadline=None)
def test_two_bodies_have_one_fingerprint_exactly_when_they_are_the_same_json(first: object, second: object) -> None:
    def fingerprint(value: object) -> str:
        return identify_request(account="a", key="k", version="v", request=value).fingerprint

    def canonical(value: object) -> str:
        return json.dumps(value, sort_keys=True)

    same = fingerprint(first) == fingerprint(second)
    assert same == (canonical(first) == canonical(second))


@pytest.mark.parametrize("key", ["", " ", "a b", "é", "x" * 256, "tab\there"])
def test_a_key_that_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(InvalidRequestError, match="visible ASCII"):
        read_idempotency_key({"idempotency-key": key})


def test_no_key_is_fine() -> None:
    assert read_idempotency_key({}) is None
    assert read_idempotency_key({"idempotency-key": "0199-run"}) == "0199-run"
