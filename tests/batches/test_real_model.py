"""A batch on the real inference backend: the embedded model answers and judges, and its embeddings compare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from django.core.cache import cache
from pytest_django import Settings
from rest_framework.test import APIClient

from batches import nearness, tasks
from batches.models import Batch
from inference_client import tasks as runs
from inference_client.models import Run, RunStatus
from playground.services import SavedVersion
from tests.batches.running import state
from tests.batches.test_running_batches import read
from tests.services_plugin import Instance
from tests.waiting import wait_until

pytestmark = [pytest.mark.model, pytest.mark.django_db(transaction=True)]
MODEL = "smollm2-135m-instruct"
SCHEMA = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}},
    "required": ["ok"],
    "additionalProperties": False,
}


@pytest.fixture(autouse=True)
def backend(inference_service: Instance, settings: Settings) -> None:
    url = settings.INFERENCE_BASE_URL = inference_service.environment["INFERENCE_BASE_URL"]
    wait_until(lambda: httpx2.get(f"{url}/readyz").status_code == 200)
    # What other tests' servers offered is remembered for ten seconds.
    cache.clear()
    settings.INFERENCE_API_KEY = inference_service.environment.get("INFERENCE_API_KEY", settings.INFERENCE_API_KEY)


def test_a_batch_is_answered_held_against_a_schema_and_judged(
    owner_api: APIClient, save: Callable[..., SavedVersion], start: Callable[..., dict[str, Any]]
) -> None:
    save("Is {{name}} a city?", model=MODEL, max_tokens=24, temperature=0.0, output_schema=SCHEMA)
    checks = [{"kind": "json_schema"}, {"kind": "model", "question": "Does the answer say true?"}]
    rows = [{"values": {"name": name}} for name in ("Paris", "Cheese")]
    batch = start(rows, checks=checks)

    def is_over() -> bool:
        # A backend that is busy with other tests is waited for, as the clock does.
        Batch.objects.update(held_until=None)
        tasks.refill_batch(batch["id"])
        for run_id in Run.objects.filter(status=RunStatus.QUEUED).values_list("pk", flat=True):
            runs.send_run(str(run_id))
        for run_id in Run.objects.values_list("pk", flat=True):
            tasks.settle_run(str(run_id))
        return state(batch) == "finished"

    wait_until(is_over, within_s=240, every_s=0.2)
    for each in read(owner_api, batch, "/results")["results"]:
        cell = each["cells"][0]
        assert cell["checks"][0] == {"verdict": "pass", "reason": ""}, cell
        assert cell["checks"][1]["verdict"] in ("pass", "fail", "error")
        assert cell["checks"][1]["reason"]
    summary = read(owner_api, batch)["summary"][0]
    assert summary["grading"]["runs"] == 2
    assert summary["output_tokens"] > 2


def test_texts_of_one_meaning_are_nearer_than_others_by_the_real_embeddings() -> None:
    near = nearness.of("The cat sat on the mat.", "A cat was sitting on a rug.")
    far = nearness.of("The cat sat on the mat.", "Interest rates rose in March.")
    assert near > far + 0.1
    assert nearness.of("same words", "same words") > 0.99
