"""`GET prompts?q=`: words in names, descriptions, tags, messages and texts of every version."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from accounts.models import User
from playground import excerpts, services, words
from playground.bodies import objects, store
from playground.models import Body, Prompt, VersionSearch
from playground.services import SavedVersion, search
from playground.spec import parse

pytestmark = pytest.mark.django_db
Save = Callable[..., SavedVersion]
URL = "/api/v1/prompts"


def find(api: APIClient, query: str) -> list[dict[str, Any]]:
    answer = api.get(URL, {"q": query})
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
    for query in ("bicycle", "shop customers", "retail", "BICYC", "shop -review"):
        assert [row["name"] for row in find(owner_api, query)] == ["Bicycle shop"], words


@pytest.mark.parametrize(
    ("query", "found"),
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
        ("user_name", True),
        ("user-name", True),
        ("質問", True),
        ("問質", False),
        ("質問があります", True),
        ("例え", False),
    ],
)
def test_words_are_read_as_in_a_search_engine(owner_api: APIClient, save: Save, query: str, found: bool) -> None:
    save(text="Alpha beta, it's Größe foo-bar; {{name}} {{user_name}} מילה בעברית 質問があります。")
    assert numbers(find(owner_api, query)) == ([1] if found else [])


@pytest.mark.parametrize(
    "query",
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
def test_no_query_is_an_error(owner_api: APIClient, save: Save, query: str) -> None:
    save()
    assert owner_api.get(URL, {"q": query}).status_code == 200


@pytest.mark.parametrize("query", ["質問", "👍", "100%"])
def test_writing_without_words_is_found_in_names_and_descriptions(
    owner_api: APIClient, owner: User, query: str
) -> None:
    services.create_prompt(owner=owner, name=f"前{query}後")
    services.create_prompt(owner=owner, name="x", description=f"a {query} b")
    services.create_prompt(owner=owner, name="other")
    assert len(find(owner_api, query)) == 2


def test_others_prompts_are_not_found(owner_api: APIClient, stranger_api: APIClient, save: Save) -> None:
    save(text="secret word")
    assert find(owner_api, "secret")
    assert find(stranger_api, "secret") == []


def test_a_text_of_any_size_and_kind_is_saved(owner_api: APIClient, save: Save) -> None:
    draw = random.Random(3)
    noise = " ".join(f"{draw.getrandbits(64):x}-{draw.getrandbits(64):x}/{draw.getrandbits(32):x}" for _ in range(9000))
    save(text="needle " + noise)
    save(text="y" * 300_000 + " \0 after")
    save(text="\0nul\0word " + "文" * 100_000)
    assert search.index_missing() == 3  # as the worker does
    assert numbers(find(owner_api, "needle")) == [1]
    assert numbers(find(owner_api, "nul")) == [3]


def test_what_is_far_inside_a_text_has_no_excerpt(owner_api: APIClient, save: Save) -> None:
    save(text="near " + "filler " * 60_000)
    search.index_missing()
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


def shown(text: str, query: str) -> list[str] | None:
    """What the excerpt of a text marks for a query."""
    found = excerpts.excerpt(text, words.read_query(query)[1])
    return [found.text[start:end] for start, end in found.hits] if found else None


def test_an_excerpt_is_one_line_around_the_first_hit() -> None:
    text = "a\r\n" * 100 + "Needle\tneedles" + "\n🌍" * 300
    found = excerpts.excerpt(text, words.read_query("needle ")[1])
    assert found is not None
    assert "\n" not in found.text
    assert len(found.text) <= 2 * excerpts.LENGTH
    assert shown(text, "needle ") == ["Needle"]
    assert shown(text, "needle") == ["Needle", "needles"]
    assert shown("nothing", "thing") is None
    assert shown("nothing", "") is None
    assert shown("a foo-Bar b", "foo_bar") == ["foo-Bar"]
    assert shown("他的質問是", "質問") == ["質問"]
    assert shown("with e\u0301t\u00e9", "été") == ["été"]
    assert shown("a b", "a -b") == ["a"]


@pytest.mark.parametrize(
    "text", ["a-" * 130_000, "x@" * 100_000, "1.2." * 60_000, "http://a/b?" * 20_000, "文" * 80_000]
)
def test_no_text_takes_long_to_index(save: Save, text: str) -> None:
    began = time.process_time()
    save(text=text)
    assert time.process_time() - began < 5


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=200), message=st.text(max_size=50), typed=st.text(max_size=60))
def test_every_word_of_any_text_finds_it(db: None, text: str, message: str, typed: str) -> None:
    document = words.document(message, text)
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::tsvector @@ %s::tsquery", [document, words.read_query(typed)[0]])
        for word in {*words.split(text), *words.split(message)}:
            query, _ = words.read_query(f'"{word}"')
            cursor.execute("SELECT %s::tsvector @@ %s::tsquery", [document, query])
            assert cursor.fetchone() == (True,)
