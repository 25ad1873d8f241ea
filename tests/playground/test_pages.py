"""The pages of prompts and runs, for their owner, a stranger and nobody."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from inference_client.models import Run
from playground import services
from playground.models import Prompt, Version, VersionRun
from playground.page_lists import ROWS
from playground.services import SavedVersion, run_version

pytestmark = pytest.mark.django_db
Save = Callable[..., SavedVersion]


@pytest.fixture
def run(owner: User, save: Save) -> Run:
    return run_version(account=owner, version=save().version, values={"name": "Ada"})


def many_prompts(owner: User, count: int) -> None:
    now = timezone.now()
    Prompt.objects.bulk_create(
        Prompt(owner=owner, name=f"Prompt {number:03}", updated_at=now - dt.timedelta(minutes=number))
        for number in range(count)
    )


def test_nobody_is_invited() -> None:
    answer = Client().get("/")
    assert answer.status_code == 200
    assert "Create an account" in answer.text


@pytest.mark.parametrize(
    "path", ["/runs/", "/account/", "/account/keys/", "/prompts/01a22bd2-0000-7000-8000-000000000000/"]
)
def test_nobody_is_asked_to_sign_in_and_led_back(path: str) -> None:
    answer = Client().get(path)
    assert (answer.status_code, answer["Location"]) == (302, f"/accounts/login/?next={path}")


def test_home_lists_what_is_mine(owner_browser: Client, stranger_browser: Client, prompt: Prompt, save: Save) -> None:
    save()
    mine, theirs = owner_browser.get("/"), stranger_browser.get("/")
    assert "Greeting" in mine.text
    assert "v1" in mine.text
    assert "Greeting" not in theirs.text
    assert "Your first prompt" in theirs.text


def test_home_finds_by_name_and_description(owner: User, owner_browser: Client) -> None:
    services.create_prompt(owner=owner, name="Alpha", description="one")
    services.create_prompt(owner=owner, name="Beta", description="two")
    found = owner_browser.get("/", {"q": "TWO"})
    assert "Beta" in found.text
    assert "Alpha" not in found.text
    assert "Nothing matches" in owner_browser.get("/", {"q": "<zzz>"}).text


def test_home_goes_on_where_it_stopped(owner: User, owner_browser: Client) -> None:
    many_prompts(owner, ROWS + 3)
    first = owner_browser.get("/", {"q": "prompt"})
    rest = owner_browser.get(f"/{first.context['more']}")
    names = [row.name for page in (first, rest) for row in page.context["prompts"]]
    assert names == [f"Prompt {number:03}" for number in range(ROWS + 3)]
    assert rest.context["more"] == ""
    assert rest.context["q"] == "prompt"


@pytest.mark.parametrize("path", ["/?cursor=nonsense", "/?cursor=2020-01-01_x", "/runs/?cursor=nonsense"])
def test_a_cursor_that_is_none_is_refused(owner_browser: Client, path: str) -> None:
    assert owner_browser.get(path).status_code == 400


def test_home_asks_the_database_as_often_for_many_as_for_one(
    owner: User, owner_browser: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    many_prompts(owner, ROWS)
    with django_assert_max_num_queries(10):
        owner_browser.get("/")


def test_home_shows_one_state_folder_and_tag(owner: User, owner_browser: Client) -> None:
    rows: dict[str, dict[str, Any]] = {
        "Plain": {},
        "Inside": {"folder": "team/support"},
        "Beside": {"folder": "teams"},
        "Tagged": {"tags": ["a&b"]},
    }
    made = {name: services.create_prompt(owner=owner, name=name, **fields) for name, fields in rows.items()}
    services.archive_prompt(prompt=services.create_prompt(owner=owner, name="Old"))
    services.trash_prompt(prompt=made["Plain"])

    def names(**query: str) -> set[str]:
        return {prompt.name for prompt in owner_browser.get("/", query).context["prompts"]}

    assert names() == {"Inside", "Beside", "Tagged"}
    assert names(state="archived") == {"Old"}
    assert names(state="trashed") == {"Plain"}
    assert names(folder="team") == {"Inside"}
    assert names(folder="") == {"Tagged"}
    assert names(tag="a&b") == {"Tagged"}
    assert "?tag=a%26b" in owner_browser.get("/").text


def test_home_shows_where_the_words_are(owner_browser: Client, save: Save) -> None:
    save("Say <b>marmalade</b> twice")
    found = owner_browser.get("/", {"q": "marmalade"}).text
    assert "&lt;b&gt;<mark>marmalade</mark>&lt;/b&gt; twice" in found


def test_a_large_text_is_not_part_of_the_page(owner_browser: Client, prompt: Prompt, save: Save) -> None:
    save("x" * 200_001)
    page = owner_browser.get(f"/prompts/{prompt.pk}/versions/1/").context["page"]
    assert page["spec"]["messages"][0]["content"]["bytes"] == 200_001


def test_a_prompt_is_made_once_however_often_the_form_is_sent(owner_browser: Client, owner: User) -> None:
    form = {"name": " New one ", "description": "", "key": "one-key"}
    first, second = (owner_browser.post("/prompts/", form) for _ in range(2))
    made = Prompt.objects.get(owner=owner)
    assert made.name == "New one"
    assert first["Location"] == second["Location"] == f"/prompts/{made.pk}/"


def test_a_name_that_cannot_be_is_said_in_the_form(owner_browser: Client) -> None:
    answer = owner_browser.post("/prompts/", {"name": "  ", "description": "kept <b>"})
    assert answer.status_code == 400
    assert "This cannot be empty." in answer.text
    assert "kept &lt;b&gt;" in answer.text
    assert not Prompt.objects.exists()


def test_a_new_prompt_opens_empty(owner_browser: Client, prompt: Prompt) -> None:
    page = owner_browser.get(f"/prompts/{prompt.pk}/").context["page"]
    assert (page["version"], page["spec"]) == (None, None)


def test_a_prompt_opens_at_the_head_of_main(owner_browser: Client, prompt: Prompt, save: Save) -> None:
    first = save("one").version
    save("two", parent=first)
    save("three", parent=first)
    page = owner_browser.get(f"/prompts/{prompt.pk}/").context["page"]
    assert page["version"]["number"] == 2
    assert page["spec"]["messages"][0]["content"] == "two"


@pytest.mark.parametrize("text", ["</script><script>alert(1)</script>", "a\r\nb\0 <!-- \u2028 {{name}} 👩‍👩‍👧‍👦"])
def test_a_text_reaches_the_page_as_data(owner_browser: Client, prompt: Prompt, save: Save, text: str) -> None:
    save(text)
    answer = owner_browser.get(f"/prompts/{prompt.pk}/versions/1/")
    assert answer.context["page"]["spec"]["messages"][0]["content"] == text
    assert "<script>alert" not in answer.text


def test_a_stranger_cannot_tell_a_prompt_from_none(stranger_browser: Client, prompt: Prompt, save: Save) -> None:
    save()
    paths = [f"/prompts/{prompt.pk}/", f"/prompts/{prompt.pk}/versions/1/", f"/prompts/{uuid.uuid4()}/"]
    answers = [stranger_browser.get(path) for path in paths]
    assert {answer.status_code for answer in answers} == {404}
    bodies = {without_request_id(answer) for answer in answers}
    assert len(bodies) == 1


def without_request_id(answer: Any) -> str:
    text: str = answer.text.replace(answer["X-Request-ID"], "")
    return text.replace(str(answer.context["request"].csp_nonce), "")


def test_a_version_that_does_not_exist_is_not_found(owner_browser: Client, prompt: Prompt, save: Save) -> None:
    save()
    for number in ("2", "99999999999999999999"):
        assert owner_browser.get(f"/prompts/{prompt.pk}/versions/{number}/").status_code == 404


def test_runs_list_what_is_mine(owner_browser: Client, stranger_browser: Client, run: Run) -> None:
    assert str(run.pk) in owner_browser.get("/runs/").text
    assert "Nothing has run yet" in stranger_browser.get("/runs/").text


def test_runs_go_on_where_they_stopped(owner: User, owner_browser: Client, save: Save) -> None:
    version: Version = save("Hello").version
    for _ in range(ROWS + 1):
        run_version(account=owner, version=version, values={})
    first = owner_browser.get("/runs/")
    rest = owner_browser.get(f"/runs/{first.context['more']}")
    shown = [row.id for page in (first, rest) for row in page.context["runs"]]
    assert shown == list(VersionRun.objects.order_by("-pk").values_list("pk", flat=True))


def test_runs_ask_the_database_as_often_for_many_as_for_one(
    owner: User, owner_browser: Client, save: Save, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    version = save("Hello").version
    for _ in range(5):
        run_version(account=owner, version=version, values={})
    with django_assert_max_num_queries(7):
        owner_browser.get("/runs/")


def test_a_run_opens_beside_its_version(owner_browser: Client, prompt: Prompt, run: Run) -> None:
    answer = owner_browser.get(f"/runs/{run.pk}/")
    assert answer["Location"] == f"/prompts/{prompt.pk}/versions/1/?run={run.pk}"


def test_a_stranger_cannot_tell_a_run_from_none(stranger_browser: Client, run: Run) -> None:
    assert stranger_browser.get(f"/runs/{run.pk}/").status_code == 404
    assert stranger_browser.get(f"/runs/{uuid.uuid4()}/").status_code == 404


@pytest.mark.parametrize(("verb", "path"), [("get", "/prompts/"), ("post", "/"), ("post", "/runs/")])
def test_another_verb_is_refused(owner_browser: Client, verb: str, path: str) -> None:
    assert getattr(owner_browser, verb)(path).status_code == 405
