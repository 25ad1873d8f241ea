"""Requests made up from the service's own description of itself: right ones, nearly right ones, and nonsense."""

from typing import Any

import hypothesis
import pytest
import schemathesis
from hypothesis import given
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.inference_backend.running import SERVICE_KEY
from tests.inference_backend.scripted_engine import MODEL

EXAMPLES = 50
CHECKS = [
    schemathesis.checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
FEW_AND_ALWAYS_THE_SAME = hypothesis.settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[hypothesis.Phase.generate],
    suppress_health_check=list(hypothesis.HealthCheck),
)


@pytest.mark.parametrize("mode", GenerationMode)
def test_no_request_makes_the_service_fail_or_answer_otherwise_than_described(
    backend: str, mode: GenerationMode
) -> None:
    description = schemathesis.openapi.from_url(f"{backend}/openapi.json")
    operations: list[Any] = [found.ok() for found in description.get_all_operations()]  # type: ignore[union-attr]
    assert {operation.label for operation in operations} >= {"POST /v1/messages", "GET /v1/models/{model}"}
    for operation in operations:
        send_made_up(operation, mode)


def send_made_up(operation: Any, mode: GenerationMode) -> None:
    @FEW_AND_ALWAYS_THE_SAME
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case: Any) -> None:
        # A name that is made up is unknown, and nothing behind that check would ever be reached.
        if isinstance(case.body, dict) and isinstance(case.body.get("model"), str):
            case.body["model"] = MODEL
        case.call_and_validate(headers={"authorization": f"Bearer {SERVICE_KEY}"}, checks=CHECKS, timeout=20)

    send()
