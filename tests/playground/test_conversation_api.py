"""`GET /api/v1/runs/{id}/conversation`: the tree of replies. `GET prompts/{id}/tool-results`: what was typed before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from accounts.models import User
from inference_client.models import Run
from playground import services
from playground.models import Prompt, ToolResult, VersionRun
from playground.services import SavedVersion, replies
from tests.playground.answering import call, end, result, text

pytestmark = pytest.mark.django_db
Save = Callable[..., SavedVersion]


@pytest.fixture
def first(owner: User, save: Save) -> Run:
    run = services.run_version(account=owner, version=save().version, values={"name": "Ada"})
    return end(run, text("Hello Ada,\n" + "how are you? " * 30))


@pytest.fixture
def reply(owner: User) -> Callable[..., Run]:
    """`reply(run, content)`: a queued run that continues an ended one."""

    def make(run: Run, content: Any = "More") -> Run:
        tie = VersionRun.objects.select_related("run", "version__prompt").get(pk=run.pk)
        return services.reply_to_run(account=owner, parent=tie, content=content)

    return make


def tree(api: APIClient, run: Run, **query: Any) -> dict[str, Any]:
    answer = api.get(f"/api/v1/runs/{run.pk}/conversation", query)
    assert answer.status_code == 200, answer.content
    body: dict[str, Any] = answer.json()
    return body


def test_the_whole_tree_is_told_from_each_of_its_runs(
    owner_api: APIClient, first: Run, reply: Callable[..., Run]
) -> None:
    left, right = reply(first, "Left"), reply(first, "Right")
    leaf = reply(end(right, text("Right it is.")), "On")
    for run in (first, left, leaf):
        told = tree(owner_api, run)
        assert (told["run"], told["root"], told["version"]) == (str(run.pk), str(first.pk), 1)
        assert {(node["id"], node["parent"]) for node in told["results"]} == {
            (str(first.pk), None),
            (str(left.pk), str(first.pk)),
            (str(right.pk), str(first.pk)),
            (str(leaf.pk), str(right.pk)),
        }
    assert [turn["content"] for turn in tree(owner_api, leaf)["turns"]][1::2] == ["Right", "On"]
    assert tree(owner_api, first)["turns"] == []


def test_a_node_says_in_short_what_it_added_and_what_came_of_it(
    owner_api: APIClient, first: Run, reply: Callable[..., Run]
) -> None:
    second = end(reply(first, "x" * 500), text("Sure."), call("t1"))
    third = reply(second, [result("t1"), text("And?")])
    nodes = {node["id"]: node for node in tree(owner_api, third)["results"]}
    said, asked = nodes[str(second.pk)]["added"]
    assert (said["role"], said["text"][:10], said["cut"]) == ("assistant", "Hello Ada,", True)
    assert asked == {"role": "user", "text": "x" * 200, "cut": True, "calls": [], "results": 0}
    called, answered = nodes[str(third.pk)]["added"]
    assert (called["text"], called["calls"]) == ("Sure.", ["get_weather"])
    assert (answered["text"], answered["results"]) == ("And?", 1)
    assert nodes[str(first.pk)]["output"].startswith("Hello Ada, how are you?")
    assert len(nodes[str(first.pk)]["output"]) <= 200
    assert (nodes[str(second.pk)]["status"], nodes[str(second.pk)]["stop_reason"]) == ("succeeded", "tool_use")
    assert (nodes[str(third.pk)]["status"], nodes[str(third.pk)]["output"]) == ("queued", "")


def test_a_large_tree_comes_in_pages_and_reads_no_answer(
    owner_api: APIClient, first: Run, reply: Callable[..., Run]
) -> None:
    made = {str(reply(first, f"Reply {index}").pk) for index in range(5)}
    seen: list[str] = []
    with CaptureQueriesContext(
        connection,
    ) as queries:
        page = tree(owner_api, first, limit=2)
        while True:
            seen += [node["id"] for node in page["results"]]
            if page["next"] is None:
                break
            page = owner_api.get(page["next"]).json()
    assert sorted(seen) == sorted({*made, str(first.pk)})
    texts = [each["sql"] or "" for each in queries]  # none is told of a statement that was prepared before
    lists = [sql for sql in texts if '"added"' in sql and "LIMIT 3" in sql]
    assert len(lists) == 3
    assert not any(
        column in sql for sql in lists for column in ("output_json", "response_json", '"request"', '"turns"')
    )


def test_later_pages_do_not_repeat_the_turns(owner_api: APIClient, first: Run, reply: Callable[..., Run]) -> None:
    second = reply(first)
    page = tree(owner_api, second, limit=1)
    assert len(page["turns"]) == 2
    assert owner_api.get(page["next"]).json()["turns"] == []


def test_nothing_of_another_conversation_is_told(owner: User, owner_api: APIClient, first: Run, save: Save) -> None:
    other = services.run_version(account=owner, version=save().version, values={"name": "Bo"})
    assert [node["id"] for node in tree(owner_api, other)["results"]] == [str(other.pk)]


def offered(api: APIClient, prompt: Prompt, tool: str = "get_weather") -> list[dict[str, Any]]:
    answer = api.get(f"/api/v1/prompts/{prompt.pk}/tool-results", {"tool": tool})
    assert answer.status_code == 200
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


def answer_call(owner: User, save: Save, reply: Callable[..., Run], *results: Any, name: str = "get_weather") -> None:
    run = services.run_version(account=owner, version=save().version, values={"name": "x"})
    calls = [call(each["tool_use_id"], name) for each in results]
    reply(end(run, *calls), list(results))


def test_results_are_offered_again_for_the_same_tool_the_last_used_first(
    owner: User, owner_api: APIClient, prompt: Prompt, save: Save, reply: Callable[..., Run]
) -> None:
    answer_call(owner, save, reply, result("a", "Rain\x00"), result("b", "", is_error=True))
    answer_call(owner, save, reply, result("c", "Sun", is_error=True))
    answer_call(owner, save, reply, result("d", "noon"), name="get_time")
    answer_call(owner, save, reply, result("e", "Rain\x00"))
    told = [(each["content"], each["is_error"]) for each in offered(owner_api, prompt)]
    assert told == [("Rain\x00", False), ("Sun", True)]
    assert [each["content"] for each in offered(owner_api, prompt, "get_time")] == ["noon"]
    assert offered(owner_api, prompt, "unheard of") == []


def test_only_the_newest_results_are_kept_and_no_large_one(
    owner: User, owner_api: APIClient, prompt: Prompt, save: Save, reply: Callable[..., Run],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(replies, "REMEMBERED_RESULTS", 2)
    answer_call(owner, save, reply, result("a", "x" * replies.REMEMBERED_BYTES))
    for index in range(4):
        answer_call(owner, save, reply, result("a", f"Result {index}"))
    assert [each["content"] for each in offered(owner_api, prompt)] == ["Result 3", "Result 2"]
    assert ToolResult.objects.count() == 2


def test_results_are_nobody_else_s(
    owner: User, friend_api: APIClient, stranger_api: APIClient, shared: Prompt, save: Save, reply: Callable[..., Run]
) -> None:
    answer_call(owner, save, reply, result("a", "My secret weather"))
    assert offered(friend_api, shared) == []
    url = f"/api/v1/prompts/{shared.pk}/tool-results?tool=get_weather"
    assert stranger_api.get(url).status_code == 404
    assert friend_api.get(f"/api/v1/prompts/{shared.pk}/tool-results").status_code == 400


def test_a_conversation_ends_with_its_prompt(
    owner: User, owner_api: APIClient, prompt: Prompt, first: Run, reply: Callable[..., Run]
) -> None:
    leaf = reply(end(reply(first), text("x")))
    reply(end(leaf, call("t")), [result("t")])
    services.trash_prompt(prompt=prompt)
    assert owner_api.get(f"/api/v1/runs/{leaf.pk}/conversation").status_code == 404
    services.erase_prompt(prompt=prompt, confirmation=prompt.name)
    assert not Run.objects.exists()
    assert not VersionRun.objects.exists()
    assert not ToolResult.objects.exists()
