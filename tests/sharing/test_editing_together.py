"""An editor works on somebody else's prompt: versions are theirs on its branches, drafts and runs their own."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from playground import services
from playground.models import Prompt, Version, VersionRun
from sharing.models import Grant
from sharing.services import change_role, grant_access, revoke_grant

pytestmark = pytest.mark.django_db
SPEC = {"model": "test-model", "max_tokens": 9, "messages": [{"role": "user", "content": "Changed."}]}


@pytest.fixture
def grant(owner: User, friend: User, prompt: Prompt) -> Grant:
    return grant_access(person=owner, prompt=prompt, account=friend, role="editor")


def test_a_version_of_an_editor_is_on_the_branch_and_by_them(
    friend: User, friend_api: APIClient, prompt: Prompt, version: Version, grant: Grant
) -> None:
    answer = friend_api.post(f"/api/v1/prompts/{prompt.pk}/versions", {"spec": SPEC, "parent": 1}, format="json")
    assert (answer.status_code, answer.json()["branch"], answer.json()["forked"]) == (201, "main", False)
    assert Version.objects.get(pk=answer.json()["id"]).author == friend


def test_an_editor_moves_branches_and_labels(
    friend_api: APIClient, prompt: Prompt, version: Version, grant: Grant
) -> None:
    url = f"/api/v1/prompts/{prompt.pk}"
    assert friend_api.post(f"{url}/branches", {"name": "side", "at": 1}, format="json").status_code == 201
    assert friend_api.put(f"{url}/labels/production", {"version": 1}, format="json").status_code == 200
    assert friend_api.patch(url, {"name": "Theirs"}, format="json").status_code == 403


def test_what_is_shared_is_found_by_words_and_asked_for_by_name(
    friend_api: APIClient, stranger_api: APIClient, prompt: Prompt, version: Version, grant: Grant
) -> None:
    def names(api: APIClient, query: str) -> list[str]:
        return [row["name"] for row in api.get(f"/api/v1/prompts{query}").json()["results"]]

    assert names(friend_api, "") == []
    assert names(friend_api, "?q=greet") == names(friend_api, "?whose=shared") == ["Greeting"]
    assert names(friend_api, "?q=greet&whose=mine") == []
    assert names(stranger_api, "?q=greet") == []


def test_runs_stay_with_their_sender_and_end_with_access(
    owner: User,
    owner_api: APIClient,
    friend: User,
    friend_api: APIClient,
    prompt: Prompt,
    version: Version,
    grant: Grant,
) -> None:
    run = services.run_version(account=friend, version=version, values={"name": "Ada"})
    url = f"/api/v1/runs/{run.pk}"
    assert friend_api.get(url).status_code == 200
    assert owner_api.get(url).status_code == 404
    revoke_grant(person=owner, grant=grant)
    assert friend_api.get(url).status_code == 404
    assert friend_api.get(f"{url}/events").status_code == 404
    assert not VersionRun.objects.visible_to(friend).exists()


def test_a_viewer_who_was_an_editor_reads_and_writes_nothing_more(
    owner: User, friend_api: APIClient, prompt: Prompt, version: Version, grant: Grant
) -> None:
    change_role(person=owner, grant=grant, role="viewer")
    url = f"/api/v1/prompts/{prompt.pk}"
    assert friend_api.get(f"{url}/versions/1").status_code == 200
    assert friend_api.post(f"{url}/versions", {"spec": SPEC}, format="json").status_code == 403
    assert friend_api.get(f"{url}/access").json()["role"] == "viewer"


def test_an_upload_ends_with_access(
    owner: User, friend: User, friend_api: APIClient, prompt: Prompt, version: Version, grant: Grant
) -> None:
    upload = services.start_upload(account=friend, prompt=prompt, size=3, sha256="a" * 64).upload
    assert friend_api.get(f"/api/v1/uploads/{upload.pk}").status_code == 200
    revoke_grant(person=owner, grant=grant)
    assert friend_api.get(f"/api/v1/uploads/{upload.pk}").status_code == 404
