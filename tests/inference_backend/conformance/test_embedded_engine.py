"""The same SDKs against the real embedded model."""

import pytest

from tests.inference_backend.conformance import model_cases
from tests.inference_backend.conformance.drivers import SDKS, departures, disagreements, outcomes_of_all
from tests.inference_backend.running import SERVICE_KEY

pytestmark = pytest.mark.model


def test_every_sdk_gets_from_the_model_what_the_table_says(model_backend: str) -> None:
    cases = model_cases.cases()
    seen = outcomes_of_all(cases, base_url=model_backend, key=SERVICE_KEY, parallel=1)
    assert departures(cases, seen) == []
    # Two things of the model's own may differ by the batch they were computed in: its words, and so their number.
    exact = [case for case in cases if case.call in {"count_tokens", "list_models", "retrieve_model"}]
    assert disagreements(exact, seen) == []
    for sdk in SDKS:
        counted = seen[sdk][model_cases.COUNT_CASE]["input_tokens"]
        assert counted == seen[sdk][model_cases.USE_CASE]["message"]["usage"]["input_tokens"]
