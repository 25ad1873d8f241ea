"""A batch from its start to its end, and what is told of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from inference_client.models import Run
from playground.models import Prompt
from playground.services import SavedVersion
from tests.batches.conftest import API
from tests.batches.running import Work, row, state, verdicts

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., dict[str, Any]]
Save = Callable[..., SavedVersion]


def read(api: APIClient, batch: dict[str, Any], rest: str = "", **query: Any) -> dict[str, Any]:
    answer = api.get(f"{API}/batches/{batch['id']}{rest}", query)
    assert answer.status_code == 200, answer.content
    shown: dict[str, Any] = answer.json()
    return shown


def test_every_row_is_sent_to_every_version_once_and_told_in_a_grid(
    owner_api: APIClient, save: Save, start: Start, work: Work
) -> None:
    save("Greet {{name}}.")
    save("Hail {{name}}!", max_tokens=9)
    batch = start(
        [row("Ada", "Greet Ada."), row("Bo")],
        versions=[1, {"version": "latest", "parameters": {"max_tokens": 7}}],
        checks=[{"kind": "contains", "text": "Greet {{name}}"}, {"kind": "equals"}],
    )
    assert (batch["state"], batch["counts"]["not_sent"]) == ("running", 4)
    work.finish(batch)
    shown = read(owner_api, batch)
    assert (shown["state"], shown["ended"]) == ("finished", 4)
    assert len(work.generations) == 4
    assert [call.json["max_tokens"] for call in work.generations] == [16, 7, 16, 7]
    grid = read(owner_api, batch, "/results")
    assert grid["count"] == 2
    first, second = grid["results"]
    assert [cell["status"] for cell in first["cells"]] == ["failed", "failed"]
    assert [verdicts(cell) for cell in first["cells"]] == [["pass", "fail"], ["fail", "fail"]]
    assert [verdicts(cell) for cell in second["cells"]] == [["pass", "skip"], ["fail", "skip"]]
    assert (first["different"], second["different"]) == (True, True)
    assert first["cells"][0]["excerpt"] == "echo Greet Ada."
    assert "Different from character 1 on" in first["cells"][0]["checks"][1]["reason"]
    one, other = shown["summary"]
    assert (one["passed"], one["failed"], one["pass_rate"]) == (1, 1, 0.5)
    assert one["checks"][0] == {"index": 0, "pass": 2, "fail": 0, "error": 0, "skip": 0}
    assert (other["passed"], other["failed"], other["pass_rate"]) == (0, 2, 0.0)
    assert (one["input_tokens"], one["output_tokens"]) == (14, 10)
    assert one["ttft_ms"]["p95"] >= one["ttft_ms"]["median"] >= 0


def test_a_batch_has_no_more_on_its_way_than_its_window(save: Save, start: Start, work: Work, settings: Any) -> None:
    settings.BATCH_IN_FLIGHT = 3
    save()
    batch = start([row(str(number)) for number in range(10)])
    work.fill(batch)
    work.fill(batch)
    assert Run.objects.count() == 3
    sent = work.send()
    work.settle(sent[:1])
    assert Run.objects.count() == 4
    work.settle(sent)
    assert Run.objects.count() == 6


def test_a_run_of_a_batch_can_be_opened_and_is_marked_as_one(
    owner_api: APIClient, save: Save, start: Start, work: Work, prompt: Prompt
) -> None:
    save()
    batch = start([row("Ada")])
    work.finish(batch)
    cell = read(owner_api, batch, "/results")["results"][0]["cells"][0]
    assert owner_api.get(f"{API}/runs/{cell['run']}").json()["output"] == "echo Greet Ada."
    assert Run.objects.get().kind == "batch"


def test_a_row_that_cannot_be_sent_is_an_error_and_the_others_go_on(
    owner_api: APIClient, save: Save, start: Start, work: Work
) -> None:
    save()
    batch = start([row("Ada"), {"values": {"other": "x"}}])
    work.finish(batch)
    assert state(batch) == "finished"
    shown = read(owner_api, batch, "/results", only="failed")
    assert [each["index"] for each in shown["results"]] == [1]
    cell = shown["results"][0]["cells"][0]
    assert (cell["status"], cell["error"]["code"], cell["run"]) == ("error", "variables_unset", None)
    assert len(work.generations) == 1


def test_what_no_row_sets_is_refused_before_anything_is_sent(owner_api: APIClient, save: Save, prompt: Prompt) -> None:
    save("{{name}} and {{city}}")
    answer = owner_api.post(f"{API}/prompts/{prompt.pk}/batches", {"rows": [row("a")], "versions": [1]}, format="json")
    assert answer.status_code == 422
    assert answer.json()["error"]["data"]["names"] == ["city"]


def test_values_reach_the_model_as_they_were_written(save: Save, start: Start, work: Work) -> None:
    save("{{a}}|{{b}}|{{größe}}")
    values = {"a": '$$5 $& $\' {{b}} a < b && "c"', "b": {"x": [1, 2.5, None, True]}, "größe": ""}
    batch = start([{"values": values}])
    work.finish(batch)
    text = work.generations[0].json["messages"][0]["content"]
    assert text == '$$5 $& $\' {{b}} a < b && "c"|' + '{"x": [1, 2.5, null, true]}' + "|"


def test_a_model_that_judges_says_yes_no_or_nothing_to_be_counted(
    owner_api: APIClient, save: Save, start: Start, work: Work
) -> None:
    save("{{name}}")

    def reply(prompt: str) -> str:
        if "<answer>" not in prompt:
            return f"It is {prompt}"
        if "It is good" in prompt:
            return 'Sure: {"reason": "It greets.", "verdict": "yes"}'
        return '{"verdict": "no", "reason": "Bad."}' if "It is bad" in prompt else "Well, who knows"

    work.says(reply)
    question = "Is the answer about {{name}} friendly?"
    batch = start(
        [row("good"), row("bad"), row("odd")],
        checks=[{"kind": "model", "question": question}, {"kind": "contains", "text": "It is"}],
    )
    work.finish(batch)
    cells = [each["cells"][0] for each in read(owner_api, batch, "/results")["results"]]
    assert [cell["status"] for cell in cells] == ["passed", "failed", "error"]
    assert [verdicts(cell) for cell in cells] == [["pass", "pass"], ["fail", "pass"], ["error", "pass"]]
    assert [cell["checks"][0]["reason"] for cell in cells[:2]] == ["It greets.", "Bad."]
    judged = [call.json["messages"][0]["content"] for call in work.generations if "output_config" in call.json]
    assert judged[0].startswith("Is the answer about good friendly?")
    assert read(owner_api, batch)["summary"][0]["grading"]["runs"] == 3
    assert state(batch) == "finished"


def test_a_list_of_batches_asks_no_more_of_the_database_the_longer_it_is(
    owner_api: APIClient, prompt: Prompt, save: Save, start: Start, work: Work
) -> None:
    save()
    path = f"{API}/prompts/{prompt.pk}/batches"

    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            assert owner_api.get(path).status_code == 200
        return len(asked)

    work.finish(start([row("Ada")]))
    few = queries()
    for _ in range(5):
        work.finish(start([row("Ada")], versions=[1, "main"]))
    assert queries() == few
    listed = owner_api.get(path).json()["results"]
    assert [each["counts"]["done"] for each in listed] == [2] * 5 + [1]
    assert [each["label"] for each in listed[0]["versions"]] == ["v1 tiny #1", "v1 tiny #2"]
