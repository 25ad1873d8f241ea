"""What the worker does behind the pages, done by a real one: packing, indexing, the objects of an erased prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from rest_framework.test import APIClient

from playground.bodies import objects, unstored
from playground.models import ErasedObjects, Prompt
from playground.services import library
from tests.celery_worker import forget_messages, worker
from tests.playground.uploading import (
    API,
    announce,
    announce_parts,
    complete,
    noise,
    put,
    put_parts,
    save,
    state,
    unfinished,
)
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

MB = 1024 * 1024


@pytest.fixture(autouse=True)
def alone() -> None:
    forget_messages()


def stored(prompt: Prompt) -> list[str]:
    """Every object in the bucket whose key names the prompt."""
    pages = objects.client().get_paginator("list_objects_v2").paginate(Bucket=settings.S3_BUCKET)
    keys = [each["Key"] for page in pages for each in page.get("Contents", [])]
    return [key for key in keys if str(prompt.pk) in key]


def found(api: APIClient, words: str) -> list[str]:
    answer = api.get(f"{API}/prompts", {"q": words})
    assert answer.status_code == 200
    return [each["id"] for each in answer.json()["results"]]


def send(api: APIClient, prompt: Prompt, text: bytes) -> dict[str, Any]:
    started = announce(api, prompt, text)
    assert put(started, text).is_success
    assert complete(api, started).status_code == 202
    return started


def test_a_word_in_a_large_text_is_found_once_the_worker_has_read_it(
    owner_api: APIClient, prompt: Prompt, tmp_path: Path
) -> None:
    text = b"a periwinkle in the first line\n" + noise(3 * MB)
    with worker(tmp_path / "worker.log"):
        started = send(owner_api, prompt, text)
        wait_until(lambda: state(owner_api, started)["status"] == "complete")
        assert found(owner_api, "periwinkle") == []
        assert save(owner_api, prompt, {"upload": started["id"]}).status_code == 201
        wait_until(lambda: found(owner_api, "periwinkle") == [str(prompt.pk)])


def test_an_erased_prompt_s_objects_and_parts_are_deleted_by_the_worker(
    owner_api: APIClient, prompt: Prompt, tmp_path: Path
) -> None:
    half = noise(9 * MB)
    with worker(tmp_path / "worker.log"):
        started = send(owner_api, prompt, b"uploaded")
        wait_until(lambda: state(owner_api, started)["status"] == "complete")
        assert save(owner_api, prompt, {"upload": started["id"]}, "x" * 50_000).status_code == 201
        unstored.store_objects()
        put_parts({"parts": announce_parts(owner_api, prompt, half)["parts"][:1]}, half)
        put(announce(owner_api, prompt, b"staged"), b"staged")
        assert (len(stored(prompt)), len(unfinished(prompt))) == (3, 1)
        assert owner_api.post(f"{API}/prompts/{prompt.pk}/trash").status_code == 200
        assert owner_api.delete(f"{API}/prompts/{prompt.pk}", {"name": "Greeting"}, format="json").status_code == 204
        wait_until(lambda: (stored(prompt), unfinished(prompt)) == ([], []))
    assert owner_api.get(f"{API}/prompts/{prompt.pk}").status_code == 404
    assert library.waiting_for_deletion() == [prompt.pk], "for what arrives late"
    assert ErasedObjects.objects.count() == 1
