"""Texts are stored once more, smaller and nearer to a whole copy, and nobody who reads or saves can tell."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from accounts.models import User
from core import metrics
from core.errors import StorageUnavailable
from playground import freezing, services
from playground.bodies import chains, objects, repacking, store, unstored
from playground.bodies.scrubbing import scrub_prompt
from playground.models import AS_SAVED, Body, Prompt, Version, object_key
from playground.services import SavedVersion, library, sweeping
from playground.services import repacking as turns
from playground.spec import parse
from tests.playground.uploading import keys, noise, sha256, store_down, upload

pytestmark = pytest.mark.django_db
Save = Callable[..., SavedVersion]

SOON, LATER = timedelta(minutes=11), timedelta(days=2)


def halves(count: int, length: int = 120_000) -> list[bytes]:
    """A text and `count` versions whose second half is written anew each time."""
    first = noise(length, seed=100)
    return [first] + [first[: length // 2] + noise(length // 2, seed=200 + number) for number in range(count)]


@pytest.fixture(autouse=True)
def from_the_start() -> None:
    cache.delete("sweep:bodies/")


@pytest.fixture
def history(save: Save) -> list[bytes]:
    """A whole copy and six rewrites, saved one on the other. Nothing of it is small enough for a row."""
    texts = halves(6)
    for text in texts:
        save(text=text.decode())
    unstored.store_objects()
    return texts


def body_of(text: bytes) -> Body:
    return Body.objects.get(sha256=bytes.fromhex(sha256(text)))


def hops(text: bytes) -> int:
    return len(chains.with_bases([body_of(text).pk])) - 1


def texts_of(prompt: Prompt) -> list[bytes]:
    versions = Version.objects.filter(prompt=prompt).order_by("number")
    return [freezing.thaw(version)["messages"][0]["content"].encode() for version in versions]


def turn(after: timedelta = SOON) -> int:
    return turns.repack_bodies(now=timezone.now() + after)


def sweep() -> int:
    cache.delete("sweep:bodies/")
    return sweeping.sweep_objects(now=timezone.now() + LATER)


def named(prompt: Prompt) -> list[str]:
    return sorted(body.object_key for body in Body.objects.filter(prompt=prompt))


def test_rewrites_come_to_rest_near_the_whole_copy_and_take_less_room(history: list[bytes], prompt: Prompt) -> None:
    before = sum(Body.objects.values_list("stored_length", flat=True))
    assert max(hops(text) for text in history) > 1
    assert turn() == len(history)
    assert max(hops(text) for text in history) == 1
    assert sum(Body.objects.values_list("stored_length", flat=True)) < before
    assert texts_of(prompt) == history


def test_each_text_is_stored_anew_once(history: list[bytes], prompt: Prompt) -> None:
    assert (turn(), turn()) == (len(history), 0)
    rows = list(Body.objects.order_by("pk").values())
    assert not any(repacking.repack(body.pk) for body in Body.objects.exclude(packing=AS_SAVED))
    assert list(Body.objects.order_by("pk").values()) == rows


def test_the_old_objects_are_swept_and_the_new_ones_are_not(history: list[bytes], prompt: Prompt) -> None:
    old = set(named(prompt))
    turn()
    assert old < set(keys(f"bodies/{prompt.pk}/")), "nothing is deleted by the repacking"
    assert sweep() >= len(history)
    assert sorted(keys(f"bodies/{prompt.pk}/")) == named(prompt)
    assert texts_of(prompt) == history


pieces = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
changes = st.tuples(st.floats(0, 1), st.sampled_from(["insert", "rewrite", "cut"]), pieces, st.integers(1, 4))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(changes, min_size=1, max_size=7), st.integers(0, 6))
def test_any_history_reads_back_the_same_before_during_and_after(
    owner: User, raw_spec: dict[str, Any], steps: list[tuple[float, str, str, int]], turn_at: int
) -> None:
    """Any text in any place; each change goes out from one of the last four versions, so there are branches."""
    prompt = services.create_prompt(owner=owner, name="Any")
    texts = [noise(50_000).decode() + "\r\n\ufeff\0e\u0301"]
    versions: list[Version] = []

    def save(text: str, parent: Version | None) -> None:
        spec = parse({**raw_spec, "messages": [{"role": "user", "content": text}]})
        versions.append(services.save_version(author=owner, prompt=prompt, spec=spec, parent=parent).version)

    save(texts[0], None)
    for number, (place, kind, piece, back) in enumerate(steps):
        at = max(0, len(texts) - back)
        text, cut = texts[at], int(place * len(texts[at]))
        if kind == "rewrite":
            piece += noise(len(text) - cut, seed=number).decode()
        texts.append((text[:cut] + piece + ("" if kind == "rewrite" else text[cut + (kind == "cut") * 500 :])) or "x")
        save(texts[-1], versions[at])
        if number == turn_at:
            turn()
    wanted = [text.encode() for text in texts]
    assert texts_of(prompt) == wanted
    turn()
    assert not Body.objects.filter(prompt=prompt, packing=AS_SAVED, inline=None).exists()
    sweep()
    assert texts_of(prompt) == wanted
    assert [found for _, findings in scrub_prompt(prompt.pk, repair=False) for found in findings] == []


def test_saves_go_on_upon_what_was_repacked(history: list[bytes], save: Save, prompt: Prompt) -> None:
    turn()
    sweep()
    edited = history[-1][:50_000] + b"edit" + history[-1][50_000:]
    save(text=edited.decode())
    assert body_of(edited).stored_length < 1000
    assert texts_of(prompt) == [*history, edited]


def test_texts_rest_before_they_are_repacked(history: list[bytes]) -> None:
    assert (turn(timedelta(minutes=9)), turn()) == (0, len(history))


def test_what_is_in_its_row_or_in_no_version_stays_as_it_is(save: Save, owner_api: APIClient, prompt: Prompt) -> None:
    save(text="small")
    upload(owner_api, prompt, noise(60_000))
    rows = list(Body.objects.order_by("pk").values())
    assert turn() == 0
    assert not any(repacking.repack(body.pk) for body in Body.objects.filter(unreferenced_since__isnull=False))
    assert list(Body.objects.order_by("pk").values()) == rows


def test_a_text_that_is_too_long_stays_as_it_is(history: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repacking, "LONGEST_BYTES", len(history[0]) - 1)
    assert turn() == 0
    assert not repacking.repack(body_of(history[0]).pk)


def test_a_turn_takes_a_few_and_the_next_goes_on(history: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "BYTES_A_TURN", 3 * len(history[0]))
    assert [turn() for _ in range(4)] == [3, 3, 1, 0]


def test_one_turn_at_a_time_is_taken_in_a_process(history: list[bytes]) -> None:
    with turns._ONE_TURN:
        assert turn() == 0
    assert turn() == len(history)


# --- reading meanwhile --------------------------------------------------------------------------------------------


def test_a_read_that_knows_the_old_row_finds_the_new_object(history: list[bytes]) -> None:
    body = body_of(history[-1])
    known = chains.with_bases([body.pk])
    turn()
    sweep()
    with pytest.raises(objects.ObjectMissing):
        objects.get(known[-1].object_key)
    assert chains.decode_all(known, {body.pk}) == {body.pk: history[-1]}


def test_a_text_that_is_lost_is_still_said_to_be_damaged(history: list[bytes]) -> None:
    turn()
    body = body_of(history[-1])
    objects.delete(body.object_key)
    before = metrics.BODY_CORRUPT._value.get()
    with pytest.raises(StorageUnavailable) as told:
        chains.decode_all(chains.with_bases([body.pk]), {body.pk})
    assert told.value.code == "body_unreadable"
    assert metrics.BODY_CORRUPT._value.get() == before + 1


@contextmanager
def readers(prompt: Prompt, texts: list[bytes]) -> Iterator[list[str]]:
    """Two threads read all texts again and again, at least once; what went wrong is in the list after the block."""
    names, over = {sha256(text): text for text in texts}, threading.Event()
    wrong: list[str] = []

    def read() -> None:
        try:
            again = True
            while again:
                again = not over.is_set()
                if store.read_bytes(prompt_id=prompt.pk, sha256s=list(names)) != names:
                    wrong.append("other bytes")
        except StorageUnavailable as error:
            wrong.append(error.code)
        finally:
            connection.close()

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield wrong
    finally:
        over.set()
        for thread in threads:
            thread.join(60)


@pytest.mark.django_db(transaction=True)
def test_readers_notice_nothing_while_texts_are_repacked_and_swept(save: Save, prompt: Prompt) -> None:
    texts = halves(6)
    for text in texts:
        save(text=text.decode())
    unstored.store_objects()
    with readers(prompt, texts) as wrong:
        for text in texts:
            assert repacking.repack(body_of(text).pk)
            sweep()
    assert wrong == []
    assert sorted(keys(f"bodies/{prompt.pk}/")) == named(prompt)


def test_a_scrub_meanwhile_finds_no_damage(history: list[bytes], prompt: Prompt) -> None:
    scrub: Iterator[Any] = scrub_prompt(prompt.pk, repair=True)
    seen = [next(scrub), next(scrub)]
    turn()
    sweep()
    seen += list(scrub)
    assert {body.pk for body, _ in seen} == set(Body.objects.values_list("pk", flat=True))
    assert [found for _, findings in seen for found in findings] == []
    assert texts_of(prompt) == history


def test_a_text_repacked_between_a_scrub_s_two_looks_is_looked_at_again(
    history: list[bytes], prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    last, get = body_of(history[-1]), objects.get
    done: list[bool] = []

    def get_late(key: str) -> bytes:
        if key == last.object_key and not done:
            done.append(False)
            done[0] = repacking.repack(last.pk)
            sweep()
        return get(key)

    before = metrics.BODY_CORRUPT._value.get()
    monkeypatch.setattr(objects, "get", get_late)
    assert [found for _, findings in scrub_prompt(prompt.pk, repair=True) for found in findings] == []
    assert (done, metrics.BODY_CORRUPT._value.get()) == ([True], before)


# --- stopped, twice at once, refused ------------------------------------------------------------------------------


class Killed(BaseException):
    """The worker is gone: no handler of an error runs."""


def test_killed_between_the_object_and_the_row_only_an_orphan_is_left(
    history: list[bytes], prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = list(Body.objects.order_by("pk").values())

    def killed(*given: Any, **options: Any) -> bool:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(repacking, "_switch", killed)
        with pytest.raises(Killed):
            repacking.repack(body_of(history[3]).pk)
    assert list(Body.objects.order_by("pk").values()) == rows
    (orphan,) = set(keys(f"bodies/{prompt.pk}/")) - set(named(prompt))
    assert sweeping.sweep_objects(now=timezone.now() + timedelta(hours=23)) == 0
    assert orphan in keys(f"bodies/{prompt.pk}/")
    sweep()
    assert sorted(keys(f"bodies/{prompt.pk}/")) == named(prompt)
    assert turn() == len(history)
    assert texts_of(prompt) == history


def test_of_two_repackings_at_once_one_wins_and_the_other_takes_its_object_away(
    history: list[bytes], prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    pk, switch = body_of(history[3]).pk, repacking._switch
    results: list[bool] = []

    def second_first(*given: Any, **options: Any) -> bool:
        monkeypatch.setattr(repacking, "_switch", switch)
        results.append(repacking.repack(pk))
        return switch(*given, **options)

    monkeypatch.setattr(repacking, "_switch", second_first)
    results.append(repacking.repack(pk))
    assert results == [True, False]
    kept = Body.objects.get(pk=pk)
    both = {key for key in keys(f"bodies/{prompt.pk}/") if str(pk) in key}
    assert both == {kept.object_key, object_key(prompt.pk, pk)}
    assert texts_of(prompt) == history


def test_moves_at_once_make_no_circle(history: list[bytes], prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text above is moved after the one below has chosen it."""
    below = body_of(history[-1])
    above, switch = below.base_id, repacking._switch
    assert above is not None

    def other_first(*given: Any, **options: Any) -> bool:
        monkeypatch.setattr(repacking, "_switch", switch)
        assert repacking.repack(above)
        return switch(*given, **options)

    monkeypatch.setattr(repacking, "_switch", other_first)
    assert repacking.repack(below.pk)
    turn()
    sweep()
    assert texts_of(prompt) == history


def test_a_prompt_erased_meanwhile_keeps_no_object(
    history: list[bytes], prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    pk, switch = body_of(history[3]).pk, repacking._switch

    def erase_first(*given: Any, **options: Any) -> bool:
        services.trash_prompt(prompt=prompt)
        assert library.erase(prompt_id=prompt.pk, trashed_before=timezone.now())
        library.delete_objects(prompt_id=prompt.pk)
        return switch(*given, **options)

    monkeypatch.setattr(repacking, "_switch", erase_first)
    assert not repacking.repack(pk)
    library.delete_objects(prompt_id=prompt.pk)
    assert keys(f"bodies/{prompt.pk}/") == []


def test_an_object_that_comes_back_otherwise_is_not_taken(
    history: list[bytes], prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = objects.put
    monkeypatch.setattr(objects, "put", lambda key, data: put(key, data[:-1]))
    with pytest.raises(StorageUnavailable):
        repacking.repack(body_of(history[3]).pk)
    assert turn() == 0
    assert set(Body.objects.values_list("packing", flat=True)) == {AS_SAVED}
    assert texts_of(prompt) == history


def test_a_store_that_is_down_ends_the_turn_and_the_next_goes_on(history: list[bytes]) -> None:
    with store_down():
        assert turn() == 0
    assert turn() == len(history)


# --- damage -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["missing", "corrupt"])
def test_damage_is_reported_and_neither_touched_nor_spread(
    history: list[bytes], save: Save, prompt: Prompt, damage: str
) -> None:
    draw = random.Random(9).randbytes(40_000).hex()
    save(text=draw)
    bad = body_of(next(text for text in history[1:] if body_of(text).deltas.exists()))
    resting = {body_of(text).pk for text in history if bad in chains.with_bases([body_of(text).pk])}
    assert 1 < len(resting) < len(history)
    rows = list(Body.objects.filter(pk__in=resting).order_by("pk").values())
    if damage == "missing":
        objects.delete(bad.object_key)
    else:
        objects.put(bad.object_key, b"rotten")
    before = metrics.BODY_CORRUPT._value.get()
    assert turn() == len(history) + 1 - len(resting)
    assert metrics.BODY_CORRUPT._value.get() == before + len(resting)
    assert list(Body.objects.filter(pk__in=resting).order_by("pk").values()) == rows
    assert turn() == 0, "set aside"
    assert metrics.BODY_CORRUPT._value.get() == before + len(resting)
    readable = [text for text in history if body_of(text).pk not in resting]
    read = store.read_bytes(prompt_id=prompt.pk, sha256s=[sha256(text) for text in readable])
    assert read == {sha256(text): text for text in readable}


def test_a_text_that_was_mended_is_repacked_a_day_later(history: list[bytes]) -> None:
    bad = body_of(history[-1])
    good = objects.get(bad.object_key)
    objects.put(bad.object_key, b"rotten")
    turn()
    objects.put(bad.object_key, good)
    assert turn() == 0
    cache.delete(f"repack:{bad.pk}")
    assert turn() == 1
