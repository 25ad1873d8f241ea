"""What may become a run, and what the database refuses whoever writes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
import rfc8785
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.models import User
from core.errors import InvalidInput
from inference_client.models import Run
from inference_client.services import create_run
from tests.inference_client.conftest import API_VERSION, hello

pytestmark = pytest.mark.django_db

MakeRun = Callable[..., Run]


def test_a_new_run_is_queued_with_its_request_and_hash(owner: User) -> None:
    body = hello(stream=True)
    run = create_run(account=owner, body=body, api_version=API_VERSION)
    run.refresh_from_db()
    assert (run.status, run.model, run.attempt) == ("queued", "tiny", 0)
    assert json.loads(run.request) == body
    assert bytes(run.request_sha256) == hashlib.sha256(rfc8785.dumps(body)).digest()
    assert (run.output, run.response) == ("", None)


def test_a_run_is_streamed_though_the_body_does_not_say_so(make_run: MakeRun) -> None:
    assert json.loads(make_run().request)["stream"] is True


def test_a_nul_in_a_prompt_is_kept(make_run: MakeRun) -> None:
    run = make_run(system="a\x00b")
    run.refresh_from_db()
    assert json.loads(run.request)["system"] == "a\x00b"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"model": ""}, "model"),
        ({"model": None}, "model"),
        ({"model": "m" * 201}, "model"),
        ({"model": "a\x00b"}, "model"),
        ({"max_tokens": "5"}, "max_tokens"),
        ({"messages": None}, "messages"),
        ({"stream": False}, "stream"),
        ({"system": "\ud83d"}, "system"),
        ({"top_k": 2**60}, "body"),
        ({"temperature": float("nan")}, "body"),
    ],
)
def test_what_cannot_be_sent_is_refused_by_name(make_run: MakeRun, changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        make_run(**changes)
    assert refused.value.field == field
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("constraint", "changes"),
    [
        ("run_", {"status": "paused"}),
        ("run_finished_when_terminal", {"status": "succeeded"}),
        ("run_finished_when_terminal", {"finished_at": timezone.now()}),
        ("run_error_when_failed", {"status": "failed", "finished_at": timezone.now()}),
        ("run_error_when_failed", {"error_code": "x"}),
        ("run_leased_while_running", {"status": "running"}),
        ("run_leased_while_running", {"lease_expires_at": timezone.now()}),
        ("input_tokens", {"input_tokens": -1}),
        ("output_tokens", {"output_tokens": -1}),
    ],
)
def test_the_database_refuses_a_run_that_contradicts_itself(
    make_run: MakeRun, constraint: str, changes: dict[str, Any]
) -> None:
    run = make_run()
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        Run.objects.filter(pk=run.pk).update(**changes)
