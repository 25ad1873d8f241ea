"""The pages of test cases and batches: what they know of the prompt; an address names what belongs together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import User
from playground import services
from playground.models import Prompt
from playground.services import SavedVersion
from playground.spec import parse
from tests.batches.conftest import API
from tests.batches.running import row

pytestmark = pytest.mark.django_db
Save = Callable[..., SavedVersion]


@pytest.fixture
def dataset(owner_api: APIClient, prompt: Prompt, save: Save) -> str:
    save("Greet {{name}}.")
    body = {"name": "Cases <b>", "rows": [row("Ada")]}
    made = owner_api.post(f"{API}/prompts/{prompt.pk}/datasets", body, format="json")
    assert made.status_code == 201, made.content
    return str(made.json()["id"])


@pytest.fixture
def batch(owner_api: APIClient, prompt: Prompt, dataset: str) -> str:
    body = {"dataset": dataset, "versions": [1]}
    made = owner_api.post(f"{API}/prompts/{prompt.pk}/batches", body, format="json")
    assert made.status_code == 201, made.content
    return str(made.json()["id"])


def page_of(browser: Client, address: str) -> dict[str, Any]:
    answer = browser.get(address)
    assert answer.status_code == 200
    page: dict[str, Any] = answer.context["page"]
    return page


def test_columns_are_the_variables_of_the_head_of_main_with_their_cards(
    owner: User, owner_browser: Client, prompt: Prompt, save: Save
) -> None:
    cards = [{"name": "tone", "default": "dry"}, {"name": "unused", "default": "x"}]
    head = save("{{größe}} {{ tone }} {{größe}}", variables=cards).version
    other = parse({"model": "tiny", "max_tokens": 9, "messages": [{"role": "user", "content": "Beside: {{gone}}."}]})
    services.save_version(author=owner, prompt=prompt, spec=other, parent=head, branch="side")
    page = page_of(owner_browser, f"/prompts/{prompt.pk}/tests/")
    assert page["version"] == head.number
    assert [(card["name"], card.get("default")) for card in page["variables"]] == [("größe", None), ("tone", "dry")]


def test_a_prompt_without_a_version_has_the_pages_too(owner_browser: Client, prompt: Prompt) -> None:
    for path in ("tests/", "batches/new/"):
        page = page_of(owner_browser, f"/prompts/{prompt.pk}/{path}")
        assert (page["version"], page["variables"]) == (None, [])


def test_a_new_batch_is_offered_branches_labels_and_the_newest_versions(
    owner: User, owner_browser: Client, prompt: Prompt, save: Save
) -> None:
    first = save("one").version
    services.move_label(actor=owner, prompt=prompt, name="production", to=first)
    save("two", stop_sequences=["x"])
    offers = page_of(owner_browser, f"/prompts/{prompt.pk}/batches/new/")["offers"]
    assert {"name": "production", "number": 1} in offers["labels"]
    assert [each["number"] for each in offers["versions"]] == [2, 1]
    assert "main" in [each["name"] for each in offers["branches"]]


def test_names_are_shown_as_text(owner_browser: Client, prompt: Prompt, dataset: str) -> None:
    answer = owner_browser.get(f"/prompts/{prompt.pk}/tests/{dataset}/").content.decode()
    assert "Cases &lt;b&gt;" in answer
    assert "Cases <b>" not in answer


def test_a_batch_goes_by_its_name_or_that_of_its_cases(owner_browser: Client, prompt: Prompt, batch: str) -> None:
    answer = owner_browser.get(f"/prompts/{prompt.pk}/batches/{batch}/")
    assert answer.context["place_title"] == "Cases <b>"


def test_an_address_that_names_another_prompt_leads_nowhere(
    owner: User, owner_browser: Client, dataset: str, batch: str
) -> None:
    other = services.create_prompt(owner=owner, name="Another")
    for path in (f"tests/{dataset}/", f"batches/{batch}/"):
        assert owner_browser.get(f"/prompts/{other.pk}/{path}").status_code == 404


def test_nothing_of_a_prompt_in_the_trash_is_shown(
    owner_browser: Client, prompt: Prompt, dataset: str, batch: str
) -> None:
    services.trash_prompt(prompt=prompt)
    for path in ("tests/", f"tests/{dataset}/", "batches/new/", f"batches/{batch}/"):
        assert owner_browser.get(f"/prompts/{prompt.pk}/{path}").status_code == 404


def test_who_may_run_the_prompt_sees_its_tests_and_others_do_not(
    shared: Prompt, friend_browser: Client, stranger_browser: Client, dataset: str, batch: str
) -> None:
    for path in ("tests/", f"tests/{dataset}/", "batches/new/", f"batches/{batch}/"):
        assert friend_browser.get(f"/prompts/{shared.pk}/{path}").status_code == 200
        assert stranger_browser.get(f"/prompts/{shared.pk}/{path}").status_code == 404
