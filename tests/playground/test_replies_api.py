"""`POST /api/v1/runs/{id}/replies`: a run is continued by its answer and a turn of the person's."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from inference_client.models import Run, RunStatus
from inference_client.outcomes import STREAM_CUT
from playground import services
from playground.models import Prompt, ToolResult, VersionRun
from playground.services import SavedVersion, replies
from sharing.services import change_role, grant_access
from tests.playground.answering import call, end, result, text

pytestmark = pytest.mark.django_db
Save = Callable[..., SavedVersion]

SIGNED = {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk"}


def post(api: APIClient, run: Run, content: Any, **more: Any) -> Any:
    headers = more.pop("headers", {})
    return api.post(f"/api/v1/runs/{run.pk}/replies", {"content": content, **more}, format="json", headers=headers)


def sent(answer: Any) -> dict[str, Any]:
    assert answer.status_code == 201, answer.content
    body: dict[str, Any] = json.loads(Run.objects.get(pk=answer.json()["id"]).request)
    return body


@pytest.fixture
def first(owner: User, save: Save) -> Run:
    """A run of version 1 that is queued."""
    return services.run_version(account=owner, version=save().version, values={"name": "Ada"})


def test_the_next_run_sends_what_the_first_sent_then_its_answer_as_it_came_then_the_reply(
    owner_api: APIClient, first: Run
) -> None:
    words = "  {{name}}\r\n\x00 \u00e9 e\u0301 $& \U0001f469\u200d\U0001f680 "
    run = end(first, SIGNED, text(words), {"type": "redacted_thinking", "data": "xx"})
    body = sent(post(owner_api, run, " And \n{{name}}? "))
    before = json.loads(run.request)
    assert body == {
        **before,
        "messages": [
            *before["messages"],
            {"role": "assistant", "content": [SIGNED, text(words), {"type": "redacted_thinking", "data": "xx"}]},
            {"role": "user", "content": " And \n{{name}}? "},
        ],
    }


def test_it_knows_its_place_its_version_and_its_values(owner_api: APIClient, first: Run) -> None:
    second = Run.objects.get(pk=post(owner_api, end(first, text("Hi.")), "More").json()["id"])
    third = Run.objects.get(pk=post(owner_api, end(second, text("Ho.")), "Again").json()["id"])
    [one, two, three] = [VersionRun.objects.get(run=run) for run in (first, second, third)]
    assert (one.parent_id, one.root_id, json.loads(one.turns)) == (None, None, [])
    assert (two.parent_id, two.root_id) == (first.pk, first.pk)
    assert (three.parent_id, three.root_id) == (second.pk, first.pk)
    assert (three.version_id, three.variables) == (one.version_id, one.variables)
    assert [turn["role"] for turn in json.loads(three.turns)] == ["assistant", "user", "assistant", "user"]
    assert json.loads(three.turns)[-1]["content"] == "Again"


def test_model_and_parameters_are_those_of_the_run_before(owner: User, owner_api: APIClient, save: Save) -> None:
    run = services.run_version(
        account=owner, version=save().version, values={"name": "x"}, model="other", parameters={"temperature": 0}
    )
    body = sent(post(owner_api, end(run, text("Hi.")), "More"))
    assert (body["model"], body["temperature"]) == ("other", 0)
    again = sent(post(owner_api, Run.objects.get(pk=run.pk), "More", model="third"))
    assert (again["model"], again["temperature"]) == ("third", 0)


def test_turns_that_a_run_was_given_are_part_of_the_conversation(owner: User, owner_api: APIClient, save: Save) -> None:
    given = [{"role": "assistant", "content": "Hi."}, {"role": "user", "content": "Yes?"}]
    run = services.run_version(account=owner, version=save().version, values={"name": "x"}, turns=given)
    answer = post(owner_api, end(run, text("No.")), "Why?")
    tie = VersionRun.objects.get(pk=answer.json()["id"])
    assert json.loads(tie.turns)[:2] == given
    assert len(json.loads(tie.turns)) == 4


def test_replying_twice_to_a_run_makes_two_siblings(owner_api: APIClient, first: Run) -> None:
    run = end(first, text("Hi."))
    ids = {post(owner_api, run, words).json()["id"] for words in ("One", "Two")}
    assert {str(tie.pk) for tie in VersionRun.objects.filter(parent=run.pk)} == ids
    assert len(ids) == 2


def test_one_key_makes_one_reply(owner_api: APIClient, first: Run) -> None:
    run = end(first, text("Hi."))
    answers = [post(owner_api, run, "More", headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    assert Run.objects.count() == 2
    other = post(owner_api, run, "Less", headers={"Idempotency-Key": "k"})
    assert (other.status_code, other.json()["error"]["code"]) == (409, "idempotency_key_reused")


def test_the_calls_of_an_answer_are_answered_together(owner_api: APIClient, first: Run) -> None:
    run = end(first, text("Let me look."), call("a", city="Köln"), call("b", "get_time"))
    content = [result("b", "", is_error=True), result("a", '{"t": 1.0, "a": [1e2]}'), text("In words.")]
    body = sent(post(owner_api, run, content))
    assert body["messages"][-2]["content"][1] == call("a", city="Köln")
    assert body["messages"][-1] == {"role": "user", "content": content}


@pytest.mark.parametrize(
    ("content", "code", "field"),
    [
        ("Never mind", "tool_call_unanswered", "content"),
        ([result("a")], "tool_call_unanswered", "content"),
        ([result("a"), result("b"), result("c")], "tool_result_orphan", "content.2"),
        ([result("a"), result("b"), result("a")], "tool_result_twice", "content.2"),
        ([text("First"), result("a"), result("b")], "tool_result_late", "content.1"),
        ([result("a"), result("b"), call("d")], "tool_call_misplaced", "content.2"),
    ],
)
def test_a_missing_or_superfluous_half_is_told_with_its_place_and_nothing_is_queued(
    owner_api: APIClient, first: Run, content: Any, code: str, field: str
) -> None:
    run = end(first, call("a"), call("b"))
    answer = post(owner_api, run, content)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["field"]) == (422, code, field)
    assert error["message"].endswith(".")
    assert Run.objects.count() == 1
    assert not ToolResult.objects.exists()


def test_a_result_without_any_call_is_told(owner_api: APIClient, first: Run) -> None:
    answer = post(owner_api, end(first, text("Hi.")), [result("a")])
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "content.0")


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ("", "content"),
        (" \n", "content"),
        ([], "content"),
        (None, "content"),
        ([text("")], "content.0.text"),
        ([{"type": "text"}], "content.0.text"),
        ([{"type": "text", "text": {"body": "0" * 64}}], "content"),
        ([{"type": "robot"}], "content.0"),
        ([{"type": "tool_result"}], "content.0.tool_use_id"),
    ],
)
def test_what_is_no_turn_names_its_field(owner_api: APIClient, first: Run, content: Any, field: str) -> None:
    answer = post(owner_api, end(first, text("Hi.")), content)
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)
    assert Run.objects.count() == 1


def test_a_run_that_is_not_over_is_not_replied_to(owner_api: APIClient, first: Run) -> None:
    answer = post(owner_api, first, "More")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["field"]) == (422, "run_unfinished", "run")
    assert error["next"]


@pytest.mark.parametrize(
    ("blocks", "changes", "code"),
    [
        (
            [text("Half")],
            {"status": RunStatus.FAILED, "error_code": STREAM_CUT.code, "error_message": STREAM_CUT.message},
            "run_failed",
        ),
        ([], {}, "run_empty"),
        ([text(" \n")], {}, "run_empty"),
        ([SIGNED], {}, "run_empty"),
        ([], {"response": None, "status": RunStatus.CANCELLED}, "run_empty"),
        ([text("Let me"), call("a")], {"status": RunStatus.CANCELLED}, "run_cut"),
        ([{"type": "thinking", "thinking": "H"}, text("x")], {"status": RunStatus.CANCELLED}, "run_cut"),
    ],
)
def test_what_has_no_answer_to_go_on_from_says_what_can_be_done(
    owner_api: APIClient, first: Run, blocks: list[dict[str, Any]], changes: dict[str, Any], code: str
) -> None:
    answer = post(owner_api, end(first, *blocks, **changes), "More")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (422, code)
    assert error["next"]
    assert Run.objects.count() == 1


def test_a_stopped_answer_is_replied_to_with_the_text_that_had_arrived(owner_api: APIClient, first: Run) -> None:
    body = sent(post(owner_api, end(first, text("Once upon"), status=RunStatus.CANCELLED), "Shorter, please."))
    assert body["messages"][-2] == {"role": "assistant", "content": [text("Once upon")]}


def test_blank_blocks_of_an_answer_are_left_out_since_the_api_takes_none(owner_api: APIClient, first: Run) -> None:
    body = sent(post(owner_api, end(first, text(""), call("a")), [result("a")]))
    assert body["messages"][-2]["content"] == [call("a")]


def test_a_conversation_has_a_most_of_turns_and_of_bytes(
    owner_api: APIClient, first: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = end(first, text("Hi."))
    for name in ("MAX_TURNS", "MAX_TURNS_BYTES"):
        with monkeypatch.context() as patch:
            patch.setattr(replies, name, 1)
            answer = post(owner_api, run, "More")
            assert (answer.status_code, answer.json()["error"]["field"]) == (413, "content")
    assert post(owner_api, run, "x" * (2 * 1024 * 1024 + 1)).status_code == 413
    assert Run.objects.count() == 1


def test_a_stranger_and_who_shares_the_prompt_find_no_run_to_reply_to(
    owner: User, friend_api: APIClient, friend: User, stranger_api: APIClient, anonymous_api: APIClient,
    prompt: Prompt, first: Run,
) -> None:  # fmt: skip
    run = end(first, text("Hi."))
    grant_access(person=owner, prompt=prompt, account=friend, role="editor")
    for api, status in ((friend_api, 404), (stranger_api, 404), (anonymous_api, 401)):
        assert post(api, run, "More").status_code == status
        assert api.get(f"/api/v1/runs/{run.pk}/conversation").status_code == status
    assert Run.objects.count() == 1


def test_who_may_run_no_more_replies_no_more(
    owner: User, friend: User, friend_api: APIClient, prompt: Prompt, save: Save
) -> None:
    grant = grant_access(person=owner, prompt=prompt, account=friend, role="editor")
    run = services.run_version(account=friend, version=save().version, values={"name": "x"})
    run = end(run, text("Hi."))
    assert post(friend_api, run, "More").status_code == 201
    change_role(person=owner, grant=grant, role="viewer")
    assert post(friend_api, run, "Once more").status_code == 403
