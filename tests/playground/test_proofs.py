"""Which run a snippet is held against: the last one that its reader made of the version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from inference_client.models import RunKind
from playground import freezing
from playground.models import Prompt
from playground.services import SavedVersion, run_version
from playground.services.runs import prepare_run, queue_run

pytestmark = pytest.mark.django_db
Save = Callable[..., SavedVersion]


def proof(api: APIClient, prompt: Prompt) -> dict[str, Any]:
    path = f"/api/v1/prompts/{prompt.pk}/versions/1/snippets/curl"
    answer = api.post(path, {"variables": {"name": "Ada"}}, format="json")
    assert answer.status_code == 200, answer.content
    told: dict[str, Any] = answer.json()
    return told


def test_runs_of_a_batch_are_not_what_somebody_ran_last(
    owner: User, owner_api: APIClient, prompt: Prompt, save: Save
) -> None:
    version = save().version
    run = run_version(account=owner, version=version, values={"name": "Ada"})
    other = prepare_run(version=version, spec=freezing.thaw(version), values={"name": "row 7"})
    queue_run(account=owner, prepared=other, kind=RunKind.BATCH)
    told = proof(owner_api, prompt)
    assert (told["last_run"]["id"], told["equal"]) == (str(run.pk), True)


def test_a_run_of_somebody_else_proves_nothing(
    owner: User, owner_api: APIClient, friend_api: APIClient, shared: Prompt, save: Save
) -> None:
    run_version(account=owner, version=save().version, values={"name": "Ada"})
    assert proof(owner_api, shared)["equal"] is True
    assert proof(friend_api, shared)["last_run"] is None
