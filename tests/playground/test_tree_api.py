"""`.../tree`: everything the drawing needs in one answer and a fixed number of questions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from playground.models import Prompt
from playground.services import SavedVersion

pytestmark = pytest.mark.django_db
Save = Callable[..., SavedVersion]


def test_the_tree_has_nodes_lanes_heads_and_labels(owner_api: APIClient, prompt: Prompt, save: Save) -> None:
    first = save(message="root").version
    save(text="b")
    save(text="c", parent=first)
    owner_api.put(f"/api/v1/prompts/{prompt.pk}/labels/production", {"version": 2}, format="json")
    tree = owner_api.get(f"/api/v1/prompts/{prompt.pk}/tree").json()
    assert [(node["number"], node["parents"], node["lane"]) for node in tree["nodes"]] == [
        (3, [1], 1),
        (2, [1], 0),
        (1, [], 0),
    ]
    assert tree["branches"] == [{"name": "main", "head": 2}, {"name": "main-3", "head": 3}]
    assert [(label["name"], label["version"]) for label in tree["labels"]] == [("production", 2)]
    assert tree["nodes"][2]["message"] == "root"


def test_an_empty_prompt_has_an_empty_tree(owner_api: APIClient, prompt: Prompt) -> None:
    assert owner_api.get(f"/api/v1/prompts/{prompt.pk}/tree").json() == {"nodes": [], "branches": [], "labels": []}


def test_the_number_of_questions_does_not_grow(owner_api: APIClient, prompt: Prompt, save: Save) -> None:
    counts = []
    for number in range(8):
        save(text=str(number))
        with CaptureQueriesContext(connection) as asked:
            owner_api.get(f"/api/v1/prompts/{prompt.pk}/tree")
        counts.append(len(asked))
    assert counts[1] == counts[-1] <= 8


def test_a_stranger_gets_404(stranger_api: APIClient, anonymous_api: APIClient, prompt: Prompt) -> None:
    assert stranger_api.get(f"/api/v1/prompts/{prompt.pk}/tree").status_code == 404
    assert anonymous_api.get(f"/api/v1/prompts/{prompt.pk}/tree").status_code == 401
