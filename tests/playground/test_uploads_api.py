"""`prompts/{id}/uploads`, `uploads/{id}`, `uploads/{id}/complete`: large texts go to the store directly."""

from __future__ import annotations

import time
import uuid
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from core.errors import Conflict
from playground import services
from playground.bodies import objects
from playground.models import Body, Prompt, Upload, Version
from playground.services import addresses, uploads
from tests.playground.uploading import (
    API,
    announce,
    complete,
    keys,
    noise,
    pack,
    put,
    save,
    sha256,
    state,
    store_down,
    upload,
)

pytestmark = pytest.mark.django_db


def read(api: APIClient, prompt: Prompt, index: int = 0) -> bytes:
    answer = api.get(f"{API}/prompts/{prompt.pk}/versions/latest/texts/{index}")
    assert answer.status_code == 200
    content: bytes = answer.content
    return content


def test_a_text_goes_to_the_store_directly_and_into_a_version(owner_api: APIClient, prompt: Prompt) -> None:
    text = noise(300_000)
    started = announce(owner_api, prompt, text)
    assert set(started) == {"id", "url", "method", "headers", "expires_at"}
    assert put(started, text).is_success
    asked = complete(owner_api, started)
    assert (asked.status_code, asked.json()["status"]) == (202, "processing")
    pack(started)
    assert state(owner_api, started) == {"id": started["id"], "status": "complete", "body": sha256(text)}
    assert complete(owner_api, started).status_code == 200
    assert save(owner_api, prompt, {"upload": started["id"]}).status_code == 201
    assert read(owner_api, prompt) == text
    assert Body.objects.get(sha256=bytes.fromhex(sha256(text))).unreferenced_since is None


def test_the_address_binds_length_type_and_hash_and_nothing_of_newer_defaults(
    owner_api: APIClient, prompt: Prompt
) -> None:
    started = announce(owner_api, prompt, b"text")
    asked = parse_qs(urlsplit(started["url"]).query)
    assert asked["X-Amz-SignedHeaders"] == ["content-length;content-type;host;x-amz-checksum-sha256"]
    assert 890 <= int(asked["X-Amz-Expires"][0]) <= 900
    assert "crc32" not in started["url"].lower()
    assert str(prompt.pk) in started["url"]
    assert "staging/" in started["url"]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"x",
        "\ufeffa byte order mark\r\nand\rall\nends\r\n".encode(),
        b"nul \0 inside, blanks at the end  \n\n",
        "é as one, e\u0301 as two, 👩‍👩‍👧 and 🇪🇺".encode(),
        "👋".encode() * 300_000,
    ],
    ids=["nothing", "one", "bom and line ends", "nul", "accents and emoji", "only emoji"],
)
def test_every_byte_comes_back(owner_api: APIClient, prompt: Prompt, text: bytes) -> None:
    started = upload(owner_api, prompt, text)
    assert save(owner_api, prompt, {"upload": started["id"]}).status_code == 201
    assert read(owner_api, prompt) == text


def test_a_spec_may_hold_several_uploads(owner_api: APIClient, prompt: Prompt) -> None:
    first, second = (upload(owner_api, prompt, text) for text in (b"first", b"second"))
    references = [{"upload": first["id"]}, "in between", {"upload": second["id"]}, {"upload": first["id"].upper()}]
    assert save(owner_api, prompt, *references).status_code == 201
    assert [read(owner_api, prompt, index) for index in range(4)] == [b"first", b"in between", b"second", b"first"]


def test_a_save_that_is_sent_twice_makes_one_version(owner_api: APIClient, prompt: Prompt) -> None:
    started = upload(owner_api, prompt, b"once")
    for _ in range(2):
        answer = save(owner_api, prompt, {"upload": started["id"]}, HTTP_IDEMPOTENCY_KEY="k")
        assert (answer.status_code, answer.json()["number"]) == (201, 1)
    assert Version.objects.count() == 1


TOOLS = b'[{"name": "weather", "input_schema": {"type": "object"}}]'


@pytest.mark.parametrize(
    ("name", "text", "status"),
    [
        ("tools", TOOLS, 201),
        ("tools", b"[{}]", 400),
        ("tools", b"not JSON", 400),
        ("output_schema", b'{"type": "object"}', 201),
        ("output_schema", b"[]", 400),
    ],
)
def test_a_text_named_where_json_belongs_is_checked(
    owner_api: APIClient, prompt: Prompt, name: str, text: bytes, status: int
) -> None:
    spec: dict[str, Any] = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": text.decode()}]}
    url = f"{API}/prompts/{prompt.pk}/versions"
    assert owner_api.post(url, {"spec": spec}, format="json").status_code == 201
    for reference in ({"upload": upload(owner_api, prompt, text)["id"]}, {"body": sha256(text)}):
        answer = owner_api.post(url, {"spec": {**spec, name: reference}}, format="json")
        assert answer.status_code == status
        if status == 400:
            assert answer.json()["error"]["field"] == f"spec.{name}"


def test_what_saving_an_upload_would_change_is_shown_before(owner_api: APIClient, prompt: Prompt) -> None:
    save(owner_api, prompt, "old\n")
    started = upload(owner_api, prompt, b"new\n")
    messages = [{"role": "user", "content": {"upload": started["id"]}}]
    spec = {"model": "test-model", "max_tokens": 16, "messages": messages}
    answer = owner_api.post(f"{API}/prompts/{prompt.pk}/diff", {"from": "1", "spec": spec}, format="json")
    assert (answer.status_code, answer.json()["texts"][0]["added"]) == (200, 1)


def test_other_bytes_than_announced_are_refused_by_the_store(owner_api: APIClient, prompt: Prompt) -> None:
    started = announce(owner_api, prompt, b"announced")
    assert put(started, b"different").status_code == 400
    assert put(started, b"longer than announced").status_code in (400, 403)
    assert complete(owner_api, started).status_code == 409
    assert put(started, b"announced").is_success


def test_completing_before_the_bytes_arrived_says_so_and_costs_nothing(owner_api: APIClient, prompt: Prompt) -> None:
    started = announce(owner_api, prompt, b"late")
    early = complete(owner_api, started)
    assert (early.status_code, early.json()["error"]["code"]) == (409, "not_uploaded")
    assert state(owner_api, started)["status"] == "pending"
    put(started, b"late")
    assert complete(owner_api, started).status_code == 202


def test_an_address_that_expired_takes_nothing(
    owner_api: APIClient, prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(addresses, "ADDRESS_LIVES", timedelta(seconds=-5))
    started = announce(owner_api, prompt, b"too late")  # signed for one second
    time.sleep(2.1)
    assert put(started, b"too late").status_code == 403
    assert complete(owner_api, started).status_code == 409


def test_completing_twice_packs_once(
    owner_api: APIClient, prompt: Prompt, django_capture_on_commit_callbacks: Any
) -> None:
    started = announce(owner_api, prompt, b"double")
    put(started, b"double")
    with django_capture_on_commit_callbacks() as sent:
        answers = [complete(owner_api, started) for _ in range(2)]
    assert [(answer.status_code, answer.json()["status"]) for answer in answers] == [(202, "processing")] * 2
    assert len(sent) == 1


def test_a_put_replayed_after_the_end_changes_nothing(
    owner_api: APIClient, prompt: Prompt, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        started = upload(owner_api, prompt, b"replayed")
    assert keys(f"staging/{prompt.pk}/") == []
    before = state(owner_api, started)
    assert put(started, b"replayed").is_success
    assert complete(owner_api, started).json() == before
    pack(started)
    assert state(owner_api, started) == before
    assert Body.objects.filter(prompt=prompt).count() == 1


@pytest.mark.parametrize(
    ("text", "position"),
    [
        (b"\xff", 0),
        (b"good \xc3\x28", 5),
        (b"a lone half \xed\xa0\xbd", 12),
        (b"x" * (1024 * 1024 - 1) + b"\xf0\x9f\x91", 1024 * 1024 - 1),
        ("é".encode() * (512 * 1024) + b"\x80", 1024 * 1024),
    ],
    ids=["first", "middle", "surrogate", "cut between pieces", "behind the first piece"],
)
def test_bytes_that_are_not_utf8_are_refused_with_their_place(
    owner_api: APIClient, prompt: Prompt, text: bytes, position: int
) -> None:
    shown = state(owner_api, upload(owner_api, prompt, text))
    assert shown["status"] == "failed"
    assert shown["body"] is None
    assert (shown["error"]["code"], shown["error"]["position"]) == ("invalid_utf8", position)
    assert f"byte {position} " in shown["error"]["message"]


@pytest.mark.parametrize(
    ("declared", "code"),
    [({"size": 4}, "wrong_length"), ({"size": 6}, "wrong_length"), ({"sha256": "0" * 64}, "wrong_hash")],
)
def test_a_store_that_checks_nothing_is_not_believed(
    owner_api: APIClient, prompt: Prompt, declared: dict[str, Any], code: str
) -> None:
    started = announce(owner_api, prompt, b"bytes", **declared)
    objects.put(Upload.objects.get(pk=started["id"]).staging_key, b"bytes")
    complete(owner_api, started)
    pack(started)
    assert state(owner_api, started)["error"]["code"] == code
    assert save(owner_api, prompt, {"upload": started["id"]}).json()["error"]["code"] == "no_such_upload"
    assert not Body.objects.exists()


@pytest.mark.parametrize(
    ("declared", "status", "field"),
    [
        ({"size": -1}, 400, "size"),
        ({"size": "many"}, 400, "size"),
        ({"size": None}, 400, "size"),
        ({"size": 64 * 1024 * 1024 + 1}, 413, "size"),
        ({"sha256": "short"}, 400, "sha256"),
        ({"sha256": "A" * 64}, 400, "sha256"),
        ({"near": "nonsense"}, 400, "near"),
    ],
)
def test_a_bad_announcement_names_its_field(
    owner_api: APIClient, prompt: Prompt, declared: dict[str, Any], status: int, field: str
) -> None:
    body = {"size": 1, "sha256": "0" * 64, **declared}
    answer = owner_api.post(f"{API}/prompts/{prompt.pk}/uploads", body, format="json")
    assert (answer.status_code, answer.json()["error"]["field"]) == (status, field)
    assert not Upload.objects.exists()


def test_an_account_has_a_share(owner_api: APIClient, prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_OPEN", 2)
    url, body = f"{API}/prompts/{prompt.pk}/uploads", {"size": 1, "sha256": "0" * 64}
    answers = [owner_api.post(url, body, format="json").status_code for _ in range(3)]
    assert answers == [201, 201, 429]


def test_bytes_that_wait_for_a_version_count_until_one_names_them(
    owner_api: APIClient, prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "MAX_WAITING_BYTES", 10)
    waiting = upload(owner_api, prompt, b"12345678")
    url, body = f"{API}/prompts/{prompt.pk}/uploads", {"size": 3, "sha256": "0" * 64}
    assert owner_api.post(url, body, format="json").json()["error"]["code"] == "too_many_uploads"
    save(owner_api, prompt, {"upload": waiting["id"]})
    assert owner_api.post(url, body, format="json").status_code == 201


def test_one_key_starts_one_upload_with_a_fresh_address(owner: User, prompt: Prompt) -> None:
    given: dict[str, Any] = {"account": owner, "prompt": prompt, "size": 3, "sha256": sha256(b"abc")}
    first, again = (services.start_upload(**given, idempotency_key="k") for _ in range(2))
    assert first.upload == again.upload
    Upload.objects.update(expires_at=timezone.now())
    with pytest.raises(Conflict):
        services.start_upload(**given, idempotency_key="k")


def test_a_text_that_is_there_already_is_answered_like_any_other(
    owner_api: APIClient, prompt: Prompt, django_capture_on_commit_callbacks: Any
) -> None:
    text = noise(40_000)
    assert save(owner_api, prompt, text.decode()).status_code == 201
    row = Body.objects.get(prompt=prompt)
    with django_capture_on_commit_callbacks(execute=True):
        twin, other = upload(owner_api, prompt, text), upload(owner_api, prompt, noise(40_000, seed=4))
    assert state(owner_api, twin).keys() == state(owner_api, other).keys()
    assert Body.objects.get(sha256=row.sha256).object_key == row.object_key
    assert len(keys(f"bodies/{prompt.pk}/")) == 2, "the object of the twin is gone again"
    assert save(owner_api, prompt, {"upload": twin["id"]}).status_code == 201


def test_a_hint_makes_it_a_small_delta_and_a_wrong_one_does_no_harm(owner_api: APIClient, prompt: Prompt) -> None:
    text = noise(200_000)
    upload_id = upload(owner_api, prompt, text)["id"]
    save(owner_api, prompt, {"upload": upload_id})
    edited = text[:90_000] + b"edit" + text[90_000:]
    near = upload(owner_api, prompt, edited, near=sha256(text))
    far = upload(owner_api, prompt, edited + b"!", near="0" * 64)
    assert save(owner_api, prompt, {"upload": near["id"]}, {"upload": far["id"]}).status_code == 201
    assert Body.objects.get(sha256=bytes.fromhex(sha256(edited))).stored_length < 1000
    assert read(owner_api, prompt, 0) == edited
    assert read(owner_api, prompt, 1) == edited + b"!"


def test_only_who_uploaded_a_text_may_use_it(owner_api: APIClient, friend_api: APIClient, shared: Prompt) -> None:
    started = upload(friend_api, shared, b"of the friend")
    for api, status in ((owner_api, 404), (friend_api, 200)):
        assert api.get(f"{API}/uploads/{started['id']}").status_code == status
        assert complete(api, started).status_code == status
    unknown = save(owner_api, shared, {"upload": str(uuid.uuid4())}).json()["error"]
    assert save(owner_api, shared, {"upload": started["id"]}).json()["error"] == unknown
    assert save(owner_api, shared, {"upload": "nonsense"}).json()["error"] == unknown
    assert save(friend_api, shared, {"upload": started["id"]}).status_code == 201


def test_the_hash_of_what_another_person_uploaded_is_as_unknown_as_any(
    owner_api: APIClient, friend_api: APIClient, shared: Prompt
) -> None:
    upload(friend_api, shared, b"not saved yet")
    unknown = save(owner_api, shared, {"body": "0" * 64})
    theirs = save(owner_api, shared, {"body": sha256(b"not saved yet")})
    assert (theirs.status_code, theirs.json()["error"]) == (unknown.status_code, unknown.json()["error"])
    own = save(friend_api, shared, {"body": sha256(b"not saved yet")})
    assert own.json()["error"] == unknown.json()["error"], "an upload is named by its id, also by who made it"


def test_an_upload_of_one_prompt_is_none_of_another(owner_api: APIClient, owner: User, prompt: Prompt) -> None:
    started = upload(owner_api, prompt, b"here")
    other = services.create_prompt(owner=owner, name="Other")
    assert save(owner_api, other, {"upload": started["id"]}).json()["error"]["code"] == "no_such_upload"


def test_a_foreign_hash_is_taken_like_an_unknown_one(
    owner_api: APIClient, stranger_api: APIClient, stranger: User, prompt: Prompt
) -> None:
    """Somebody who guesses a text of another person learns nothing from announcing it."""
    secret = noise(20_000)
    save(owner_api, prompt, secret.decode())
    theirs = services.create_prompt(owner=stranger, name="Theirs")
    known, unknown = (announce(stranger_api, theirs, text) for text in (secret, noise(20_000, seed=9)))
    assert known.keys() == unknown.keys()
    for started in (known, unknown):
        assert complete(stranger_api, started).json()["error"]["code"] == "not_uploaded"
        assert state(stranger_api, started)["body"] is None
    for name in (sha256(secret), "0" * 64):
        assert save(stranger_api, theirs, {"body": name}).json()["error"]["code"] == "no_such_body"


def test_a_stranger_reaches_nothing(
    owner_api: APIClient, stranger_api: APIClient, anonymous_api: APIClient, prompt: Prompt
) -> None:
    started = announce(owner_api, prompt, b"mine")
    for api, status in ((stranger_api, 404), (anonymous_api, 401)):
        body = {"size": 4, "sha256": sha256(b"mine")}
        assert api.post(f"{API}/prompts/{prompt.pk}/uploads", body, format="json").status_code == status
        assert api.get(f"{API}/uploads/{started['id']}").status_code == status
        assert complete(api, started).status_code == status


def test_who_lost_the_prompt_lost_its_uploads(owner_api: APIClient, prompt: Prompt, stranger: User) -> None:
    started = upload(owner_api, prompt, b"text")
    Prompt.objects.filter(pk=prompt.pk).update(owner=stranger)
    assert owner_api.get(f"{API}/uploads/{started['id']}").status_code == 404
    assert complete(owner_api, started).status_code == 404


def test_wrong_verbs_and_bad_ids(owner_api: APIClient, prompt: Prompt) -> None:
    started = announce(owner_api, prompt, b"x")
    assert owner_api.get(f"{API}/prompts/{prompt.pk}/uploads").status_code == 405
    assert owner_api.put(f"{API}/uploads/{started['id']}", {}, format="json").status_code == 405
    assert owner_api.get(f"{API}/uploads/1").status_code == 404
    assert owner_api.get(f"{API}/uploads/{uuid.uuid4()}").status_code == 404


def test_the_store_being_down_at_complete_leaves_the_upload_as_it_was(owner_api: APIClient, prompt: Prompt) -> None:
    started = announce(owner_api, prompt, b"patient")
    put(started, b"patient")
    with store_down():
        answer = complete(owner_api, started)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "storage_unavailable")
    assert state(owner_api, started)["status"] == "pending"
    assert complete(owner_api, started).status_code == 202
