"""A store that accepts connections and answers nothing: a save ends soon, says what is kept, and works again later."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from playground.bodies.held import held_texts
from playground.models import Prompt, Version
from tests.playground.store_front import Front
from tests.playground.uploading import noise

pytestmark = pytest.mark.django_db(transaction=True)

#: Its stored form is too large for its row, so that a text made from it has to be read from the store.
LONG = noise(100_000).hex()


def save(api: APIClient, prompt: Prompt, *texts: str) -> Any:
    messages = [{"role": ("user", "assistant")[turn % 2], "content": text} for turn, text in enumerate(texts)]
    spec = {"model": "m", "max_tokens": 1, "messages": messages}
    return api.post(f"/api/v1/prompts/{prompt.pk}/versions", {"spec": spec}, format="json")


def asked_for(front: Front, verb: bytes) -> int:
    return len([asked for asked in front.asked if asked.startswith(verb)])


def test_a_first_save_is_refused_after_two_tries_and_loses_nothing(
    owner_api: APIClient, prompt: Prompt, impatient: Front
) -> None:
    impatient.silent = True
    answer = save(owner_api, prompt, LONG)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (503, "storage_unavailable")
    assert error["kept"] == "Your text is still in this page."
    assert asked_for(impatient, b"PUT") == 2
    assert not Version.objects.exists()
    impatient.silent = False
    assert save(owner_api, prompt, LONG).status_code == 201


def test_a_save_that_needs_older_texts_does_not_wait_once_for_each(
    owner_api: APIClient, prompt: Prompt, impatient: Front
) -> None:
    texts = [f"{turn}{LONG}" for turn in range(5)]
    assert save(owner_api, prompt, *texts).status_code == 201
    held_texts.forget()
    impatient.silent = True
    impatient.asked.clear()
    answer = save(owner_api, prompt, *[f"{text} and more" for text in texts])
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "storage_unavailable")
    assert (asked_for(impatient, b"GET"), asked_for(impatient, b"PUT")) == (1, 0)
    assert Version.objects.count() == 1
    impatient.silent = False
    impatient.hang_up()
    assert save(owner_api, prompt, *[f"{text} and more" for text in texts]).status_code == 201
