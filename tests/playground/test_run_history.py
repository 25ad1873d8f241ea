"""The runs a person made, on pages and over the API: filters, paging, and what becomes of runs whose prompt is gone."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from accounts.models import User
from core.ids import first_id_at
from inference_client.models import Provider, Run, RunKind, RunStatus
from inference_client.outcomes import Ending
from inference_client.services import claim_run, create_run, finish_run, request_cancel
from playground import services
from playground.models import Prompt, VersionRun
from playground.run_history import RunFilter
from playground.run_pages import money
from playground.services import SavedVersion, run_version
from playground.services.runs import prepare_run, queue_run
from sharing.models import Grant
from sharing.services import revoke_grant

pytestmark = pytest.mark.django_db

LIST = "/api/v1/runs"
Save = Callable[..., SavedVersion]
Make = Callable[..., Run]


@pytest.fixture
def make(owner: User, save: Save) -> Make:
    """`make(account=..., kind=..., **options of run_version)`: a run of the prompt's first version."""
    version = save().version

    def act(*, account: User = owner, kind: str = RunKind.SINGLE, **options: Any) -> Run:
        given: dict[str, Any] = {"version": version, "values": {"name": "Ada"}, **options}
        run = run_version(account=account, **given)
        Run.objects.filter(pk=run.pk).update(kind=kind)
        return run

    return act


def finished(run: Run, **changes: Any) -> Run:
    claimed = claim_run(run_id=run.pk)
    assert claimed is not None
    ending = Ending(
        **{"status": RunStatus.SUCCEEDED, "output": "Good  morning,\n Ada", "stop_reason": "end_turn", **changes}
    )
    assert finish_run(run=claimed, ending=ending)
    return Run.objects.get(pk=run.pk)


def ids(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.content
    return [row["id"] for row in answer.json()["results"]]


def shown(page: Any) -> list[str]:
    return [str(row.id) for row in page.context["runs"]]


def test_a_row_tells_what_ran_and_how_it_went(owner_api: APIClient, prompt: Prompt, make: Make) -> None:
    response = {"usage": {"input_tokens": 1000, "output_tokens": 100}}
    run = finished(make(), response=response, input_tokens=1000, output_tokens=100)
    Run.objects.filter(pk=run.pk).update(provider=Provider.ANTHROPIC, cost_usd="0.003")
    [row] = owner_api.get(LIST).json()["results"]
    assert row["prompt"] == {"id": str(prompt.pk), "name": "Greeting", "version": 1}
    assert (row["excerpt"], row["cost_usd"], row["kind"]) == ("Good morning, Ada", 0.003, "single")
    assert (row["provider"], row["comparison"]) == ("anthropic", None)
    assert row["timings"]["queue_ms"] >= 0


def test_runs_are_filtered_by_each_of_their_properties(owner_api: APIClient, prompt: Prompt, make: Make) -> None:
    plain = make()
    stopped = request_cancel(run=make())
    other = make(model="another-model")
    compared = make(kind=RunKind.COMPARISON)
    Run.objects.filter(pk=other.pk).update(provider=Provider.ANTHROPIC)
    every = [str(run.pk) for run in (compared, other, stopped, plain)]
    for query, expected in {
        "": every,
        "?status=cancelled": [str(stopped.pk)],
        "?model=another-model": [str(other.pk)],
        "?provider=anthropic": [str(other.pk)],
        "?kind=comparison": [str(compared.pk)],
        "?author=me": every,
        f"?prompt={prompt.pk}": every,
        f"?prompt={prompt.pk}&version=1": every,
        f"?prompt={prompt.pk}&version=2": [],
        f"?prompt={uuid.uuid4()}": [],
        f"?author={uuid.uuid4()}": [],
        "?status=queued&kind=single&model=test-model": [str(plain.pk)],
    }.items():
        assert ids(owner_api.get(LIST + query)) == expected, query


def test_runs_of_a_batch_are_listed_when_they_are_asked_for(
    owner_api: APIClient, owner_browser: Client, prompt: Prompt, make: Make
) -> None:
    single, many = make(), make(kind=RunKind.BATCH)
    assert ids(owner_api.get(LIST)) == [str(single.pk)]
    assert ids(owner_api.get(f"{LIST}?kind=batch")) == [str(many.pk)]
    assert ids(owner_api.get(f"{LIST}?kind=all")) == [str(many.pk), str(single.pk)]
    assert shown(owner_browser.get(f"/prompts/{prompt.pk}/runs/?kind=batch")) == [str(many.pk)]


def test_a_version_has_its_own_runs(owner: User, owner_browser: Client, prompt: Prompt, make: Make, save: Save) -> None:
    first = make()
    second = run_version(account=owner, version=save("Hello").version, values={})
    page = f"/prompts/{prompt.pk}/runs/"
    assert shown(owner_browser.get(page)) == [str(second.pk), str(first.pk)]
    assert shown(owner_browser.get(f"{page}?version=1")) == [str(first.pk)]
    assert shown(owner_browser.get(f"{page}?version=2")) == [str(second.pk)]
    elsewhere = owner_browser.get(f"/runs/?prompt={prompt.pk}&version=2")
    assert elsewhere["Location"] == f"{page}?version=2"


def test_days_and_moments_bound_the_list(owner_api: APIClient, owner_browser: Client, make: Make) -> None:
    run = make()
    today = run.queued_at.date()
    tomorrow, yesterday = today + dt.timedelta(days=1), today - dt.timedelta(days=1)
    assert ids(owner_api.get(f"{LIST}?since={yesterday}&until={tomorrow}")) == [str(run.pk)]
    assert ids(owner_api.get(f"{LIST}?since={tomorrow}")) == []
    assert ids(owner_api.get(f"{LIST}?until={yesterday}")) == []
    just_after = (run.queued_at + dt.timedelta(milliseconds=5)).isoformat()
    assert ids(owner_api.get(LIST, {"until": just_after})) == [str(run.pk)]
    assert ids(owner_api.get(LIST, {"since": just_after})) == []
    page = owner_browser.get("/runs/", {"since": str(today), "until": str(today)})
    assert f'value="{today}"' in page.text
    assert page.context["last_day"].date() == today


def test_an_id_begins_with_the_millisecond_of_its_run(make: Make) -> None:
    run = make()
    assert first_id_at(run.queued_at - dt.timedelta(milliseconds=50)) < run.pk
    assert run.pk < first_id_at(run.queued_at + dt.timedelta(milliseconds=50))


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("status=paused", "status"),
        ("provider=openai", "provider"),
        ("kind=other", "kind"),
        ("prompt=1", "prompt"),
        ("version=1", "version"),
        ("version=0", "version"),
        ("version=99999999999", "version"),
        ("author=olive", "author"),
        ("since=yesterday", "since"),
        ("until=9999-12-31", "until"),
        ("since=1950-01-01", "since"),
        ("cursor=x", "cursor"),
        ("limit=0", "limit"),
    ],
)
def test_a_bad_question_is_refused_by_name(
    owner_api: APIClient, owner_browser: Client, make: Make, query: str, field: str
) -> None:
    answer = owner_api.get(f"{LIST}?{query}")
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)
    if field != "limit":
        assert owner_browser.get(f"/runs/?{query}").status_code == 400


def test_everybody_lists_their_own_runs_also_those_of_somebody_elses_prompt(
    owner_api: APIClient,
    friend_api: APIClient,
    stranger_api: APIClient,
    owner: User,
    friend: User,
    shared: Prompt,
    make: Make,
) -> None:
    mine, theirs = make(), make(account=friend)
    query = f"{LIST}?prompt={shared.pk}&author="
    assert ids(owner_api.get(query)) == [str(mine.pk)]
    assert ids(friend_api.get(query)) == [str(theirs.pk)]
    assert ids(owner_api.get(f"{query}{friend.pk}")) == []
    assert ids(friend_api.get(f"{query}{friend.pk}")) == [str(theirs.pk)]
    assert ids(stranger_api.get(query)) == []


def test_a_prompt_that_is_not_ones_own_has_no_page_of_runs(
    stranger_browser: Client, anonymous_api: APIClient, prompt: Prompt
) -> None:
    for path in (f"/prompts/{prompt.pk}/runs/", f"/prompts/{uuid.uuid4()}/runs/", f"/runs/?prompt={prompt.pk}"):
        assert stranger_browser.get(path).status_code == 404
    assert anonymous_api.get(LIST).status_code == 401
    assert Client().get(f"/prompts/{prompt.pk}/runs/").status_code == 302


@pytest.fixture
def gone(request: pytest.FixtureRequest, owner: User, friend: User, shared: Prompt, make: Make) -> tuple[User, Run]:
    """A run whose prompt its maker cannot see any more, in the way that the parameter names."""
    person = friend if request.param == "revoked" else owner
    run = make(account=person)
    if request.param == "revoked":
        revoke_grant(person=owner, grant=Grant.objects.get(prompt=shared, account=friend))
    else:
        services.trash_prompt(prompt=shared)
    if request.param == "erased":
        services.erase_prompt(prompt=Prompt.objects.get(pk=shared.pk), confirmation=shared.name)
    return person, run


@pytest.mark.parametrize("gone", ["trashed", "erased", "revoked"], indirect=True)
def test_a_run_whose_prompt_is_gone_is_on_no_list_and_the_same_404(
    gone: tuple[User, Run], browser_for: Callable[[User], Client], api_for: Callable[[User], APIClient]
) -> None:
    person, run = gone
    browser, api = browser_for(person), api_for(person)
    assert shown(browser.get("/runs/?kind=all")) == []
    assert ids(api.get(f"{LIST}?kind=all")) == []
    for path in (f"/runs/{run.pk}/", f"/runs/{uuid.uuid4()}/"):
        assert browser.get(path).status_code == 404
    for path in (f"{LIST}/{run.pk}", f"{LIST}/{uuid.uuid4()}"):
        answer = api.get(path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    assert api.post(f"{LIST}/cancel", {"ids": [str(run.pk)]}, format="json").json()["results"] == []


@pytest.mark.parametrize("gone", ["trashed"], indirect=True)
def test_a_run_comes_back_with_its_prompt(gone: tuple[User, Run], owner_browser: Client, prompt: Prompt) -> None:
    services.restore_prompt(prompt=Prompt.objects.get(pk=prompt.pk))
    assert shown(owner_browser.get("/runs/")) == [str(gone[1].pk)]


def test_a_run_of_no_prompt_is_listed_as_such(owner: User, owner_api: APIClient, owner_browser: Client) -> None:
    body = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "Hi"}]}
    run = create_run(account=owner, body=body, api_version="2023-06-01")
    assert owner_api.get(LIST).json()["results"][0]["prompt"] is None
    page = owner_browser.get("/runs/")
    assert "No prompt" in page.text
    assert owner_browser.get(f"/runs/{run.pk}/").status_code == 404


def test_several_runs_are_stopped_by_one_call(
    owner_api: APIClient, friend_api: APIClient, friend: User, shared: Prompt, make: Make
) -> None:
    runs = [make() for _ in range(3)]
    done = finished(make())
    theirs = make(account=friend)
    asked = [str(run.pk) for run in (*runs, done, theirs)] + [str(uuid.uuid4())]
    answer = owner_api.post(f"{LIST}/cancel", {"ids": asked}, format="json")
    assert answer.status_code == 202
    states = {row["id"]: row["status"] for row in answer.json()["results"]}
    assert states == {**{str(run.pk): "cancelled" for run in runs}, str(done.pk): "succeeded"}
    assert Run.objects.get(pk=theirs.pk).status == RunStatus.QUEUED


@pytest.mark.parametrize("ids_", [[], ["x"], "x", [str(uuid.uuid4())] * 101, None])
def test_a_stop_of_what_are_no_ids_is_refused(owner_api: APIClient, ids_: object) -> None:
    answer = owner_api.post(f"{LIST}/cancel", {"ids": ids_}, format="json")
    assert answer.status_code == 400


def test_a_run_in_a_comparison_leads_to_it(owner: User, owner_browser: Client, prompt: Prompt, save: Save) -> None:
    version = save("Hello").version
    column = services.comparisons.Column(version=version, model=None, parameters={})
    comparison = services.comparisons.start_comparison(
        account=owner, prompt=prompt, columns=[column, column], values={}, repetitions=1
    )
    page = owner_browser.get("/runs/?kind=comparison")
    assert len(shown(page)) == 2
    assert f"/prompts/{prompt.pk}/columns/{comparison.pk}/" in page.text


def test_what_a_row_shows_is_escaped_and_short(owner_browser: Client, make: Make) -> None:
    finished(make(), output="<script>alert(1)</script>\x00\n" + "very long " * 1000)
    page = owner_browser.get("/runs/").text
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    [run] = Run.objects.all()
    assert len(run.excerpt) <= 200


def test_a_failed_run_without_an_answer_shows_what_went_wrong(owner_browser: Client, make: Make) -> None:
    finished(
        make(), status=RunStatus.FAILED, output="", stop_reason="", error_code="timeout", error_message="Too slow."
    )
    [row] = owner_browser.get("/runs/").context["runs"]
    assert (row.excerpt, row.is_problem) == ("Too slow.", True)


def test_a_page_of_one_prompts_runs_asks_as_often_for_many_as_for_one(
    owner_browser: Client, prompt: Prompt, make: Make, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(5):
        make()
    with django_assert_max_num_queries(12):
        owner_browser.get(f"/prompts/{prompt.pk}/runs/")


@pytest.mark.parametrize(
    ("usd", "words"),
    [
        (None, ""),
        ("0", "$0.00"),
        ("1234.5", "$1,234.50"),
        ("0.25", "$0.25"),
        ("0.0042", "$0.0042"),
        ("0.00007", "$0.000070"),
        ("0.00000001", "$0.00000001"),
    ],
)
def test_money_in_a_row_says_two_digits(usd: str | None, words: str) -> None:
    assert money(None if usd is None else Decimal(usd)) == words


def test_a_million_runs_are_never_walked_through(owner: User, prompt: Prompt, save: Save) -> None:
    """The plans of the database, with rows as they would lie: each filter is answered from an index, in its order."""
    version = save("Hello").version
    rare = queue_run(account=owner, prepared=prepare_run(version=version, spec=version_spec(), values={}, model="rare"))
    fill(owner, rare, count=20_000)
    asked: dict[str, dict[str, str]] = {
        "run_newest_outside_batches": {},
        # By account or by id alone: whichever, in the order of the list.
        "Backward": {"kind": "all"},
        "run_newest_of_model": {"model": "rare", "kind": "all"},
        "run_newest_not_succeeded": {"status": "queued", "kind": "all"},
        "run_newest_of_group": {"prompt": str(prompt.pk), "kind": "all"},
        "run_newest_of_subject": {"prompt": str(prompt.pk), "version": "1", "kind": "all"},
    }
    for index, query in asked.items():
        plan = RunFilter.read(query).select(owner).order_by("-pk")[:51].explain()
        assert index in plan, (query, plan)
        assert "Seq Scan on inference_client_run" not in plan, (query, plan)
        assert "Sort Key" not in plan, (query, plan)


def version_spec() -> dict[str, Any]:
    return {"model": "rare", "max_tokens": 1, "messages": [{"role": "user", "content": "Hello"}]}


def fill(owner: User, like: Run, *, count: int) -> None:
    """Runs of a batch that succeeded, of other prompts, around `like`."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT column_name FROM information_schema.columns WHERE table_name = 'inference_client_run'")
        names = {row[0] for row in cursor.fetchall()}
        changed = {
            "id": "uuidv7()",
            "group_id": "gen_random_uuid()",
            "subject_id": "gen_random_uuid()",
            "model": "'common'",
            "kind": "'batch'",
            "status": "'succeeded'",
            "finished_at": "now()",
        }
        values = ", ".join(changed.get(name, f"run.{name}") for name in sorted(names))
        cursor.execute(
            f"INSERT INTO inference_client_run ({', '.join(sorted(names))}) "
            f"SELECT {values} FROM inference_client_run AS run, generate_series(1, %s) WHERE run.id = %s",
            [count, like.pk],
        )
        cursor.execute("ANALYZE inference_client_run")


def test_version_run_knows_what_a_run_is_listed_by(make: Make, prompt: Prompt) -> None:
    run = make()
    tie = VersionRun.objects.get(run=run)
    assert (run.group_id, run.subject_id) == (prompt.pk, tie.version_id)
