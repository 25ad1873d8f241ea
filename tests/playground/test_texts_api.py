"""`versions/{n}/texts/{index}`, `/lines` and `/search`: long texts in windows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from accounts.models import User
from playground import text_answers
from playground.bodies import chains, recent
from playground.bodies.held import HeldTexts
from playground.models import Body, Prompt
from playground.services import SavedVersion
from tests.playground.uploading import API, noise, save, sha256, upload

pytestmark = pytest.mark.django_db
Save = Callable[..., SavedVersion]


@pytest.fixture(autouse=True)
def nothing_read_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_answers, "recent_texts", recent.RecentTexts(HeldTexts()))


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each decoding."""
    calls: list[int] = []
    real = chains.decode_all

    def counted(*args: Any) -> Any:
        calls.append(1)
        return real(*args)

    monkeypatch.setattr(chains, "decode_all", counted)
    return calls


@pytest.fixture
def url(prompt: Prompt) -> str:
    return f"{API}/prompts/{prompt.pk}/versions/1/texts"


def test_texts_are_counted_in_the_order_of_the_request(owner_api: APIClient, prompt: Prompt, url: str) -> None:
    spec = {
        "model": "m",
        "max_tokens": 1,
        "system": "zero",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}],
        "tools": "[]",
        "output_schema": "{}",
    }
    assert owner_api.post(f"{API}/prompts/{prompt.pk}/versions", {"spec": spec}, format="json").status_code == 201
    assert [owner_api.get(f"{url}/{index}").content for index in range(5)] == [b"zero", b"one", b"two", b"[]", b"{}"]
    assert owner_api.get(f"{url}/5").status_code == 404


def test_a_whole_text_is_plain_text_for_keeping(owner_api: APIClient, url: str, save: Save) -> None:
    save(text="\ufeffa\r\nb\0<script>")
    answer = owner_api.get(f"{url}/1")
    assert answer.content == "\ufeffa\r\nb\0<script>".encode()
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["Content-Disposition"] == 'attachment; filename="version-1-text-1.txt"'
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["ETag"] == f'"{sha256(answer.content)}"'
    assert answer["Accept-Ranges"] == "bytes"


def test_a_number_is_cacheable_for_ever_and_a_pointer_not_at_all(owner_api: APIClient, url: str, save: Save) -> None:
    save()
    assert "immutable" in owner_api.get(f"{url}/0")["Cache-Control"]
    for pointer in ("latest", "main"):
        answer = owner_api.get(url.replace("/1/", f"/{pointer}/") + "/0")
        assert (answer.status_code, answer["Cache-Control"]) == (200, "private, no-store")


def test_a_known_text_is_304(owner_api: APIClient, url: str, save: Save, decoded: list[int]) -> None:
    save()
    etag = f'"{sha256(b"You greet people.")}"'
    for path in ("/0", "/0/lines"):
        answer = owner_api.get(url + path, headers={"If-None-Match": f'"other", {etag}'})
        assert (answer.status_code, answer.content, answer["ETag"]) == (304, b"", etag)
    assert decoded == []


@pytest.mark.parametrize(
    ("asked", "content", "told"),
    [
        ("bytes=0-3", b"You ", "bytes 0-3/17"),
        ("bytes=10-", b"people.", "bytes 10-16/17"),
        ("bytes=-7", b"people.", "bytes 10-16/17"),
        ("bytes=16-999", b".", "bytes 16-16/17"),
    ],
)
def test_a_range_is_honoured(owner_api: APIClient, url: str, save: Save, asked: str, content: bytes, told: str) -> None:
    save()
    answer = owner_api.get(f"{url}/0", headers={"Range": asked})
    assert (answer.status_code, answer.content, answer["Content-Range"]) == (206, content, told)
    assert answer["ETag"] == f'"{sha256(b"You greet people.")}"'


def test_a_range_behind_the_end_is_416_with_the_length(owner_api: APIClient, url: str, save: Save) -> None:
    save()
    answer = owner_api.get(f"{url}/0", headers={"Range": "bytes=17-"})
    assert (answer.status_code, answer["Content-Range"], answer["Cache-Control"]) == (416, "bytes */17", "no-store")


def test_a_range_of_another_text_is_not_mixed_in(owner_api: APIClient, url: str, save: Save) -> None:
    save()
    asked = {"Range": "bytes=0-3", "If-Range": '"another"'}
    assert owner_api.get(f"{url}/0", headers=asked).status_code == 200
    asked["If-Range"] = f'"{sha256(b"You greet people.")}"'
    assert owner_api.get(f"{url}/0", headers=asked).status_code == 206


def test_windows_put_together_are_the_text_and_cost_one_decoding(
    owner_api: APIClient, prompt: Prompt, url: str, decoded: list[int]
) -> None:
    text = noise(1_000_000) + "👋é\r\n".encode() * 1000
    assert save(owner_api, prompt, {"upload": upload(owner_api, prompt, text)["id"]}).status_code == 201
    decoded.clear()
    step = 100_000
    windows = [
        owner_api.get(f"{url}/0", headers={"Range": f"bytes={start}-{start + step - 1}"}).content
        for start in range(0, len(text), step)
    ]
    assert b"".join(windows) == text
    assert len(decoded) == 1


def test_the_lines_of_a_text(owner_api: APIClient, prompt: Prompt, url: str) -> None:
    text = ("x" * 99 + "\n").encode() * 1000 + "👋".encode() * 10_000
    save(owner_api, prompt, text.decode())
    answer = owner_api.get(f"{url}/0/lines")
    assert answer.status_code == 200
    assert "immutable" in answer["Cache-Control"]
    assert answer.json() == {
        "sha256": sha256(text),
        "bytes": 140_000,
        "lines": 1001,
        "longest_line_bytes": 40_000,
        "index": [[0, 1, 0], [65_536, 656, 65_536], [131_072, 1001, 115_536]],
    }


def test_an_empty_text_has_one_line(owner_api: APIClient, prompt: Prompt, url: str) -> None:
    save(owner_api, prompt, "")
    assert owner_api.get(f"{url}/0").content == b""
    body = owner_api.get(f"{url}/0/lines").json()
    assert (body["bytes"], body["lines"], body["index"]) == (0, 1, [[0, 1, 0]])


def test_a_search_tells_places_and_where_to_go_on(owner_api: APIClient, prompt: Prompt, url: str) -> None:
    save(owner_api, prompt, "One needle\nno\nNEEDLE two")
    answer = owner_api.get(f"{url}/0/search", {"q": "needle"})
    assert answer.json() == {
        "matches": [
            {"offset": 4, "length": 6, "line": 1, "before": "One ", "match": "needle", "after": "\nno\nNEEDLE two"},
            {"offset": 14, "length": 6, "line": 3, "before": "One needle\nno\n", "match": "NEEDLE", "after": " two"},
        ],
        "next": None,
    }
    assert answer["Cache-Control"] == "private, no-store"
    first = owner_api.get(f"{url}/0/search", {"q": "needle", "limit": "1"}).json()
    assert (len(first["matches"]), first["next"]) == (1, 10)
    rest = owner_api.get(f"{url}/0/search", {"q": "needle", "from": "10"}).json()
    assert [match["offset"] for match in rest["matches"]] == [14]
    exact = owner_api.get(f"{url}/0/search", {"q": "needle", "case": "match"}).json()
    assert [match["offset"] for match in exact["matches"]] == [4]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({}, "q"),
        ({"q": ""}, "q"),
        ({"q": "x" * 1001}, "q"),
        ({"q": "x", "from": "-1"}, "from"),
        ({"q": "x", "from": "1.5"}, "from"),
        ({"q": "x", "limit": "all"}, "limit"),
        ({"q": "x", "case": "maybe"}, "case"),
    ],
)
def test_a_bad_search_names_its_field(
    owner_api: APIClient, url: str, save: Save, query: dict[str, str], field: str
) -> None:
    save()
    answer = owner_api.get(f"{url}/0/search", query)
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)


@pytest.mark.parametrize("path", ["/0", "/0/lines", "/0/search?q=greet"])
def test_a_stranger_reads_nothing_also_when_the_text_is_at_hand(
    owner_api: APIClient, stranger_api: APIClient, anonymous_api: APIClient, url: str, save: Save, path: str
) -> None:
    save()
    assert owner_api.get(url + path).status_code == 200
    assert stranger_api.get(url + path).status_code == 404
    assert anonymous_api.get(url + path).status_code == 401
    assert stranger_api.get(f"{url}/99").json()["error"] == stranger_api.get(url + path).json()["error"]


def test_who_lost_the_prompt_reads_nothing_more(
    owner_api: APIClient, prompt: Prompt, stranger: User, url: str, save: Save
) -> None:
    save()
    assert owner_api.get(f"{url}/0").status_code == 200
    Prompt.objects.filter(pk=prompt.pk).update(owner=stranger)
    assert owner_api.get(f"{url}/0").status_code == 404


@pytest.mark.parametrize("path", ["/x", "/-1", "/99999999999999999999999", "/1/lines/x"])
def test_an_index_of_nothing_is_404(owner_api: APIClient, url: str, save: Save, path: str) -> None:
    save()
    assert owner_api.get(url + path).status_code == 404
    assert owner_api.post(f"{url}/0").status_code == 405


def test_a_damaged_text_is_told_and_not_shown(owner_api: APIClient, url: str, save: Save) -> None:
    save()
    Body.objects.update(inline=b"damaged")
    answer = owner_api.get(f"{url}/0")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "body_unreadable")
    assert owner_api.get(f"{url}/0/lines").status_code == 503


def test_what_is_held_has_a_limit_and_the_last_read_stay(prompt: Prompt, save: Save) -> None:
    names = [sha256(noise(10_000, seed=seed)) for seed in range(4)]
    for seed in range(4):
        save(text=noise(10_000, seed=seed).decode())
    held = recent.RecentTexts(HeldTexts(limit=30_000))
    for name in [*names[:3], names[0], names[3]]:
        assert sha256(held.get(prompt_id=prompt.pk, sha256=name).data) == name
    assert [name for _, name in held._held._texts] == [names[2], names[0], names[3]]
    assert held._held._bytes == 30_000


@pytest.mark.django_db(transaction=True)
def test_readers_at_once_cost_one_decoding(prompt: Prompt, save: Save, decoded: list[int]) -> None:
    text = noise(500_000)
    save(text=text.decode())
    decoded.clear()
    held, name, got = recent.RecentTexts(HeldTexts()), sha256(text), []

    def read() -> None:
        got.append(held.get(prompt_id=prompt.pk, sha256=name).data)
        connection.close()

    threads = [threading.Thread(target=read) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert got == [text] * 6
    assert len(decoded) == 1
