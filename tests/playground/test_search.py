"""`GET prompts?q=`: words in names, descriptions, tags, messages and texts of every version."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command
from rest_framework.test import APIClient

from accounts.models import User
from playground import excerpts, services
from playground.bodies import objects, store
from playground.models import Body, Prompt, VersionSearch
from playground.services import SavedVersion, search
from playground.spec import parse

pytestmark = pytest.mark.django_db
Save = Callable[..., SavedVersion]
URL = "/api/v1/prompts"


def find(api: APIClient, words: str) -> list[dict[str, Any]]:
    answer = api.get(URL, {"q": words})
    assert answer.status_code == 200
    rows: list[dict[str, Any]] = answer.json()["results"]
    return rows


def numbers(rows: list[dict[str, Any]]) -> list[int]:
    return [match["number"] for row in rows for match in row["matches"]]


def test_old_versions_are_found_by_their_text(owner_api: APIClient, save: Save) -> None:
    save(text="The quick brown Fox, jumping.")
    save(text="Something else.")
    (row,) = find(owner_api, "brown fox")
    assert (row["name"], numbers([row])) == ("Greeting", [1])
    excerpt = row["matches"][0]["excerpt"]
    assert [excerpt["text"][start:end] for start, end in excerpt["hits"]] == ["brown", "Fox"]


def test_the_newest_three_versions_are_shown(owner_api: APIClient, save: Save) -> None:
    for number in range(5):
        save(text=f"common {number}")
    assert numbers(find(owner_api, "common")) == [5, 4, 3]


def test_messages_names_descriptions_and_tags_are_searched(owner_api: APIClient, owner: User, save: Save) -> None:
    save(message="Shorter, after the review")
    services.create_prompt(owner=owner, name="Bicycle shop", description="Answers customers", tags=["retail"])
    (row,) = find(owner_api, "review")
    assert row["matches"][0]["excerpt"]["text"] == "Shorter, after the review"
    for words in ("bicycle", "shop customers", "retail", "BICYC", "shop -review"):
        assert [row["name"] for row in find(owner_api, words)] == ["Bicycle shop"], words


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("alpha beta", True),
        ('"alpha beta"', True),
        ('"beta alpha"', False),
        ("alpha -beta", False),
        ("gamma or alpha", True),
        ("alph", True),
        ('"alph"', False),
        ("lpha", False),
        ("alpha delta", False),
        ("it's", True),
        ("größe", True),
        ("GRÖSSE", False),
        ("GRÖßE", True),
        ("מילה", True),
        ("foo-ba", True),
        ("name", True),
    ],
)
def test_words_are_read_as_in_a_search_engine(owner_api: APIClient, save: Save, words: str, found: bool) -> None:
    save(text="Alpha beta, it's Größe foo-bar; {{name}} מילה בעברית")
    assert numbers(find(owner_api, words)) == ([1] if found else [])


@pytest.mark.parametrize(
    "words",
    [
        "'",
        '"',
        "\\",
        ":*",
        "a:*",
        "!",
        "&",
        "a & ",
        "( ",
        "''",
        "<->",
        "-",
        "or",
        "a or",
        "%",
        "_",
        "\u202e",
        "👍",
        "質",
        "x" * 3000,
        "é" * 3000,
        "a " * 1500,
        '"' * 3000,
        "-" * 3000,
        "\ud7ff",
        "e\u0301" * 900,
        "a\\'b",
        "NULL::tsquery",
    ],
)
def test_no_query_is_an_error(owner_api: APIClient, save: Save, words: str) -> None:
    save()
    assert owner_api.get(URL, {"q": words}).status_code == 200


@pytest.mark.parametrize("words", ["質問", "👍", "100%"])
def test_writing_without_words_is_found_in_names_and_descriptions(
    owner_api: APIClient, owner: User, words: str
) -> None:
    services.create_prompt(owner=owner, name=f"前{words}後")
    services.create_prompt(owner=owner, name="x", description=f"a {words} b")
    services.create_prompt(owner=owner, name="other")
    assert len(find(owner_api, words)) == 2


def test_others_prompts_are_not_found(owner_api: APIClient, stranger_api: APIClient, save: Save) -> None:
    save(text="secret word")
    assert find(owner_api, "secret")
    assert find(stranger_api, "secret") == []


def test_a_text_of_any_size_and_kind_is_saved(owner_api: APIClient, save: Save) -> None:
    draw = random.Random(3)
    words = " ".join(f"{draw.getrandbits(64):x}-{draw.getrandbits(64):x}/{draw.getrandbits(32):x}" for _ in range(9000))
    save(text="needle " + words)
    save(text="y" * 300_000 + " \0 after")
    save(text="\0nul\0word " + "文" * 100_000)
    assert numbers(find(owner_api, "needle")) == [1]
    assert numbers(find(owner_api, "nul")) == [3]


def test_what_is_far_inside_a_text_has_no_excerpt(owner_api: APIClient, save: Save) -> None:
    save(text="near " + "filler " * 60_000)
    (row,) = find(owner_api, "near")
    assert row["matches"] == [{"number": 1, "excerpt": None}]


def test_a_store_that_is_away_takes_the_excerpts_only(owner_api: APIClient, save: Save) -> None:
    save(text="findable")
    for body in Body.objects.all():
        objects.delete(body.object_key)
    Body.objects.update(inline=None)
    (row,) = find(owner_api, "findable")
    assert row["matches"] == [{"number": 1, "excerpt": None}]


def test_texts_by_reference_are_found_too(
    owner_api: APIClient, owner: User, prompt: Prompt, save: Save, raw_spec: dict[str, Any]
) -> None:
    sha256 = save(text="referred words").version.frozen["messages"][0]["content"]["body"]
    spec = parse({**raw_spec, "system": "new", "messages": [{"role": "user", "content": {"body": sha256}}]})
    services.save_version(author=owner, prompt=prompt, spec=spec)
    assert numbers(find(owner_api, "referred")) == [2, 1]


def test_large_texts_by_reference_wait_for_the_worker(
    owner_api: APIClient, owner: User, prompt: Prompt, raw_spec: dict[str, Any]
) -> None:
    text = b"uploaded " + b"filler " * 400_000
    store.commit(prompt=prompt, staged=store.stage(prompt=prompt, texts=[store.Text(data=text)]))
    sha256 = bytes(Body.objects.get().sha256).hex()
    spec = parse({**raw_spec, "messages": [{"role": "user", "content": {"body": sha256}}]})
    services.save_version(author=owner, prompt=prompt, spec=spec)
    assert find(owner_api, "uploaded") == []
    assert search.index_missing(prompt_id=prompt.pk) == 1
    assert numbers(find(owner_api, "uploaded")) == [1]


def test_the_index_is_made_again(owner_api: APIClient, save: Save) -> None:
    save(text="findable")
    VersionSearch.objects.all().delete()
    assert find(owner_api, "findable") == []
    call_command("reindex_search", "--missing")
    assert numbers(find(owner_api, "findable")) == [1]
    call_command("reindex_search")
    assert VersionSearch.objects.count() == 1


def test_an_excerpt_is_one_line_around_the_first_hit() -> None:
    found = excerpts.excerpt("a\r\n" * 100 + "Needle\tneedles" + "\n🌍" * 300, [excerpts.Word(text="needle")])
    assert found is not None
    assert "\n" not in found.text
    assert [found.text[start:end] for start, end in found.hits] == ["Needle"]
    assert len(found.text) <= 2 * excerpts.LENGTH
    assert excerpts.excerpt("nothing", [excerpts.Word(text="thing")]) is None
    assert excerpts.excerpt("x", []) is None
