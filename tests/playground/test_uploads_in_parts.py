"""Uploads in parts: after a cut, an expired address or a reload only what is missing is sent; others see nothing."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from django.conf import settings
from django.db import IntegrityError, connection
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from playground import services, tasks
from playground.bodies import objects, parts
from playground.models import Body, Prompt, Upload
from playground.services import addresses, sweeping
from tests.playground.uploading import (
    API,
    announce,
    announce_parts,
    complete,
    keys,
    noise,
    pack,
    put,
    put_part,
    put_parts,
    save,
    sha256,
    state,
    store_down,
    unfinished,
    upload,
)

pytestmark = pytest.mark.django_db
MB = 1024 * 1024
TEXT = noise(17 * MB)


def received(shown: dict[str, Any]) -> list[bool]:
    return [part["received"] for part in shown["parts"]]


def test_a_text_goes_in_parts_and_comes_back_whole(owner_api: APIClient, prompt: Prompt) -> None:
    started = announce_parts(owner_api, prompt, TEXT)
    assert set(started) == {"id", "url", "method", "headers", "expires_at", "parts"}
    stretches = [(part["number"], part["offset"], part["size"]) for part in started["parts"]]
    assert stretches == [(1, 0, 8 * MB), (2, 8 * MB, 8 * MB), (3, 16 * MB, MB)]
    assert put_parts(started, TEXT) == [1, 2, 3]
    assert complete(owner_api, started).status_code == 202
    pack(started)
    assert state(owner_api, started) == {"id": started["id"], "status": "complete", "body": sha256(TEXT)}
    assert save(owner_api, prompt, {"upload": started["id"]}).status_code == 201
    assert owner_api.get(f"{API}/prompts/{prompt.pk}/versions/1/texts/0").content == TEXT


def test_after_a_cut_only_what_is_missing_is_sent_to_fresh_addresses(owner_api: APIClient, prompt: Prompt) -> None:
    started = announce_parts(owner_api, prompt, TEXT)
    assert put_part(started["parts"][2], TEXT).is_success

    def half() -> Iterator[bytes]:
        yield TEXT[: 4 * MB]
        raise ConnectionError

    cut = started["parts"][0]
    with pytest.raises(ConnectionError):
        httpx2.put(cut["url"], headers={**cut["headers"], "content-length": str(cut["size"])}, content=half())
    early = complete(owner_api, started)
    assert (early.status_code, early.json()["error"]["code"]) == (409, "not_uploaded")
    shown = state(owner_api, started)
    assert (shown["status"], received(shown)) == ("pending", [False, False, True])
    assert "url" not in shown["parts"][2]
    assert put_parts(shown, TEXT) == [1, 2]
    assert complete(owner_api, started).status_code == 202
    pack(started)
    assert state(owner_api, started)["status"] == "complete"


def test_announcing_the_same_again_goes_on_where_it_was(owner_api: APIClient, prompt: Prompt) -> None:
    """As after a reload of the page: all that is known is the file."""
    first = announce_parts(owner_api, prompt, TEXT)
    put_part(first["parts"][0], TEXT)
    again = announce_parts(owner_api, prompt, TEXT)
    assert (again["id"], received(again)) == (first["id"], [True, False, False])
    put_parts(again, TEXT)
    assert complete(owner_api, again).status_code == 202
    during = announce_parts(owner_api, prompt, TEXT)
    assert (during["id"], received(during)) == (first["id"], [True, True, True])
    assert complete(owner_api, during).status_code == 202
    pack(first)
    after = announce_parts(owner_api, prompt, TEXT)
    assert (after["id"] == first["id"], received(after)) == (False, [False, False, False])
    assert len(unfinished(prompt)) == 1


def test_what_another_person_sends_is_not_gone_on_with(
    owner_api: APIClient, friend_api: APIClient, shared: Prompt, stranger_api: APIClient
) -> None:
    mine = announce_parts(owner_api, shared, TEXT)
    put_parts(mine, TEXT)
    theirs = announce_parts(friend_api, shared, TEXT)
    assert (theirs["id"] == mine["id"], received(theirs)) == (False, [False, False, False])
    assert complete(friend_api, theirs).status_code == 409
    unknown = friend_api.get(f"{API}/uploads/{uuid.uuid4()}")
    for api in (friend_api, stranger_api):
        answer = api.get(f"{API}/uploads/{mine['id']}")
        assert (answer.status_code, answer.json()["error"]) == (404, unknown.json()["error"])
        assert complete(api, mine).status_code == 404


def test_an_upload_of_the_same_text_to_another_prompt_is_another(owner: User, owner_api: APIClient) -> None:
    one, two = (services.create_prompt(owner=owner, name=name) for name in ("One", "Two"))
    first = announce_parts(owner_api, one, TEXT)
    put_parts(first, TEXT)
    second = announce_parts(owner_api, two, TEXT)
    assert (second["id"] == first["id"], received(second)) == (False, [False, False, False])


def test_who_may_no_longer_change_the_prompt_gets_no_addresses(
    owner_api: APIClient, prompt: Prompt, stranger: User
) -> None:
    started = announce_parts(owner_api, prompt, TEXT)
    Prompt.objects.filter(pk=prompt.pk).update(owner=stranger)
    assert owner_api.get(f"{API}/uploads/{started['id']}").status_code == 404


def test_an_address_of_a_part_binds_its_number_length_and_hash(owner_api: APIClient, prompt: Prompt) -> None:
    part = announce_parts(owner_api, prompt, TEXT)["parts"][2]
    changed = b"x" + TEXT[16 * MB + 1 :]
    assert put(part, changed).status_code == 400
    assert put(part, changed[:-1]).status_code == 403
    assert put({**part, "headers": {}}, TEXT[16 * MB :]).status_code == 403
    other = {**part, "url": part["url"].replace("partNumber=3", "partNumber=1")}
    assert put(other, TEXT[16 * MB :]).status_code == 403
    assert put_part(part, TEXT).is_success


def test_an_expired_address_of_a_part_is_replaced(
    owner_api: APIClient, prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(addresses, "ADDRESS_LIVES", timedelta(seconds=3))
        started = announce_parts(owner_api, prompt, TEXT)
        assert put_part(started["parts"][0], TEXT).is_success
        time.sleep(4.1)
        assert put_part(started["parts"][1], TEXT).status_code == 403
    assert put_parts(state(owner_api, started), TEXT) == [2, 3]
    assert complete(owner_api, started).status_code == 202


def test_an_expired_address_of_one_piece_is_replaced(
    owner_api: APIClient, prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(addresses, "ADDRESS_LIVES", timedelta(seconds=1))
        started = announce(owner_api, prompt, b"short")
        time.sleep(2.1)
        assert put(started, b"short").status_code == 403
    fresh = state(owner_api, started)
    assert put(fresh, b"short").is_success
    assert complete(owner_api, started).status_code == 202


def test_an_upload_that_takes_no_more_bytes_gives_no_addresses(owner_api: APIClient, prompt: Prompt) -> None:
    started = announce_parts(owner_api, prompt, TEXT)
    Upload.objects.update(expires_at=timezone.now())
    assert set(state(owner_api, started)) == {"id", "status", "body"}
    assert announce_parts(owner_api, prompt, TEXT)["id"] != started["id"]


def test_a_part_that_is_sent_twice_is_there_once(owner_api: APIClient, prompt: Prompt) -> None:
    started = announce_parts(owner_api, prompt, TEXT)
    for part in (*started["parts"], started["parts"][1], started["parts"][0]):
        assert put_part(part, TEXT).is_success
    assert complete(owner_api, started).status_code == 202
    pack(started)
    assert state(owner_api, started)["status"] == "complete"


@pytest.mark.django_db(transaction=True)
def test_the_same_announced_many_times_at_once_is_one_upload(owner_api: APIClient, prompt: Prompt) -> None:
    barrier, answers = threading.Barrier(4), []

    def run() -> None:
        barrier.wait()
        answers.append(announce_parts(owner_api, prompt, TEXT))
        connection.close()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(answers) == 4
    assert {each["id"] for each in answers} == {str(Upload.objects.get().pk)}
    assert unfinished(prompt) == [Upload.objects.get().multipart_id]
    assert put_parts(answers[0], TEXT) == [1, 2, 3]
    assert received(state(owner_api, answers[3])) == [True, True, True]


def test_parts_may_be_announced_and_all_sent_at_once(owner_api: APIClient, prompt: Prompt) -> None:
    started = announce_parts(owner_api, prompt, TEXT)
    assert put(started, TEXT).is_success
    assert received(state(owner_api, started)) == [True, True, True]
    assert complete(owner_api, started).status_code == 202
    pack(started)
    assert state(owner_api, started)["status"] == "complete"


def test_a_part_replayed_after_the_end_changes_nothing(
    owner_api: APIClient, prompt: Prompt, django_capture_on_commit_callbacks: Any
) -> None:
    started = announce_parts(owner_api, prompt, TEXT)
    put_parts(started, TEXT)
    with django_capture_on_commit_callbacks(execute=True):
        complete(owner_api, started)
        pack(started)
    before = state(owner_api, started)
    assert put_part(started["parts"][0], TEXT).status_code == 404
    assert complete(owner_api, started).json() == before
    assert keys(f"staging/{prompt.pk}/") == []
    assert unfinished(prompt) == []
    assert Body.objects.filter(prompt=prompt).count() == 1


def test_a_death_between_the_joining_and_its_row_is_made_up_for(owner_api: APIClient, prompt: Prompt) -> None:
    started = announce_parts(owner_api, prompt, TEXT)
    put_parts(started, TEXT)
    assert addresses.join_parts(Upload.objects.get(pk=started["id"]))
    assert received(state(owner_api, started)) == [True, True, True]
    assert complete(owner_api, started).status_code == 202


def test_parts_that_the_store_dropped_are_sent_anew(owner_api: APIClient, prompt: Prompt) -> None:
    started = announce_parts(owner_api, prompt, TEXT)
    put_part(started["parts"][0], TEXT)
    row = Upload.objects.get(pk=started["id"])
    parts.abort(row.staging_key, row.multipart_id)
    assert complete(owner_api, started).status_code == 409
    shown = state(owner_api, started)
    assert put_parts(shown, TEXT) == [1, 2, 3]
    assert complete(owner_api, started).status_code == 202


def test_the_store_being_down_loses_no_part(owner_api: APIClient, prompt: Prompt) -> None:
    started = announce_parts(owner_api, prompt, TEXT)
    put_parts(started, TEXT)
    with store_down():
        for answer in (complete(owner_api, started), owner_api.get(f"{API}/uploads/{started['id']}")):
            assert (answer.status_code, answer.json()["error"]["code"]) == (503, "storage_unavailable")
    assert received(state(owner_api, started)) == [True, True, True]
    assert complete(owner_api, started).status_code == 202


def test_the_store_being_down_at_the_announcement_leaves_one_that_can_go_on(
    owner_api: APIClient, prompt: Prompt
) -> None:
    pieces = [sha256(TEXT[start : start + 8 * MB]) for start in range(0, len(TEXT), 8 * MB)]
    declared = {"size": len(TEXT), "sha256": sha256(TEXT), "part_sha256": pieces}
    with store_down():
        answer = owner_api.post(f"{API}/prompts/{prompt.pk}/uploads", declared, format="json", HTTP_IDEMPOTENCY_KEY="k")
    assert answer.status_code == 503
    started = announce_parts(owner_api, prompt, TEXT, HTTP_IDEMPOTENCY_KEY="k")
    assert started["id"] == str(Upload.objects.get().pk)
    assert put_parts(started, TEXT) == [1, 2, 3]


def test_a_part_that_is_not_what_was_announced_makes_all_go_again(owner_api: APIClient, prompt: Prompt) -> None:
    """As in a store that checks no part when it arrives."""
    started = announce_parts(owner_api, prompt, TEXT)
    row = Upload.objects.get(pk=started["id"])
    for part in started["parts"][:2]:
        assert put_part(part, TEXT).is_success
    objects.client().upload_part(
        Bucket=settings.S3_BUCKET,
        Key=row.staging_key,
        UploadId=row.multipart_id,
        PartNumber=3,
        Body=b"y" * MB,
    )
    assert complete(owner_api, started).status_code == 409
    assert put_parts(state(owner_api, started), TEXT) == [1, 2, 3]
    assert complete(owner_api, started).status_code == 202


def test_parts_of_another_whole_are_found_out(owner_api: APIClient, prompt: Prompt) -> None:
    """Each part is what it was announced to be, but together they are not the text."""
    pieces = [sha256(TEXT[start : start + 8 * MB]) for start in range(0, len(TEXT), 8 * MB)]
    declared = {"size": len(TEXT), "sha256": sha256(b"another"), "part_sha256": pieces}
    started = owner_api.post(f"{API}/prompts/{prompt.pk}/uploads", declared, format="json").json()
    put_parts(started, TEXT)
    assert complete(owner_api, started).status_code == 202
    pack(started)
    assert state(owner_api, started)["error"]["code"] == "wrong_hash"
    assert not Body.objects.exists()


@pytest.mark.parametrize(
    "written",
    [[], ["0" * 64], ["0" * 64] * 4, ["0" * 64, "0" * 64, "nonsense"], ["0" * 64, "0" * 64, "A" * 64], "0" * 64],
    ids=["none", "too few", "too many", "no hash", "upper case", "no list"],
)
def test_hashes_of_parts_that_do_not_fit_are_refused(owner_api: APIClient, prompt: Prompt, written: Any) -> None:
    body = {"size": len(TEXT), "sha256": "0" * 64, "part_sha256": written}
    answer = owner_api.post(f"{API}/prompts/{prompt.pk}/uploads", body, format="json")
    assert (answer.status_code, answer.json()["error"]["field"].split(".")[0]) == (400, "part_sha256")
    assert not Upload.objects.exists()


def test_a_whole_number_of_parts_is_that_many(owner_api: APIClient, prompt: Prompt) -> None:
    assert [part["size"] for part in announce_parts(owner_api, prompt, noise(16 * MB))["parts"]] == [8 * MB] * 2
    assert len(announce_parts(owner_api, prompt, b"x")["parts"]) == 1


def test_parts_of_an_abandoned_upload_go_with_it(
    owner_api: APIClient, prompt: Prompt, django_capture_on_commit_callbacks: Any
) -> None:
    started = announce_parts(owner_api, prompt, TEXT)
    put_part(started["parts"][0], TEXT)
    expires = Upload.objects.get(pk=started["id"]).expires_at
    assert timedelta(hours=1) < expires - timezone.now() <= timedelta(hours=2)
    with django_capture_on_commit_callbacks(execute=True):
        assert sweeping.expire_uploads(now=expires + timedelta(minutes=59)) == 0
        assert len(unfinished(prompt)) == 1
        assert sweeping.expire_uploads(now=expires + timedelta(minutes=61)) == 1
    assert unfinished(prompt) == []
    assert put_part(started["parts"][1], TEXT).status_code == 404
    assert state(owner_api, started)["error"]["code"] == "expired"


def test_parts_that_no_upload_awaits_go_after_a_day(owner_api: APIClient, prompt: Prompt) -> None:
    awaited = announce_parts(owner_api, prompt, TEXT)
    lost = parts.begin(f"staging/{prompt.pk}/lost")
    day = timezone.now() + timedelta(hours=25)
    assert sweeping.sweep_parts(now=timezone.now() + timedelta(hours=23)) == 0
    assert lost in unfinished(prompt)
    assert sweeping.sweep_parts(now=day) >= 1
    assert unfinished(prompt) == [Upload.objects.get(pk=awaited["id"]).multipart_id]


def test_parts_of_an_erased_prompt_go(owner_api: APIClient, prompt: Prompt) -> None:
    put_part(announce_parts(owner_api, prompt, TEXT)["parts"][0], TEXT)
    services.trash_prompt(prompt=prompt)
    services.erase_prompt(prompt=prompt, confirmation="Greeting")
    tasks.erase_objects(str(prompt.pk))
    assert unfinished(prompt) == []


def test_an_upload_without_parts_awaits_none(owner: User, prompt: Prompt) -> None:
    started = services.start_upload(account=owner, prompt=prompt, size=1, sha256="0" * 64)
    with pytest.raises(IntegrityError, match="upload_multipart_has_parts"):
        Upload.objects.filter(pk=started.upload.pk).update(multipart_id="made up")


def test_a_small_text_is_sent_in_one_piece_as_before(owner_api: APIClient, prompt: Prompt) -> None:
    started = upload(owner_api, prompt, b"small")
    assert "parts" not in started
    assert unfinished(prompt) == []
