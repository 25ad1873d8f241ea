"""`manage.py scrub_bodies`: damage is found, mended where there is a good copy, and named where there is none."""

from __future__ import annotations

import random
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from core import metrics
from playground import freezing, services
from playground.bodies import objects, unstored
from playground.models import Body, Prompt, Version
from playground.services import SavedVersion
from tests.playground.uploading import noise, sha256, store_down

pytestmark = pytest.mark.django_db
Save = Callable[..., SavedVersion]


def scrub(*words: str) -> tuple[bool, str]:
    """Whether all is well, and what was printed."""
    out = StringIO()
    try:
        call_command("scrub_bodies", *words, stdout=out)
    except CommandError as error:
        return False, f"{out.getvalue()}{error}"
    return True, out.getvalue()


def body_of(text: bytes) -> Body:
    return Body.objects.get(sha256=bytes.fromhex(sha256(text)))


def corrupt_count() -> float:
    return float(metrics.BODY_CORRUPT._value.get())


@pytest.fixture
def history(save: Save) -> list[bytes]:
    """Five texts, each an edit of the one before: a whole copy and deltas on it."""
    draw, texts = random.Random(1), [noise(120_000)]
    save(text=texts[0].decode())
    for number in range(4):
        at = draw.randrange(len(texts[-1]))
        texts.append(texts[-1][:at] + b"<%d>" % number + texts[-1][at:])
        save(text=texts[-1].decode())
    assert Body.objects.filter(codec=Body.Codec.DELTA).count() == 4
    unstored.store_objects()
    return texts


def test_what_is_whole_is_left_alone(history: list[bytes], prompt: Prompt) -> None:
    before = list(Body.objects.order_by("pk").values())
    for words in ([], ["--repair"], ["--prompt", str(prompt.pk)]):
        assert scrub(*words) == (True, "6 texts read, 0 damaged copies, 0 repaired.\n")
    assert list(Body.objects.order_by("pk").values()) == before


@pytest.mark.parametrize("damage", ["missing", "corrupt"])
def test_an_object_is_made_again_from_the_row(history: list[bytes], damage: str) -> None:
    body = body_of(history[2])
    assert body.inline is not None
    if damage == "missing":
        objects.delete(body.object_key)
    else:
        objects.put(body.object_key, b"rotten")
    before = corrupt_count()
    well, said = scrub()
    assert not well
    assert f"text {body.pk}: object {damage}, not repaired" in said
    assert "--repair" in said
    assert "unreadable versions" not in said, "the row still has it"
    assert corrupt_count() == before + 1
    well, said = scrub("--repair")
    assert (well, f"object {damage}, repaired" in said) == (True, True)
    assert objects.get(body.object_key) == bytes(body.inline)
    assert scrub()[0]


def test_a_row_is_mended_from_its_object(history: list[bytes]) -> None:
    body = body_of(history[2])
    Body.objects.filter(pk=body.pk).update(inline=b"rotten")
    well, said = scrub()
    assert not well
    assert "row copy corrupt, not repaired" in said
    assert "unreadable versions: 3\n" in said, "readers take the row first"
    assert scrub("--repair")[0]
    body.refresh_from_db()
    assert bytes(body.inline or b"") == objects.get(body.object_key)
    version = Version.objects.get(number=3)
    assert freezing.thaw(version)["messages"][0]["content"] == history[2].decode()


def test_a_text_with_no_good_copy_is_named_with_all_that_rests_on_it(history: list[bytes]) -> None:
    whole = body_of(history[0])
    assert whole.inline is None
    objects.put(whole.object_key, b"rotten")
    for words in ([], ["--repair"]):
        well, said = scrub(*words)
        assert not well
        assert f"text {whole.pk}: no good copy, not repaired" in said
        assert said.count("the text it rests on is unreadable, not repaired") == 4
        assert "unreadable versions: 1, 2, 3, 4, 5\n" in said
        assert "5 damaged copies are not repaired" in said


def test_one_prompt_may_be_looked_at_alone(history: list[bytes], make_person: Callable[..., Any]) -> None:
    other = services.create_prompt(owner=make_person("other@example.com"), name="Other")
    objects.delete(body_of(history[1]).object_key)
    assert scrub("--prompt", str(other.pk)) == (True, "0 texts read, 0 damaged copies, 0 repaired.\n")


def test_a_store_that_is_down_is_no_damage(history: list[bytes]) -> None:
    with store_down():
        well, said = scrub("--repair")
    assert not well
    assert "does not answer" in said
    assert scrub()[0]
