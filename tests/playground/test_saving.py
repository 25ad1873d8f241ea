"""Saving: nothing is refused because somebody else saved, nothing is overwritten, nothing is doubled."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from accounts.models import User
from core.errors import IdempotencyKeyReused, InvalidInput, StorageUnavailable
from playground import freezing, services
from playground.bodies import chains, objects, store
from playground.bodies.held import held_texts
from playground.models import Body, Branch, BranchMove, Prompt, Version
from playground.services import SavedVersion
from playground.spec import parse
from tests.playground.uploading import sha256

Save = Callable[..., SavedVersion]

pytestmark = pytest.mark.django_db


def test_the_first_version_starts_main(save: Save, prompt: Prompt) -> None:
    saved = save(message="first")
    assert (saved.version.number, saved.version.parent, saved.branch, saved.forked) == (1, None, "main", False)
    assert Branch.objects.get(prompt=prompt, name="main").head == saved.version


def test_the_next_version_follows_the_head(save: Save) -> None:
    first = save().version
    second = save(text="Hello {{name}}!")
    assert (second.version.number, second.version.parent, second.branch) == (2, first, "main")


def test_a_save_on_an_older_version_is_kept_on_a_sibling_branch(save: Save, prompt: Prompt) -> None:
    first = save().version
    save(text="theirs", parent=first)
    mine = save(text="mine", parent=first)
    assert (mine.branch, mine.forked, mine.version.parent) == ("main-3", True, first)
    assert Branch.objects.get(prompt=prompt, name="main").head.number == 2


def test_a_new_branch_starts_at_any_version(save: Save) -> None:
    first = save().version
    save(text="second")
    tried = save(text="idea", parent=first, branch="idea")
    assert (tried.branch, tried.forked, tried.version.parent) == ("idea", False, first)


def test_a_new_branch_without_a_parent_starts_at_main(save: Save) -> None:
    first = save().version
    assert save(text="idea", branch="idea").version.parent == first


def test_each_move_of_a_branch_is_a_row(save: Save, owner: User) -> None:
    first, second = save().version, save(text="b").version
    moves = BranchMove.objects.order_by("id").values_list("from_version", "to_version", "actor")
    assert list(moves) == [(None, first.pk, owner.pk), (first.pk, second.pk, owner.pk)]


@pytest.mark.parametrize("name", ["3", "latest", "", " ", "a\0b", "x" * 101])
def test_a_branch_cannot_have_the_name(save: Save, name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        save(branch=name)
    assert refused.value.field == "branch"


def test_equal_content_has_an_equal_digest_and_costs_no_second_text(save: Save, prompt: Prompt) -> None:
    first, second = save().version, save().version
    assert first.digest == second.digest
    assert Body.objects.filter(prompt=prompt).count() == 2


def test_the_digest_does_not_depend_on_how_numbers_are_written(
    prompt: Prompt, owner: User, raw_spec: dict[str, Any]
) -> None:
    digests = {
        services.save_version(author=owner, prompt=prompt, spec=parse({**raw_spec, "temperature": t})).version.digest
        for t in (1, 1.0)
    }
    assert len(digests) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a\r\nb\rc\n",
        "\ufeffx",
        "nul\0",
        "e\u0301",
        "👍🏽",
        "blank  \t\n\n ",
        "{{name}} {{{{",
        "x" * 100_000,
        "\u2028",
    ],
)
def test_a_text_comes_back_as_it_was(save: Save, text: str) -> None:
    version = Version.objects.get(pk=save(text=text).version.pk)
    assert freezing.thaw(version)["messages"][0]["content"] == text


def noise(length: int) -> str:
    """Seeded characters that zstd cannot bring under 16 KiB."""
    return "".join(map(chr, random.Random(3).choices(range(0x4E00, 0x9000), k=length)))


def test_a_text_over_16_kib_when_packed_is_read_from_the_store(save: Save) -> None:
    text = noise(60_000)
    version = save(text=text).version
    assert Body.objects.filter(inline=None).count() == 1
    held_texts.forget()
    assert freezing.thaw(version)["messages"][0]["content"] == text


@pytest.fixture
def damaged(save: Save) -> Version:
    """Version 2 of two, whose text is rubbish in the store."""
    save(text="fine")
    version = save(text=noise(60_000)).version
    objects.put(Body.objects.get(inline=None).object_key, b"rubbish")
    held_texts.forget()
    return version


def test_a_damaged_text_is_told_and_other_versions_stay_readable(damaged: Version) -> None:
    with pytest.raises(StorageUnavailable) as told:
        freezing.thaw(damaged)
    assert told.value.code == "body_unreadable"
    assert damaged.parent is not None
    assert freezing.thaw(damaged.parent)["messages"][0]["content"] == "fine"


def test_a_damaged_text_keeps_nobody_from_saving_on_top(damaged: Version, save: Save) -> None:
    mended = save(text=noise(60_000) + "!").version
    assert mended.parent == damaged
    assert freezing.thaw(mended)["messages"][0]["content"] == noise(60_000) + "!"


def test_a_text_held_in_memory_for_a_while_is_read_again_before_another_rests_on_it(
    damaged: Version, save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = noise(60_000).encode()
    held_texts.hold((damaged.prompt_id, sha256(text)), text)
    monkeypatch.setattr(store, "TRUSTED_S", 0.0)
    mended = save(text=noise(60_000) + "!").version
    held_texts.forget()
    assert freezing.thaw(mended)["messages"][0]["content"] == noise(60_000) + "!"


def test_a_text_named_by_its_hash_must_be_of_this_prompt(save: Save, owner: User, raw_spec: dict[str, Any]) -> None:
    frozen = save(text="secret of the first prompt").version.frozen
    reference = frozen["messages"][0]["content"]
    spec = parse({**raw_spec, "messages": [{"role": "user", "content": reference}]})
    other = services.create_prompt(owner=owner, name="Other")
    with pytest.raises(InvalidInput) as foreign:
        services.save_version(author=owner, prompt=other, spec=spec)
    unknown = parse({**raw_spec, "messages": [{"role": "user", "content": {"body": "0" * 64}}]})
    with pytest.raises(InvalidInput) as nowhere:
        services.save_version(author=owner, prompt=other, spec=unknown)
    assert foreign.value.as_json() == nowhere.value.as_json()


def test_a_text_of_this_prompt_may_be_named_by_its_hash(
    save: Save, prompt: Prompt, owner: User, raw_spec: dict[str, Any]
) -> None:
    first = save(text="shared").version
    spec = parse({**raw_spec, "messages": first.frozen["messages"]})
    again = services.save_version(author=owner, prompt=prompt, spec=spec).version
    assert freezing.thaw(again)["messages"] == freezing.thaw(first)["messages"]


def test_one_key_makes_one_version(save: Save) -> None:
    once, again = save(idempotency_key="k"), save(idempotency_key="k")
    assert once.version == again.version
    assert again.branch == "main"
    assert Version.objects.count() == 1


def test_one_key_for_two_different_saves_is_refused(save: Save) -> None:
    save(idempotency_key="k")
    with pytest.raises(IdempotencyKeyReused):
        save(text="other", idempotency_key="k")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE playground_version SET message = 'changed'",
        "UPDATE playground_version SET spec = '{}'",
        "UPDATE playground_version SET number = number + 100",
        "DELETE FROM playground_version",
        "UPDATE playground_branchmove SET from_version_id = to_version_id",
        "DELETE FROM playground_branchmove",
    ],
)
def test_history_cannot_be_changed_by_sql(save: Save, statement: str) -> None:
    save()
    save(text="b")
    with pytest.raises(Exception, match=r"never change|never deleted"), connection.cursor() as cursor:
        cursor.execute(statement)


def test_an_author_may_become_unknown(save: Save) -> None:
    version = save().version
    Version.objects.filter(pk=version.pk).update(author=None)
    assert Version.objects.get(pk=version.pk).author is None


def test_a_parent_of_another_prompt_is_refused_by_the_database(
    save: Save, owner: User, raw_spec: dict[str, Any]
) -> None:
    foreign = save().version
    other = services.create_prompt(owner=owner, name="Other")
    services.save_version(author=owner, prompt=other, spec=parse(raw_spec), parent=foreign)
    with pytest.raises(Exception, match="version_parent_of_its_prompt"), connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def together(count: int, act: Callable[[], Any]) -> list[Any]:
    """What `act` returned or raised in `count` threads that start at once."""
    barrier, out = threading.Barrier(count), []

    def one() -> None:
        barrier.wait()
        try:
            out.append(act())
        except Exception as error:  # noqa: BLE001  # the test looks at it
            out.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=one) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return out


@pytest.mark.django_db(transaction=True)
def test_ten_saves_on_one_parent_at_once_are_all_kept(save: Save) -> None:
    first = save().version
    results = together(10, lambda: save(text="at once", parent=first))
    assert sorted(result.version.number for result in results) == list(range(2, 12))
    assert [result.branch for result in results].count("main") == 1
    assert len({result.branch for result in results}) == 10


@pytest.mark.django_db(transaction=True)
def test_ten_posts_of_one_key_at_once_make_one_version(save: Save, prompt: Prompt) -> None:
    results = together(10, lambda: save(idempotency_key="double click"))
    assert {result.version.number for result in results} == {1}
    assert Version.objects.filter(prompt=prompt).count() == 1


def test_an_edited_large_text_is_stored_as_a_small_delta(save: Save) -> None:
    text = noise(200_000)
    save(text=text)
    edited = text[:100_000] + "edit" + text[100_000:]
    version = save(text=edited).version
    delta = Body.objects.get(sha256=bytes.fromhex(version.frozen["messages"][0]["content"]["body"]))
    assert (delta.codec, delta.base) == (Body.Codec.DELTA, Body.objects.get(inline=None))
    assert delta.stored_length < 1000
    assert freezing.thaw(version)["messages"][0]["content"] == edited


def test_a_text_is_a_delta_of_the_one_it_replaces_also_when_messages_move(
    prompt: Prompt, owner: User, raw_spec: dict[str, Any]
) -> None:
    first, second = noise(30_000), noise(40_000)[5000:]
    messages = [{"role": "user", "content": first}, {"role": "assistant", "content": second}]
    services.save_version(author=owner, prompt=prompt, spec=parse({**raw_spec, "messages": messages}))
    moved = [{"role": "user", "content": "new"}, *messages[:1], {"role": "assistant", "content": second + "!"}]
    version = services.save_version(author=owner, prompt=prompt, spec=parse({**raw_spec, "messages": moved})).version
    name = version.frozen["messages"][2]["content"]["body"]
    assert Body.objects.get(sha256=bytes.fromhex(name)).stored_length < 1000


def test_a_long_history_of_edits_stays_readable_within_the_hops(save: Save) -> None:
    draw = random.Random(5)
    texts = [noise(20_000)]
    for number in range(60):
        at = draw.randrange(len(texts[-1]))
        texts.append(texts[-1][:at] + f"<{number}>" + texts[-1][at + draw.randrange(40) :])
    versions = [save(text=text).version for text in texts]
    assert [freezing.thaw(version)["messages"][0]["content"] for version in versions] == texts
    hops = {len(chains.with_bases([body.pk])) - 1 for body in Body.objects.all()}
    assert 1 < max(hops) <= 32
    whole = Body.objects.order_by("created_at").get(inline=None)
    assert sum(Body.objects.values_list("stored_length", flat=True)) < 1.5 * whole.stored_length
