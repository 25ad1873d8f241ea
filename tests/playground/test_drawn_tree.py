"""The history as pages draw it: rows around the open version in the page, the whole tree in columns."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from accounts.models import User
from playground import services
from playground.drawn_tree import AROUND
from playground.models import Branch, Prompt, Version
from playground.services import SavedVersion

pytestmark = pytest.mark.django_db
Save = Callable[..., SavedVersion]


def columns_of(client: APIClient, prompt: Prompt) -> dict[str, Any]:
    answer: dict[str, Any] = client.get(f"/api/v1/prompts/{prompt.pk}/tree/columns").json()
    return answer


def carried(client: Client, address: str) -> dict[str, Any]:
    """What the page itself knows of the history."""
    page = client.get(address).content.decode()
    found = re.search(r'<script id="history" type="application/json">(.*?)</script>', page)
    assert found is not None
    history: dict[str, Any] = json.loads(found[1])
    return history


@pytest.fixture
def many(prompt: Prompt, owner: User, save: Save) -> list[Version]:
    """500 versions, written as rows: 1 is everybody's parent at each 50th, the others follow the one before."""
    first = save(message="root").version
    versions = [first]
    for number in range(2, 501):
        parent = first if number % 50 == 0 else versions[-1]
        version = Version(prompt=prompt, number=number, parent=parent, author=owner, message=f"m{number}", model="m")
        version.spec, version.digest = first.spec, first.digest
        versions.append(version)
    Version.objects.bulk_create(versions[1:])
    Branch.objects.filter(prompt=prompt).update(head=versions[-1])
    return versions


def test_columns_say_what_the_tree_says(owner_api: APIClient, prompt: Prompt, save: Save) -> None:
    first = save(message="root").version
    second = save(text="b", message="é 🎉").version
    save(text="c", parent=first)
    save(text="d", parent=second, merged=Version.objects.get(prompt=prompt, number=3))
    owner_api.put(f"/api/v1/prompts/{prompt.pk}/labels/production", {"version": 2}, format="json")
    tree = owner_api.get(f"/api/v1/prompts/{prompt.pk}/tree").json()
    columns = columns_of(owner_api, prompt)
    assert columns["numbers"] == [node["number"] for node in tree["nodes"]] == [4, 3, 2, 1]
    assert columns["lane_of"] == [node["lane"] for node in tree["nodes"]]
    assert columns["messages"] == [node["message"] for node in tree["nodes"]]
    assert [columns["people"][place] for place in columns["authors"]] == [node["author"] for node in tree["nodes"]]
    assert (columns["parents"], columns["merged"]) == ([2, 1, 1, 0], [3, 0, 0, 0])
    assert columns["times"][-1] == int(first.created_at.timestamp())
    assert (columns["count"], columns["first"], columns["lanes"]) == (4, 0, 2)
    assert (columns["branches"], columns["labels"]) == (tree["branches"], tree["labels"])


def test_an_author_who_is_gone_has_no_name(owner_api: APIClient, prompt: Prompt, save: Save) -> None:
    save(message="root")
    save(text="b")
    Version.objects.filter(prompt=prompt, number=2).update(author=None)
    columns = columns_of(owner_api, prompt)
    newest, _ = columns["authors"]
    assert columns["people"][newest] is None


def test_a_short_history_is_all_in_the_page(owner_browser: Client, prompt: Prompt, save: Save) -> None:
    save(message="</script><b>")
    save(text="b")
    history = carried(owner_browser, f"/prompts/{prompt.pk}/")
    tree = history["tree"]
    assert (history["number"], history["isPart"]) == (2, False)
    assert (tree["numbers"], tree["messages"][1], tree["lines"]) == ([2, 1], "</script><b>", [[0, 1, 0, 0, False]])
    page = owner_browser.get(f"/prompts/{prompt.pk}/").content.decode()
    assert 'as="fetch"' not in page


def test_a_prompt_without_versions_carries_an_empty_history(owner_browser: Client, prompt: Prompt) -> None:
    history = carried(owner_browser, f"/prompts/{prompt.pk}/")
    assert (history["number"], history["tree"]["count"], history["tree"]["numbers"]) == (0, 0, [])


def test_a_page_carries_the_rows_around_its_version(
    owner_browser: Client, owner_api: APIClient, prompt: Prompt, many: list[Version]
) -> None:
    whole = columns_of(owner_api, prompt)
    for number in (500, 499, 250, 1):
        history = carried(owner_browser, f"/prompts/{prompt.pk}/versions/{number}/")
        tree = history["tree"]
        rows = slice(tree["first"], tree["first"] + len(tree["numbers"]))
        assert history["isPart"]
        assert number in tree["numbers"]
        assert len(tree["numbers"]) <= 2 * AROUND + 1
        for column in ("numbers", "parents", "merged", "lane_of", "times", "messages"):
            assert tree[column] == whole[column][rows]
        assert (tree["count"], tree["lanes"]) == (whole["count"], whole["lanes"])


def test_the_rest_of_a_long_history_is_asked_for_by_the_page(
    owner_browser: Client, prompt: Prompt, many: list[Version]
) -> None:
    page = owner_browser.get(f"/prompts/{prompt.pk}/").content.decode()
    (tree,) = re.findall(r'<link rel="preload"\s+href="([^"]+)"\s+as="fetch"\s+crossorigin>', page)
    assert tree == f"/api/v1/prompts/{prompt.pk}/tree/columns"


def test_unsaved_text_on_another_version_is_marked_and_nobody_elses(
    owner_browser: Client, prompt: Prompt, save: Save, owner: User, friend: User
) -> None:
    first = save(message="root").version
    second = save(text="b").version
    for person, branch, base in ((owner, "main", second), (owner, "idea", first), (friend, "main", first)):
        services.keep_draft(person=person, prompt=prompt, branch=branch, content="{}", base=base, revision=None)
    tree = carried(owner_browser, f"/prompts/{prompt.pk}/")["tree"]
    assert tree["drafts"] == [1]


def test_the_number_of_questions_does_not_grow(
    owner_api: APIClient, owner_browser: Client, prompt: Prompt, save: Save
) -> None:
    counts = []
    for number in range(6):
        save(text=str(number))
        with CaptureQueriesContext(connection) as asked:
            columns_of(owner_api, prompt)
            owner_browser.get(f"/prompts/{prompt.pk}/")
        counts.append(len(asked))
    assert counts[1] == counts[-1]


class TestNothingIsSentTwice:
    def state(self, client: APIClient, prompt: Prompt) -> str:
        answer = client.get(f"/api/v1/prompts/{prompt.pk}/tree/columns", HTTP_ACCEPT_ENCODING="gzip")
        return str(answer["ETag"])

    def test_the_same_tree_is_answered_without_its_rows(self, owner_api: APIClient, prompt: Prompt, save: Save) -> None:
        save()
        path = f"/api/v1/prompts/{prompt.pk}/tree/columns"
        first = owner_api.get(path)
        assert first["Cache-Control"] == "private, no-cache"
        again = owner_api.get(path, HTTP_IF_NONE_MATCH=first["ETag"])
        assert (again.status_code, again.content) == (304, b"")

    def test_it_is_another_after_each_change(
        self, owner_api: APIClient, prompt: Prompt, save: Save, owner: User
    ) -> None:
        save()
        seen = [self.state(owner_api, prompt)]
        for change in (
            lambda: save(text="b"),
            lambda: owner_api.post(f"/api/v1/prompts/{prompt.pk}/branches/main/undo", {}, format="json"),
            lambda: owner_api.put(f"/api/v1/prompts/{prompt.pk}/labels/x", {"version": 1}, format="json"),
            lambda: User.objects.filter(pk=owner.pk).update(name="Somebody Else"),
            lambda: Version.objects.filter(author=owner).update(author=None),
        ):
            change()
            seen.append(self.state(owner_api, prompt))
        assert len(set(seen)) == len(seen)

    def test_a_stranger_learns_nothing_from_it(
        self, owner_api: APIClient, stranger_api: APIClient, anonymous_api: APIClient, prompt: Prompt, save: Save
    ) -> None:
        save()
        path, state = f"/api/v1/prompts/{prompt.pk}/tree/columns", self.state(owner_api, prompt)
        assert stranger_api.get(path, HTTP_IF_NONE_MATCH=state).status_code == 404
        assert anonymous_api.get(path, HTTP_IF_NONE_MATCH=state).status_code == 401


def test_columns_are_packed_for_who_asks_for_it(owner_api: APIClient, prompt: Prompt, many: list[Version]) -> None:
    path = f"/api/v1/prompts/{prompt.pk}/tree/columns"
    packed, plain = owner_api.get(path, HTTP_ACCEPT_ENCODING="gzip"), owner_api.get(path)
    assert packed["Content-Encoding"] == "gzip"
    assert len(packed.content) * 3 < len(plain.content)
