"""Export and import of a whole tree: equal by digest, made once, and hostile files make nothing."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import uuid
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from accounts.models import User
from core.errors import StorageUnavailable
from playground import freezing, services, tasks
from playground.api import interchange
from playground.api.parsing import PIECE
from playground.bodies import objects, store
from playground.interchange import archive, manifest
from playground.models import Body, Branch, BranchMove, ErasedObjects, Label, LabelMove, Prompt, Version
from playground.services import SavedVersion, import_work
from playground.spec import parse
from tests.playground.test_saving import together

pytestmark = pytest.mark.django_db
Save = Callable[..., SavedVersion]
URL = "/api/v1/prompts"


@pytest.fixture
def tree(owner: User, prompt: Prompt, save: Save) -> Prompt:
    """Two branches, a merge, an undo, tools, a moved and a removed label, texts of every kind."""
    first = save(text="\ufeffnul \0, CRLF \r\n, e\u0301 👍  ", message="first").version
    second = save(text="long " + "x" * 30_000, parent=first).version
    other = save(text="long " + "x" * 30_000 + "!", parent=first, branch="idea").version
    merged = save(text="merged", parent=second, merged=other, message="both").version
    spec = parse(
        {
            "model": "m",
            "max_tokens": 5,
            "temperature": 0.13,
            "messages": [{"role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "b"}]}],
            "tools": '[{"name": "t",  "input_schema": {"b": 1, "a": 2}}]',
            "output_schema": {"type": "object"},
            "variables": [{"name": "größe", "default": ""}],
        }
    )
    last = services.save_version(author=owner, prompt=prompt, spec=spec, parent=merged).version
    services.undo_branch(actor=owner, branch=Branch.objects.get(prompt=prompt, name="main"), expected=last)
    for to in (first, merged):
        services.move_label(actor=owner, prompt=prompt, name="production", to=to)
    services.move_label(actor=owner, prompt=prompt, name="old", to=first)
    services.remove_label(actor=owner, prompt=prompt, name="old")
    services.update_prompt(prompt=prompt, tags=["a", "b"], folder="work/x", description="d")
    return prompt


def export(api: APIClient, prompt: Prompt | str) -> bytes:
    answer = api.get(f"{URL}/{getattr(prompt, 'pk', prompt)}/export")
    assert answer.status_code == 200
    content = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    assert answer["Content-Length"] == str(len(content))
    return content


def send(api: APIClient, file: bytes, query: str = "", **headers: str) -> Any:
    return api.post(f"{URL}/import{query}", file, content_type="application/zip", headers=headers)


def send_large(api: APIClient, file: bytes) -> dict[str, Any]:
    """What a file becomes that is left to the worker, once that has been there."""
    answer = send(api, file)
    assert answer.status_code == 202
    import_work.run_import(import_id=uuid.UUID(answer.json()["id"]))
    made: dict[str, Any] = api.get(answer["Location"]).json()
    assert made["status"] == "done", made
    return made


def manifest_of(file: bytes) -> dict[str, Any]:
    with zipfile.ZipFile(io.BytesIO(file)) as opened:
        value: dict[str, Any] = json.loads(opened.read("manifest.json"))
    return value


def repacked(file: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """The same file with another manifest."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(file)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            if name != "manifest.json":
                new.writestr(name, old.read(name))
        whole = manifest_of(file)
        change(whole)
        new.writestr("manifest.json", json.dumps(whole))
    return out.getvalue()


def test_an_export_read_back_is_equal_byte_for_byte(owner_api: APIClient, tree: Prompt) -> None:
    file = export(owner_api, tree)
    answer = send(owner_api, file)
    assert answer.status_code == 201
    made = answer.json()
    assert (made["kind"], made["versions_made"], made["prompt"]["name"]) == ("export", 5, "Greeting")
    assert made["prompt"]["latest_number"] == 5
    copy = Prompt.objects.get(pk=made["prompt"]["id"])
    assert (copy.tags, copy.folder, copy.trashed_at) == (["a", "b"], "work/x", None)
    assert export(owner_api, copy) == file
    pairs = zip(*(Version.objects.filter(prompt=each).order_by("number") for each in (tree, copy)), strict=True)
    for old, new in pairs:
        assert (old.digest, old.number, old.created_at) == (new.digest, new.number, new.created_at)
        assert freezing.thaw(old) == freezing.thaw(new)
    assert not set(tree.bodies.values_list("pk")) & set(copy.bodies.values_list("pk"))


def test_the_same_prompt_gives_the_same_bytes(owner_api: APIClient, tree: Prompt) -> None:
    file = export(owner_api, tree)
    assert export(owner_api, tree) == file
    with zipfile.ZipFile(io.BytesIO(file)) as opened:
        names = opened.namelist()
        assert names[0] == "manifest.json"
        assert names[1:] == sorted(names[1:])
        for name in names[1:]:
            assert f"bodies/{hashlib.sha256(opened.read(name)).hexdigest()}.txt" == name


def test_steps_go_on_after_an_import(owner_api: APIClient, tree: Prompt) -> None:
    copy = send(owner_api, export(owner_api, tree)).json()["prompt"]["id"]
    redone = owner_api.post(f"{URL}/{copy}/branches/main/redo", {}, format="json")
    assert redone.json()["head"] == 5
    steps = [owner_api.post(f"{URL}/{copy}/branches/main/undo", {}, format="json").json()["head"] for _ in range(3)]
    assert steps == [4, 2, 1]
    assert owner_api.get(f"{URL}/{copy}/versions/production").json()["number"] == 4
    history = owner_api.get(f"{URL}/{copy}/labels/production/history").json()["results"]
    assert [(row["from_version"], row["to_version"]) for row in history] == [(1, 4), (None, 1)]


def test_importing_twice_into_a_prompt_makes_nothing_new(owner_api: APIClient, tree: Prompt) -> None:
    file = export(owner_api, tree)
    counts = [model.objects.count() for model in (Version, Branch, BranchMove, Label, LabelMove, Body)]
    for _ in range(2):
        answer = send(owner_api, file, f"?prompt={tree.pk}")
        assert (answer.status_code, answer.json()["versions_made"]) == (200, 0)
    assert [model.objects.count() for model in (Version, Branch, BranchMove, Label, LabelMove, Body)] == counts


def test_what_is_missing_is_added_and_its_branch_goes_along(
    owner_api: APIClient, owner: User, tree: Prompt, raw_spec: dict[str, Any]
) -> None:
    copy = send(owner_api, export(owner_api, tree)).json()["prompt"]["id"]
    for text in ("new 1", "new 2"):
        spec = parse({**raw_spec, "messages": [{"role": "user", "content": text}]})
        services.save_version(author=owner, prompt=tree, spec=spec)
    file = export(owner_api, tree)
    for made in (2, 0):
        assert send(owner_api, file, f"?prompt={copy}").json()["versions_made"] == made
    main = owner_api.get(f"{URL}/{copy}/versions/main?include=texts").json()
    assert (main["number"], main["spec"]["messages"][0]["content"]) == (7, "new 2")
    back = owner_api.post(f"{URL}/{copy}/branches/main/undo", {}, format="json")
    assert back.json()["head"] == 6


def test_a_branch_that_went_another_way_stays(owner_api: APIClient, owner: User, tree: Prompt, save: Save) -> None:
    copy = send(owner_api, export(owner_api, tree)).json()["prompt"]["id"]
    save(text="here")
    file = export(owner_api, tree)
    spec = parse({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "there"}]})
    services.save_version(author=owner, prompt=Prompt.objects.get(pk=copy), spec=spec)
    for _ in range(2):
        send(owner_api, file, f"?prompt={copy}")
    heads = {row["name"]: row["head"] for row in owner_api.get(f"{URL}/{copy}/branches").json()["results"]}
    assert heads == {"main": 6, "idea": 3, "main-imported": 7}


def test_authors_and_dates_are_not_made_up(owner_api: APIClient, friend_api: APIClient, tree: Prompt) -> None:
    file = repacked(export(owner_api, tree), lambda m: m["versions"][0].update(created_at="9000-01-01T00:00:00Z"))
    theirs = send(friend_api, file).json()["prompt"]["id"]
    versions = Version.objects.filter(prompt_id=theirs).order_by("number")
    assert {version.author for version in versions} == {None}
    assert versions[0].created_at.year < 9000


def test_json_with_its_texts_inside_is_taken_too(owner_api: APIClient, tree: Prompt) -> None:
    file = export(owner_api, tree)
    with zipfile.ZipFile(io.BytesIO(file)) as opened:
        bodies = {name[7:-4]: opened.read(name).decode() for name in opened.namelist() if name.startswith("bodies/")}
    answer = owner_api.post(f"{URL}/import", {**manifest_of(file), "bodies": bodies}, format="json")
    assert (answer.status_code, answer.json()["versions_made"]) == (201, 5)
    assert export(owner_api, answer.json()["prompt"]["id"]) == file


def test_one_key_makes_one_prompt(owner_api: APIClient, tree: Prompt) -> None:
    file = export(owner_api, tree)
    ids = {send(owner_api, file, **{"Idempotency-Key": "k"}).json()["prompt"]["id"] for _ in range(2)}
    assert len(ids) == 1
    assert Prompt.objects.count() == 2


def test_a_large_history_is_kept_as_deltas(owner_api: APIClient, save: Save, prompt: Prompt) -> None:
    text = "".join(str(uuid.UUID(int=number * 7**40)) for number in range(2000))
    for number in range(10):
        save(text=text + f" edit {number}")
    copy = send(owner_api, export(owner_api, prompt)).json()["prompt"]["id"]
    sizes = Body.objects.filter(prompt_id=copy).order_by("-stored_length").values_list("stored_length", flat=True)
    assert sum(sizes[1:]) < 2000
    assert owner_api.get(f"{URL}/{copy}?q=").status_code == 200


@pytest.mark.django_db(transaction=True)
def test_the_words_of_an_import_are_found_once_the_worker_has_been(owner_api: APIClient, tree: Prompt) -> None:
    copy = send(owner_api, export(owner_api, tree)).json()["prompt"]["id"]
    tasks.index_prompt(copy)
    names = [row["id"] for row in owner_api.get(URL, {"q": "merged"}).json()["results"]]
    assert set(names) == {str(tree.pk), copy}


def test_texts_too_large_to_be_sent_inline_come_back_too(
    owner_api: APIClient, owner: User, prompt: Prompt, raw_spec: dict[str, Any]
) -> None:
    large = "größe\r\n" * 400_000
    staged = store.stage(prompt=prompt, texts=[store.Text(data=large.encode())])
    store.commit(prompt=prompt, staged=staged)
    spec = parse({**raw_spec, "system": {"body": staged[0].encoded.sha256.hex()}})
    version = services.save_version(author=owner, prompt=prompt, spec=spec).version
    copy = send_large(owner_api, export(owner_api, prompt))["prompt"]["id"]
    assert freezing.thaw(Version.objects.get(prompt_id=copy))["system"] == large
    fork = services.fork_prompt(actor=owner, version=version, name="Fork")
    assert freezing.thaw(fork)["system"] == large


def test_more_than_a_thousand_versions_keep_their_numbers(owner_api: APIClient) -> None:
    entries = [(name, text) for text in (b"a", b"b", b"c") for name in [hashlib.sha256(text).hexdigest()]]
    versions = []
    for number in range(1, 1102):
        content = {"body": entries[number % 3][0]}
        spec = {"max_tokens": number, "messages": [{"content": content, "role": "user"}], "model": "m"}
        digest = hashlib.sha256(json.dumps(spec, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
        versions.append({"number": number, "parent": number - 1 or None, "digest": digest, "spec": spec})
        versions[-1]["created_at"] = "2026-01-01T00:00:00+00:00"
    whole = {**json.loads(MANIFEST), "versions": versions, "branches": [{"name": "main", "head": 1101}]}
    file = zipped(("manifest.json", json.dumps(whole).encode()), *((f"bodies/{n}.txt", t) for n, t in entries))
    made = send_large(owner_api, file)
    assert made["versions_made"] == 1101
    url = f"{URL}/{made['prompt']['id']}"
    for number in (1, 500, 1000, 1101):
        assert owner_api.get(f"{url}/versions/{number}").json()["spec"]["max_tokens"] == number
    back = owner_api.post(f"{url}/branches/main/undo", {}, format="json")
    assert back.json()["head"] == 1100


@pytest.mark.django_db(transaction=True)
def test_two_imports_into_one_prompt_at_once_make_each_version_once(
    owner_api: APIClient, owner: User, tree: Prompt
) -> None:
    file = export(owner_api, tree)
    other = services.create_prompt(owner=owner, name="Other")

    def take_in() -> int:
        opened = archive.Archive(io.BytesIO(file))
        found = manifest.check(json.loads(opened.manifest))
        return services.import_tree(actor=owner, manifest=found, texts=opened, into=other).versions_made

    assert sorted(together(3, take_in)) == [0, 0, 5]
    assert Version.objects.filter(prompt=other).count() == 5


def test_strangers_neither_export_nor_import_into(
    stranger_api: APIClient, friend_api: APIClient, anonymous_api: APIClient, owner_api: APIClient, tree: Prompt
) -> None:
    file = export(owner_api, tree)
    for api, status in ((stranger_api, 404), (friend_api, 404), (anonymous_api, 401)):
        assert api.get(f"{URL}/{tree.pk}/export").status_code == status
        assert send(api, file, f"?prompt={tree.pk}").status_code == status
    assert send(anonymous_api, file).status_code == 401
    assert send(owner_api, file, "?prompt=nonsense").json()["error"]["field"] == "prompt"
    assert owner_api.post(f"{URL}/import", b"x", content_type="text/plain").status_code == 415


def zipped(*entries: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as opened:
        for name, data in entries:
            opened.writestr(name, data)
    return out.getvalue()


MANIFEST = json.dumps(
    {"format": "prompt-playground-export", "version": 1, "prompt": {"name": "x"}, "versions": []}
).encode()


def encrypted(file: bytes) -> bytes:
    """With the flags of encryption set in both places."""
    changed = bytearray(file)
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = changed.find(mark) + offset
        changed[at : at + 2] = struct.pack("<H", 1)
    return bytes(changed)


HOSTILE = {
    "nothing": b"",
    "no zip": b"PK\x03\x04 nothing more",
    "text": b"{}",
    "no manifest": zipped(("bodies/" + "0" * 64 + ".txt", b"")),
    "two manifests": zipped(("manifest.json", MANIFEST), ("manifest2.json", MANIFEST)),
    "a path": zipped(("manifest.json", MANIFEST), ("../../etc/passwd", b"x")),
    "an absolute path": zipped(("manifest.json", MANIFEST), ("/etc/passwd", b"x")),
    "a body by another name": zipped(("manifest.json", MANIFEST), ("bodies/../x.txt", b"x")),
    "encrypted": encrypted(zipped(("manifest.json", MANIFEST))),
    "another method": zipped(("manifest.json", MANIFEST), method=zipfile.ZIP_BZIP2),
    "cut": zipped(("manifest.json", MANIFEST))[:-30],
    "no JSON": zipped(("manifest.json", b"{")),
    "another format": zipped(("manifest.json", b'{"format": "x"}')),
    "a later version": zipped(("manifest.json", MANIFEST.replace(b'"version": 1', b'"version": 2'))),
    "deep JSON": zipped(("manifest.json", b"[" * 100_000)),
    "a list": zipped(("manifest.json", b"[]")),
}


@pytest.mark.parametrize("file", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_is_no_export_makes_nothing(owner_api: APIClient, file: bytes) -> None:
    answer = send(owner_api, file)
    assert answer.status_code == 400, answer.content
    assert answer.json()["error"]["message"]
    assert not Prompt.objects.exists()


def test_a_bomb_is_not_unpacked(owner_api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = zipped(("manifest.json", b" " * (archive.MAX_MANIFEST_BYTES + 1)))
    assert len(bomb) < 100_000
    answer = send(owner_api, bomb)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "unpacked_too_large")
    monkeypatch.setattr(archive, "MAX_BODIES", 100)
    crowd = zipped(("manifest.json", MANIFEST), *((f"bodies/{number:064x}.txt", b"") for number in range(200)))
    assert send(owner_api, crowd).json()["error"]["code"] == "too_many_entries"


def test_all_texts_together_have_a_limit(owner_api: APIClient, tree: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    file = export(owner_api, tree)
    monkeypatch.setattr(archive, "MAX_TOTAL_BYTES", 40_000)
    answer = send(owner_api, file)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "unpacked_too_large")
    assert Prompt.objects.count() == 1


def test_a_length_that_lies_is_found_out(owner_api: APIClient, tree: Prompt) -> None:
    """The directory claims one byte: what follows is not read, and the hash tells."""
    file = bytearray(export(owner_api, tree))
    at = file.find(b"PK\x01\x02", file.find(b"PK\x01\x02") + 4)
    file[at + 24 : at + 28] = struct.pack("<I", 1)
    answer = send(owner_api, bytes(file))
    assert answer.status_code == 400
    assert Prompt.objects.count() == 1


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "a parent that comes later": (lambda m: m["versions"][0].update(parent=2), "versions.0.parent"),
    "its own parent": (lambda m: m["versions"][1].update(parent=2), "versions.1.parent"),
    "numbers that fall": (lambda m: m["versions"].reverse(), "versions"),
    "a number twice": (lambda m: m["versions"][1].update(number=1), "versions.1.number"),
    "a merge of one": (lambda m: m["versions"][3].update(merged_parent=2), "versions.3.merged_parent"),
    "another digest": (lambda m: m["versions"][0].update(digest="0" * 64), "versions.0.digest"),
    "another spec": (lambda m: m["versions"][0]["spec"].update(max_tokens=17), "versions.0.digest"),
    "a spec that is none": (lambda m: m["versions"][0]["spec"].update(max_tokens="x"), "versions.0.spec.max_tokens"),
    "a text inside": (lambda m: m["versions"][0]["spec"].update(system="x"), "versions.0.spec"),
    "a text that is elsewhere": (
        lambda m: m["versions"][0]["spec"].update(system={"body": "0" * 64}),
        "versions.0.spec",
    ),
    "an upload": (lambda m: m["versions"][0]["spec"].update(system={"upload": "x"}), "versions.0.spec"),
    "a branch of digits": (lambda m: m["branches"][0].update(name="5"), "branches.0.name"),
    "a branch twice": (lambda m: m["branches"].append(m["branches"][0]), "branches"),
    "a head that is not there": (lambda m: m["branches"][0].update(head=99), "branches.0.head"),
    "a label called latest": (lambda m: m["labels"][0].update(name="latest"), "labels.0.name"),
    "a move from nowhere": (lambda m: m["labels"][0].update(moves=[{"to": 99}]), "labels.0.moves"),
    "no name": (lambda m: m["prompt"].update(name=" "), "name"),
    "a NUL": (lambda m: m["versions"][0].update(message="a\0b"), "message"),
    "a date that is none": (lambda m: m["versions"][0].update(created_at="yesterday"), "versions.0.created_at"),
    "a date without a zone": (
        lambda m: m["versions"][0].update(created_at="2026-01-01T00:00:00"),
        "versions.0.created_at",
    ),
    "a number as text": (lambda m: m["versions"][0].update(number="1"), "versions.0.number"),
    "a huge number": (lambda m: m["versions"][4].update(number=2**40), "versions.4.number"),
}


@pytest.mark.parametrize(("change", "field"), CHANGES.values(), ids=CHANGES.keys())
def test_a_manifest_that_does_not_fit_makes_nothing(
    owner_api: APIClient, tree: Prompt, change: Callable[[dict[str, Any]], None], field: str
) -> None:
    answer = send(owner_api, repacked(export(owner_api, tree), change))
    assert answer.status_code == 400, answer.content
    assert answer.json()["error"]["field"].startswith(field)
    assert Prompt.objects.count() == 1
    assert Version.objects.count() == 5


@pytest.mark.parametrize("data", [b"other words", b"\xff\xfe"])
def test_a_text_under_a_wrong_name_is_refused(owner_api: APIClient, tree: Prompt, data: bytes) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(export(owner_api, tree))) as old, zipfile.ZipFile(out, "w") as new:
        for index, name in enumerate(old.namelist()):
            new.writestr(name, data if index == 2 else old.read(name))
    answer = send(owner_api, out.getvalue())
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "damaged_file")
    assert Prompt.objects.count() == 1


def test_tools_of_a_file_have_to_be_json(owner_api: APIClient) -> None:
    texts = [b"not json", b"hi"]
    names = [hashlib.sha256(text).hexdigest() for text in texts]
    messages = [{"role": "user", "content": {"body": names[1]}}]
    spec = {"model": "m", "max_tokens": 1, "messages": messages, "tools": {"body": names[0]}}
    digest = hashlib.sha256(json.dumps(spec, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    whole = json.loads(MANIFEST)
    whole["versions"] = [{"number": 1, "created_at": "2026-01-01T00:00:00Z", "digest": digest, "spec": spec}]
    entries = [(f"bodies/{name}.txt", text) for name, text in zip(names, texts, strict=True)]
    answer = send(owner_api, zipped(("manifest.json", json.dumps(whole).encode()), *entries))
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "tools")
    assert not Prompt.objects.exists()


def test_a_store_that_goes_away_half_way_leaves_nothing(
    owner_api: APIClient, tree: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, real, calls = export(owner_api, tree), objects.put, iter(range(100))

    def failing(key: str, data: bytes) -> None:
        if next(calls) == 3:
            raise StorageUnavailable
        real(key, data)

    monkeypatch.setattr(objects, "put", failing)
    assert send(owner_api, file).status_code == 503
    assert Prompt.objects.count() == 1
    assert ErasedObjects.objects.count() == 1


def test_a_failed_import_into_a_prompt_leaves_its_texts_to_the_sweep(
    owner_api: APIClient, owner: User, tree: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = services.create_prompt(owner=owner, name="Other")
    file, real, calls = export(owner_api, tree), objects.put, iter(range(100))

    def failing(key: str, data: bytes) -> None:
        if next(calls) == 3:
            raise StorageUnavailable
        real(key, data)

    with monkeypatch.context() as patched:
        patched.setattr(objects, "put", failing)
        assert send(owner_api, file, f"?prompt={other.pk}").status_code == 503
    assert not Version.objects.filter(prompt=other).exists()
    assert not Body.objects.filter(prompt=other, unreferenced_since=None).exists()
    assert send(owner_api, file, f"?prompt={other.pk}").json()["versions_made"] == 5
    assert not Body.objects.filter(prompt=other).exclude(unreferenced_since=None).exists()
    assert export(owner_api, other) != file
    Prompt.objects.filter(pk=other.pk).update(name="Greeting", description="d", tags=["a", "b"], folder="work/x")
    assert export(owner_api, other) == file


async def test_under_asgi_the_file_goes_out_in_pieces() -> None:
    data = bytes(range(256)) * 10_000
    pieces = [piece async for piece in interchange.pieces_async(io.BytesIO(data), lambda: True)]
    assert (b"".join(pieces), len(pieces)) == (data, 3)


async def test_who_loses_access_while_fetching_an_export_gets_no_more_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interchange, "ASK_AGAIN_S", -1.0)
    answers = iter([True, False])
    pieces = interchange.pieces_async(io.BytesIO(bytes(5 * PIECE)), lambda: next(answers))
    assert len(await anext(pieces)) == PIECE
    with pytest.raises(ConnectionAbortedError):
        await anext(pieces)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
STEPS = st.lists(st.tuples(TEXTS, st.integers(0, 9), st.integers(0, 9), st.sampled_from(["main", "b"])), max_size=8)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_any_tree_comes_back_as_it_was(
    owner: User, owner_api: APIClient, steps: list[tuple[str, int, int, str]]
) -> None:
    prompt = services.create_prompt(owner=owner, name="Any")
    versions: list[Version] = []
    for text, at, other, branch in steps:
        spec = parse({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": text}]})
        parent = versions[at % len(versions)] if versions else None
        merged = versions[other % len(versions)] if versions else None
        saved = services.save_version(
            author=owner,
            prompt=prompt,
            spec=spec,
            parent=parent,
            merged=merged if merged != parent else None,
            branch=branch,
        )
        versions.append(saved.version)
    file = export(owner_api, prompt)
    answer = send(owner_api, file).json()
    assert answer["versions_made"] == len(versions)
    assert export(owner_api, answer["prompt"]["id"]) == file
    assert send(owner_api, file, f"?prompt={prompt.pk}").json()["versions_made"] == 0
