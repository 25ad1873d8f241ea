"""The connection to the service breaks in the middle of an answer: no SDK takes that for an end."""

from collections.abc import Iterator

import pytest

from tests.inference_backend.conformance.drivers import SDKS, Call, Case, Sdk, differences, outcomes
from tests.inference_backend.conformance.lossy_proxy import Ending, LossyProxy
from tests.inference_backend.conformance.scripted_cases import ask
from tests.inference_backend.conftest import impatient
from tests.inference_backend.running import SERVICE_KEY, running_backend
from tests.inference_backend.scripted_engine import Pause, ScriptedEngine, text, words_of


@pytest.fixture(scope="module")
def proxy() -> Iterator[LossyProxy]:
    engine = ScriptedEngine(scripts={"halting": [text("one"), text(" CUT"), Pause(0.4), *words_of(" never seen")]})
    engine.start()
    with running_backend(impatient(engine)) as address:
        between = LossyProxy(address)
        yield between
        between.stop()
    engine.stop()


@pytest.mark.parametrize("how", ["reset", "close"])
@pytest.mark.parametrize("sdk", SDKS)
def test_a_stream_that_is_cut_is_an_error(proxy: LossyProxy, sdk: Sdk, how: Ending) -> None:
    proxy.cut_after(b"CUT", how)
    # One call: what has begun to arrive is not asked for again.
    expected = {"error": {"class": "connection"}, "message": None, "stop_reason": None, "calls": 1}
    calls: tuple[Call, ...] = ("stream", "raw_stream")
    cases = [
        Case(name=call, call=call, params=ask("halting"), client={"max_retries": 2}, expected=expected)
        for call in calls
    ]
    seen = outcomes(sdk, cases, base_url=proxy.url, key=SERVICE_KEY, parallel=1)
    assert [differences(case.expected, seen[case.name]) for case in cases] == [[], []]
