"""A save in one statement: what somebody else does meanwhile costs nobody a version, a text or a key."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from core.errors import Conflict, IdempotencyKeyReused, InvalidInput, NotFound
from core.idempotency import IdempotencyKey
from playground import freezing, services
from playground.bodies import rows, store
from playground.models import Body, Branch, BranchMove, Prompt, Version, VersionSearch
from playground.services import SavedVersion, library, sweeping, undo_branch
from playground.spec import parse
from tests.playground.beside import Halt, beside, blocked
from tests.playground.uploading import sha256
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
Save = Callable[..., SavedVersion]
Meanwhile = Callable[[Callable[[], Any]], None]


@pytest.fixture
def first(save: Save) -> Version:
    return save(text="first").version


def written() -> list[int]:
    """How many rows each table of a save has."""
    return [model.objects.count() for model in (Version, BranchMove, VersionSearch, Body, IdempotencyKey)]


def text_of(version: Version) -> Any:
    return freezing.thaw(Version.objects.get(pk=version.pk))["messages"][0]["content"]


def body_of(text: str) -> Body:
    return Body.objects.get(sha256=bytes.fromhex(sha256(text.encode())))


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """`meanwhile(act)`: `act` happens once, when the next save knows what is there and has written nothing."""

    def arrange(act: Callable[[], Any]) -> None:
        stage = store.stage

        def staged_late(**given: Any) -> list[rows.StagedBody]:
            monkeypatch.setattr(store, "stage", stage)
            staged = stage(**given)
            act()
            return staged

        monkeypatch.setattr(store, "stage", staged_late)

    return arrange


LONG = "a long text that is stored as what changed of it, not whole. " * 20


@pytest.mark.parametrize("key", [None, "a key"])
def test_an_edit_of_a_short_text_is_one_statement(save: Save, first: Version, key: str | None) -> None:
    before = written()
    with CaptureQueriesContext(connection) as asked:
        saved = save(text="edited", parent=first, idempotency_key=key)
    assert len(asked) == 1
    assert [now - then for now, then in zip(written(), before, strict=True)] == [1, 1, 1, 1, int(key is not None)]
    assert (saved.version.number, saved.branch, saved.forked, text_of(saved.version)) == (2, "main", False, "edited")
    assert Branch.objects.get(prompt=first.prompt_id, name="main").head == saved.version


def test_an_edit_of_a_longer_text_asks_before_what_it_may_rest_on(save: Save, first: Version) -> None:
    second = save(text=LONG, parent=first).version
    with CaptureQueriesContext(connection) as asked:
        third = save(text=LONG + "!", parent=second).version
    assert len(asked) == 2
    assert body_of(LONG + "!").base == body_of(LONG)
    assert text_of(third) == LONG + "!"


def test_a_text_from_further_back_is_found_there(save: Save, first: Version) -> None:
    """Its parent does not name it, so it is taken for a new one at first."""
    second = save(text="second", parent=first).version
    third = save(text="first", parent=second)
    assert (third.version.number, third.forked, text_of(third.version)) == (3, False, "first")
    assert written() == [3, 3, 3, 3, 0]


def test_a_head_that_moves_meanwhile_leaves_the_save_a_branch(save: Save, first: Version, meanwhile: Meanwhile) -> None:
    meanwhile(lambda: save(text="theirs", parent=first))
    mine = save(text="mine", parent=first)
    assert (mine.version.number, mine.branch, mine.forked, text_of(mine.version)) == (3, "main-3", True, "mine")


@contextmanager
def unfinished(act: Callable[[], Any], *, fails: bool = False) -> Iterator[Halt]:
    """What `act` does is not committed before the block says so; with `fails`, it never is."""
    halt = Halt()

    def run() -> None:
        with transaction.atomic():
            act()
            halt()
            if fails:
                raise Conflict

    with beside(run) as out:
        assert halt.reached.wait(60)
        yield halt
        halt.released.set()
    assert [type(each) for each in out] == [Conflict if fails else type(None)]


@pytest.mark.parametrize("branch", ["main", "side"])
def test_a_save_that_waits_for_another_gets_the_next_number(save: Save, first: Version, branch: str) -> None:
    """On the same branch it forks; on another one both go on."""
    side = save(text="side", parent=first, branch="side").version
    parent = {"main": first, "side": side}[branch]
    with (
        unfinished(lambda: save(text="theirs", parent=first)) as theirs,
        beside(lambda: save(text="mine", parent=parent, branch=branch, idempotency_key="k")) as out,
    ):
        wait_until(blocked)
        theirs.released.set()
    [mine] = out
    assert (mine.version.number, mine.forked, text_of(mine.version)) == (4, branch == "main", "mine")
    assert written() == [4, 4, 4, 5, 1]
    assert IdempotencyKey.objects.get().object_id == mine.version.pk


def test_a_save_that_waited_for_one_that_came_to_nothing_is_made(save: Save, first: Version) -> None:
    with (
        unfinished(lambda: save(text="theirs", parent=first), fails=True) as theirs,
        beside(lambda: save(text="mine", parent=first)) as out,
    ):
        wait_until(blocked)
        theirs.released.set()
    assert (out[0].version.number, out[0].forked, text_of(out[0].version)) == (2, False, "mine")


def uploaded(prompt: Prompt, text: str) -> None:
    """The text is there, and no version names it."""
    staged = store.stage_anew(prompt=prompt, text=store.Text(data=text.encode()))
    store.commit_unreferenced(prompt=prompt, staged=staged, now=timezone.now())


@pytest.mark.parametrize("fails", [False, True])
def test_a_text_that_an_upload_brings_meanwhile_is_named_by_the_version(
    save: Save, first: Version, fails: bool
) -> None:
    with (
        unfinished(lambda: uploaded(first.prompt, "same text"), fails=fails) as upload,
        beside(lambda: save(text="same text", parent=first)) as out,
    ):
        wait_until(blocked)
        upload.released.set()
    assert (out[0].version.number, out[0].forked) == (2, False)
    assert body_of("same text").unreferenced_since is None
    assert written() == [2, 2, 2, 3, 0]
    assert sweeping.sweep_bodies(now=timezone.now() + timedelta(days=4000)) == 0
    assert text_of(out[0].version) == "same text"


def test_a_text_that_is_taken_for_a_leftover_meanwhile_is_named_again(
    save: Save, first: Version, meanwhile: Meanwhile
) -> None:
    """A broken-off import lets go of what it stored; the save has found one of those texts there."""
    marked = Body.objects.filter(pk=body_of("You greet people.").pk)
    meanwhile(lambda: marked.update(unreferenced_since=timezone.now()))
    saved = save(text="edited", parent=first)
    assert (saved.version.number, marked.get().unreferenced_since) == (2, None)


def test_a_text_that_is_swept_meanwhile_is_told_and_nothing_is_saved(
    save: Save, first: Version, owner: User, raw_spec: dict[str, Any], meanwhile: Meanwhile
) -> None:
    uploaded(first.prompt, "swept")
    Body.objects.filter(pk=body_of("swept").pk).update(unreferenced_since=None)
    before = written()
    reference = {"body": sha256(b"swept")}
    spec = parse({**raw_spec, "messages": [{"role": "user", "content": reference}]})
    meanwhile(lambda: Body.objects.filter(pk=body_of("swept").pk).delete())
    with pytest.raises(Conflict) as refused:
        services.save_version(author=owner, prompt=first.prompt, spec=spec, parent=first)
    assert refused.value.code == store.TEXT_GONE
    assert [now - then for now, then in zip(written(), before, strict=True)] == [0, 0, 0, -1, 0]
    assert Branch.objects.get(prompt=first.prompt_id).head == first


def test_a_prompt_that_is_erased_meanwhile_is_not_found(save: Save, first: Version, meanwhile: Meanwhile) -> None:
    def erase() -> None:
        Prompt.objects.update(trashed_at=timezone.now())
        assert library.erase(prompt_id=first.prompt_id, trashed_before=timezone.now())

    meanwhile(erase)
    with pytest.raises(NotFound):
        save(text="too late", parent=first)
    assert written() == [0, 0, 0, 0, 0]


def test_one_key_at_once_makes_one_version(save: Save, first: Version) -> None:
    with (
        unfinished(lambda: save(text="edited", parent=first, idempotency_key="k")) as twin,
        beside(lambda: save(text="edited", parent=first, idempotency_key="k")) as out,
    ):
        wait_until(blocked)
        twin.released.set()
    assert (out[0].version, out[0].branch) == (Version.objects.get(number=2), "main")
    assert written() == [2, 2, 2, 3, 1]


def test_a_key_is_remembered_when_the_branch_is_back_where_it_was(save: Save, first: Version, owner: User) -> None:
    """Each part of a repeated save would be possible again, but for the key."""
    made = save(text="edited", parent=first, idempotency_key="k").version
    branch = Branch.objects.get(prompt=first.prompt_id)
    undo_branch(actor=owner, branch=branch, expected=made)
    before = written()
    assert save(text="edited", parent=first, idempotency_key="k").version == made
    with pytest.raises(IdempotencyKeyReused):
        save(text="something else", parent=first, idempotency_key="k")
    assert written() == before
    assert Branch.objects.get(prompt=first.prompt_id).head == first


@pytest.mark.parametrize("key", ["", "x" * 256, "two\nlines"])
def test_a_key_that_is_none_is_refused(save: Save, first: Version, key: str) -> None:
    with pytest.raises(InvalidInput):
        save(text="edited", parent=first, idempotency_key=key)
    assert Version.objects.count() == 1


def test_inside_a_transaction_it_is_part_of_that(save: Save, first: Version) -> None:
    before = written()
    with transaction.atomic():
        assert save(text="edited", parent=first).version.number == 2
        transaction.set_rollback(True)
    assert written() == before


def test_an_author_who_is_gone_saves_nothing(first: Version, raw_spec: dict[str, Any]) -> None:
    stranger = User(pk=uuid.uuid4(), email="gone@example.org")
    raw_spec["system"] = "edited"
    before = written()
    with pytest.raises(IntegrityError):
        services.save_version(author=stranger, prompt=first.prompt, spec=parse(raw_spec), parent=first)
    assert written() == before
