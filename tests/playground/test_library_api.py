"""Archive, trash, folders and tags of the library, and forks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import User
from core.errors import InvalidInput
from playground import folders, freezing, services
from playground.models import Body, Prompt, Version
from playground.services import SavedVersion, library
from playground.services.lines import folder_path

pytestmark = pytest.mark.django_db
Save = Callable[..., SavedVersion]
URL = "/api/v1/prompts"


def listed(api: APIClient, **query: str) -> list[str]:
    return [row["name"] for row in api.get(URL, query).json()["results"]]


def test_an_archived_prompt_is_out_of_the_list_and_works_on(
    owner_api: APIClient, owner_browser: Client, prompt: Prompt, save: Save
) -> None:
    save()
    answer = owner_api.post(f"{URL}/{prompt.pk}/archive")
    assert (answer.status_code, answer.json()["trashed_at"]) == (200, None)
    assert answer.json()["archived_at"]
    assert (listed(owner_api), listed(owner_api, state="archived")) == ([], ["Greeting"])
    assert b"Greeting" not in owner_browser.get("/").content
    assert owner_api.get(f"{URL}/{prompt.pk}/versions/1").status_code == 200
    assert owner_api.post(f"{URL}/{prompt.pk}/restore").json()["archived_at"] is None
    assert listed(owner_api) == ["Greeting"]


def trashed_calls(prompt: Prompt, spec: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    url = f"{URL}/{prompt.pk}"
    gets = ["", "/tree", "/versions", "/versions/1", "/versions/1/snippets/curl", "/branches", "/labels", "/drafts"]
    gets += ["/drafts/main", "/export", "/diff?from=1&to=1", "/merge?ours=1&theirs=1"]
    posts: list[tuple[str, dict[str, Any]]] = [("/versions", {"spec": spec}), ("/versions/1/runs", {})]
    posts += [("/branches", {"name": "x"}), ("/uploads", {"size": 1, "sha256": "0" * 64})]
    posts += [("/versions/1/fork", {"name": "x"}), ("/branches/main/undo", {})]
    return [
        *(("get", url + path, {}) for path in gets),
        *(("post", url + path, body) for path, body in posts),
        ("patch", url, {"name": "x"}),
        ("put", f"{url}/labels/production", {"version": 1}),
        ("put", f"{url}/drafts/main", {"content": "{}", "revision": None}),
    ]


def test_a_trashed_prompt_is_404_everywhere_until_restored(
    owner_api: APIClient,
    owner_browser: Client,
    owner: User,
    prompt: Prompt,
    save: Save,
    raw_spec: dict[str, Any],
) -> None:
    run = services.run_version(account=owner, version=save().version, values={"name": "x"})
    assert owner_api.post(f"{URL}/{prompt.pk}/trash").status_code == 200
    for verb, url, body in trashed_calls(prompt, raw_spec):
        assert getattr(owner_api, verb)(url, body, format="json").status_code == 404, url
    for path in (f"/prompts/{prompt.pk}/", f"/runs/{run.pk}/"):
        assert owner_browser.get(path).status_code == 404
    assert b"Greeting" not in owner_browser.get("/runs/").content
    assert (listed(owner_api), listed(owner_api, q="greet"), listed(owner_api, state="archived")) == ([], [], [])
    assert listed(owner_api, state="trashed") == ["Greeting"]
    restored = owner_api.post(f"{URL}/{prompt.pk}/restore")
    assert (restored.status_code, restored.json()["trashed_at"]) == (200, None)
    assert owner_api.get(f"{URL}/{prompt.pk}/versions/1").status_code == 200


def test_the_state_is_one_of_three(owner_api: APIClient) -> None:
    answer = owner_api.get(URL, {"state": "gone"})
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "state")


@pytest.mark.parametrize("step", ["archive", "trash", "restore"])
def test_only_the_owner_puts_it_elsewhere(
    stranger_api: APIClient, friend_api: APIClient, anonymous_api: APIClient, prompt: Prompt, step: str
) -> None:
    assert stranger_api.post(f"{URL}/{prompt.pk}/{step}").status_code == 404
    assert friend_api.post(f"{URL}/{prompt.pk}/{step}").status_code == 404
    assert anonymous_api.post(f"{URL}/{prompt.pk}/{step}").status_code == 401
    prompt.refresh_from_db()
    assert (prompt.archived_at, prompt.trashed_at) == (None, None)


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("", ""),
        ("/", ""),
        (" work / client a ", "work/client a"),
        ("//a///b/", "a/b"),
        ("a  b\tc", "a b c"),
        ("Zu\u0308rich", "Zürich"),
        ("質問/👍", "質問/👍"),
    ],
)
def test_a_folder_is_kept_in_one_form(written: str, kept: str) -> None:
    assert folder_path("folder", written) == kept


@pytest.mark.parametrize("written", ["..", "a/./b", "a\0b", "a\u202eb", "a/" * 11 + "b", "x" * 101])
def test_a_folder_that_cannot_be_is_refused(written: str) -> None:
    with pytest.raises(InvalidInput):
        folder_path("folder", written)


def test_folders_are_a_tree_with_counts(owner_api: APIClient, owner: User, stranger: User) -> None:
    for folder in ("work/client", "work/client", "work", "", "Äpfel"):
        services.create_prompt(owner=owner, name="x", folder=folder)
    services.create_prompt(owner=stranger, name="x", folder="theirs")
    services.trash_prompt(prompt=services.create_prompt(owner=owner, name="x", folder="trashed"))
    first, second = owner_api.get("/api/v1/folders").json()["results"]
    client = {"name": "client", "path": "work/client", "count": 2, "total": 2, "children": []}
    assert first == {"name": "work", "path": "work", "count": 1, "total": 3, "children": [client]}
    assert second["path"] == "Äpfel"
    assert folders.tree({}) == []


def test_a_prompt_is_moved_into_a_folder(owner_api: APIClient, prompt: Prompt) -> None:
    answer = owner_api.patch(f"{URL}/{prompt.pk}", {"folder": " a /b "}, format="json")
    assert (answer.status_code, answer.json()["folder"]) == (200, "a/b")
    assert listed(owner_api, folder="a/b") == ["Greeting"]
    bad = owner_api.patch(f"{URL}/{prompt.pk}", {"folder": "../x"}, format="json")
    assert (bad.status_code, bad.json()["error"]["field"]) == (400, "folder")


def test_tags_are_counted(owner_api: APIClient, owner: User, stranger: User) -> None:
    for tags in (["b", "a", "b"], ["b"]):
        services.create_prompt(owner=owner, name="x", tags=tags)
    services.create_prompt(owner=stranger, name="x", tags=["theirs"])
    assert owner_api.get("/api/v1/tags").json()["results"] == [{"name": "a", "count": 1}, {"name": "b", "count": 2}]


@pytest.mark.parametrize("path", ["/api/v1/folders", "/api/v1/tags"])
def test_nobody_has_no_folders(anonymous_api: APIClient, path: str) -> None:
    assert anonymous_api.get(path).status_code == 401


def test_a_version_is_forked_into_a_new_prompt(owner_api: APIClient, prompt: Prompt, save: Save) -> None:
    save()
    second = save(text="Hello\r\n\0 {{name}} 👍" * 50).version
    save(text="third")
    answer = owner_api.post(f"{URL}/{prompt.pk}/versions/2/fork", {"name": "Copy"}, format="json")
    assert answer.status_code == 201
    made = answer.json()
    assert (made["prompt"]["name"], made["prompt"]["latest_number"], made["version"]["number"]) == ("Copy", 1, 1)
    copy = Version.objects.get(prompt_id=made["prompt"]["id"])
    assert copy.message == "Forked from Greeting, version 2"
    assert (copy.digest, freezing.thaw(copy)) == (second.digest, freezing.thaw(second))
    assert set(Body.objects.filter(prompt=copy.prompt).values_list("base", flat=True)) == {None}
    assert owner_api.get(f"{URL}/{copy.prompt_id}/versions/main").status_code == 200


def test_a_fork_outlives_its_source(owner: User, prompt: Prompt, save: Save) -> None:
    copy = services.fork_prompt(actor=owner, version=save().version, name="Copy")
    services.trash_prompt(prompt=prompt)
    services.erase_prompt(prompt=prompt, confirmation="Greeting")
    library.delete_objects(prompt_id=prompt.pk)
    Body.objects.filter(prompt=copy.prompt).update(inline=None)
    assert freezing.thaw(copy)["system"] == "You greet people."


def test_one_key_makes_one_fork(owner_api: APIClient, prompt: Prompt, save: Save) -> None:
    save()
    url = f"{URL}/{prompt.pk}/versions/1/fork"
    answers = [owner_api.post(url, {"name": "C"}, format="json", headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert answers[0].json()["prompt"]["id"] == answers[1].json()["prompt"]["id"]


def test_a_fork_needs_a_name_and_a_readable_version(
    owner_api: APIClient, stranger_api: APIClient, anonymous_api: APIClient, prompt: Prompt, save: Save
) -> None:
    save()
    url = f"{URL}/{prompt.pk}/versions/1/fork"
    assert owner_api.post(url, {"name": " "}, format="json").json()["error"]["field"] == "name"
    assert owner_api.post(f"{URL}/{prompt.pk}/versions/9/fork", {"name": "x"}, format="json").status_code == 404
    assert stranger_api.post(url, {"name": "x"}, format="json").status_code == 404
    assert anonymous_api.post(url, {"name": "x"}, format="json").status_code == 401
    assert Prompt.objects.count() == 1


@pytest.fixture
def shared_with_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the owner had made everybody an editor: who decides that is not the matter here."""
    monkeypatch.setattr("sharing.permissions.PromptAccessBackend.has_perm", lambda *args, **options: True)


@pytest.mark.usefixtures("shared_with_all")
def test_an_editor_who_does_not_own_it_is_told_so(friend_api: APIClient, prompt: Prompt) -> None:
    for step in ("archive", "trash", "restore"):
        answer = friend_api.post(f"{URL}/{prompt.pk}/{step}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "not_allowed")
    assert friend_api.delete(f"{URL}/{prompt.pk}", {"name": "Greeting"}, format="json").status_code == 403
    services.trash_prompt(prompt=prompt)
    assert friend_api.post(f"{URL}/{prompt.pk}/restore").status_code == 404


@pytest.mark.usefixtures("shared_with_all")
def test_an_editor_sees_no_drafts_but_their_own(owner_api: APIClient, friend_api: APIClient, prompt: Prompt) -> None:
    url = f"{URL}/{prompt.pk}/drafts"
    for api, content in ((owner_api, '"owner"'), (friend_api, '"friend"')):
        assert api.put(f"{url}/main", {"content": content, "revision": None}, format="json").status_code == 200
        assert api.get(f"{url}/main").json()["content"] == content
        assert len(api.get(url).json()["results"]) == 1


@pytest.mark.usefixtures("shared_with_all")
def test_a_friend_forks_and_exports_what_is_shared(friend_api: APIClient, friend: User, save: Save) -> None:
    prompt = save().version.prompt
    answer = friend_api.post(f"{URL}/{prompt.pk}/versions/latest/fork", {"name": "Mine"}, format="json")
    assert answer.status_code == 201
    assert Prompt.objects.get(pk=answer.json()["prompt"]["id"]).owner == friend
    assert friend_api.get(f"{URL}/{prompt.pk}/export").status_code == 200


def test_a_place_is_changed_by_post_only(owner_api: APIClient, prompt: Prompt) -> None:
    for place in ("archive", "trash", "restore"):
        assert owner_api.put(f"/api/v1/prompts/{prompt.pk}/{place}", {}, format="json").status_code == 405
