"""One thread reads the streams of all runs that are followed: each reader gets its own entries, in order, once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis import Redis

from core.redis import client
from inference_client import entries
from inference_client.entries import Away, Entry, EntryReader, Subscription, entry_reader, place_of

KEYS = [f"run:{name}:events" for name in ("a", "b", "c")]


@pytest.fixture(autouse=True)
def streams() -> Iterator[Redis]:
    redis = client()
    redis.delete(*KEYS)
    yield redis
    redis.delete(*KEYS)


def add(key: str, *words: str) -> list[str]:
    return [cast(bytes, client().xadd(key, {"word": word})).decode() for word in words]


def words(found: list[Entry]) -> list[str]:
    return [fields[b"word"].decode() for _, fields in found]


async def taken(subscription: Subscription, count: int) -> list[str]:
    found: list[str] = []
    give_up_at = time.monotonic() + 20
    while len(found) < count and time.monotonic() < give_up_at:
        found += words(await subscription.take(1))
    return found


async def test_readers_of_several_streams_each_get_their_own() -> None:
    reader = entry_reader()
    followed = [reader.follow(key, "0-0") for key in KEYS]
    for key in KEYS:
        add(key, f"{key} 1", f"{key} 2")
    assert [await taken(each, 2) for each in followed] == [[f"{key} 1", f"{key} 2"] for key in KEYS]
    for each in followed:
        reader.leave(each)


async def test_readers_of_one_stream_go_on_each_from_its_own_place() -> None:
    reader = entry_reader()
    ids = add(KEYS[0], "one", "two", "three")
    behind, ahead = reader.follow(KEYS[0], "0-0"), reader.follow(KEYS[0], ids[1])
    assert (await taken(behind, 3), await taken(ahead, 1)) == (["one", "two", "three"], ["three"])
    add(KEYS[0], "four")
    assert (await taken(behind, 1), await taken(ahead, 1)) == (["four"], ["four"])
    reader.leave(behind)
    reader.leave(ahead)


async def test_a_new_reader_does_not_wait_for_the_read_that_is_under_way() -> None:
    """It would end after a second: nothing comes in the stream that it asks for."""
    reader = entry_reader()
    quiet = reader.follow(KEYS[0], "0-0")
    await asyncio.sleep(0.2)
    waits = []
    for number in range(5):
        late = reader.follow(KEYS[1], "0-0")
        add(KEYS[1], str(number))
        asked_at = time.monotonic()
        await asyncio.to_thread(reader.hurry)
        assert await taken(late, 1)
        waits.append(time.monotonic() - asked_at)
        reader.leave(late)
    reader.leave(quiet)
    assert min(waits) < 0.5


async def test_nothing_comes_of_a_stream_in_which_nothing_is() -> None:
    reader = entry_reader()
    subscription = reader.follow(KEYS[0], "0-0")
    assert await subscription.take(0.05) == []
    reader.leave(subscription)


async def test_a_reader_that_takes_nothing_is_not_read_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "MOST_HELD", 10)
    monkeypatch.setattr(entries, "BATCH", 5)
    reader = EntryReader()
    slow, quick = reader.follow(KEYS[0], "0-0"), reader.follow(KEYS[1], "0-0")
    add(KEYS[0], *map(str, range(100)))
    add(KEYS[1], *map(str, range(100)))
    assert await taken(quick, 100) == [str(number) for number in range(100)]
    assert slow.given <= 15
    assert await taken(slow, 100) == [str(number) for number in range(100)]
    reader.leave(slow)
    reader.leave(quick)


async def test_a_redis_that_is_away_is_told_and_read_again_when_it_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from django.conf import settings

    there = settings.REDIS_URL
    monkeypatch.setattr(settings, "REDIS_URL", "redis://127.0.0.1:1/0")
    reader = EntryReader()
    subscription = reader.follow(KEYS[0], "0-0")
    with pytest.raises(Away):
        await subscription.take(10)
    add(KEYS[0], "kept")
    monkeypatch.setattr(settings, "REDIS_URL", there)

    async def read() -> list[str]:
        while True:
            try:
                return await taken(subscription, 1)
            except Away:
                continue

    assert await asyncio.wait_for(read(), 20) == ["kept"]
    reader.leave(subscription)


@given(st.lists(st.tuples(st.integers(0, 2**63), st.integers(0, 2**63)), max_size=5))
def test_places_are_in_the_order_of_ids(places: list[tuple[int, int]]) -> None:
    assert sorted(places) == [place_of(f"{ms}-{number}") for ms, number in sorted(places)]
