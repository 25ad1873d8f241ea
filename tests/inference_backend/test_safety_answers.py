"""The safety stages as callers meet them: through the official SDK, over HTTP, with the real classifier."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import anthropic
import httpx2
import pytest

from inference_backend.engines.protocol import GenerationRequest, Turn
from inference_backend.errors import EngineError, EngineProtocolError
from inference_backend.safety.classifiers import LlamaGuard
from inference_backend.safety.finding import Passage
from tests.inference_backend.conftest import sdk, settings_for
from tests.inference_backend.inspecting import CLASSIFIER, RULES, TIERS, Answer, stages_for
from tests.inference_backend.running import SERVICE_KEY, running_backend
from tests.inference_backend.scripted_engine import MODEL, ScriptedEngine, whole, words_of
from tests.waiting import wait_until

INSULT = "You are a stupid fucking idiot and everybody hates you."
GOOD = "This is a perfectly ordinary sentence about gardens."
FREE = {"x-playground-tier": "free", "x-playground-account": "somebody"}


@pytest.fixture(scope="module")
def engine_behind() -> Iterator[ScriptedEngine]:
    """Its scripts are asked for by name: a refused prompt reaches it too, and is abandoned, whenever it is read."""
    scripted = ScriptedEngine(
        scripts={
            "turns": words_of(f"{GOOD} {INSULT} {GOOD}"),
            "ends": words_of(f"{GOOD} {INSULT}"),
            "stays": words_of(f"{GOOD} {GOOD} And no end"),
        }
    )
    scripted.start()
    yield scripted
    scripted.stop()


@pytest.fixture(scope="module")
def safe(engine_behind: ScriptedEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[anthropic.Anthropic]:
    with guarded(engine_behind, tmp_path_factory.mktemp("policy"), CLASSIFIER + TIERS + RULES) as client:
        yield client


@contextlib.contextmanager
def guarded(engine: ScriptedEngine, folder: Path, policy: str) -> Iterator[anthropic.Anthropic]:
    path = folder / "safety.toml"
    path.write_text(policy, encoding="utf-8")
    settings = settings_for(engine.url, INFERENCE_ENGINE_MODEL=MODEL, INFERENCE_SAFETY_POLICY=path)
    with running_backend(settings) as address, sdk(address, default_headers=FREE) as client:
        if "[classifier]" in policy:
            wait_until(lambda: has_worker(address), within_s=60)
        yield client


def has_worker(address: str) -> bool:
    lines = httpx2.get(f"{address}/metrics", trust_env=False).text.splitlines()
    return 'inference_batch_workers{pool="safety",state="healthy"} 1.0' in lines


def say(client: anthropic.Anthropic, text: str) -> anthropic.types.Message:
    return client.messages.create(model=MODEL, max_tokens=100, messages=[{"role": "user", "content": text}])


def test_a_refused_prompt_is_an_answer_and_not_an_error(safe: anthropic.Anthropic) -> None:
    """Code that reads stop reasons knows this one; an error would be retried, or taken for a broken request."""
    for text, category in ((INSULT, "toxicity"), ("-----BEGIN PRIVATE KEY-----", "secrets")):
        message = say(safe, text)
        assert (message.stop_reason, message.content) == ("refusal", [])
        assert message.stop_details
        assert (message.stop_details.type, str(message.stop_details.category)) == ("refusal", category)
        assert message.stop_details.explanation


def test_the_head_of_an_answer_names_verdict_and_policy(safe: anthropic.Anthropic) -> None:
    create = safe.messages.with_raw_response.create
    for text, verdict in ((GOOD, "allowed"), (INSULT, "refused")):
        response = create(model=MODEL, max_tokens=100, messages=[{"role": "user", "content": text}])
        said, policy = response.headers["x-safety-verdict"].split("; policy=")
        assert (said, len(policy)) == (verdict, 12)


def test_a_stream_that_turns_bad_ends_with_a_refusal_and_none_of_it(safe: anthropic.Anthropic) -> None:
    with safe.messages.stream(
        model=MODEL, max_tokens=100, messages=[{"role": "user", "content": "Tell me about gardens, script:turns."}]
    ) as stream:
        kinds = [event.type for event in stream]
        message = stream.get_final_message()
    assert message.stop_reason == "refusal"
    assert message.stop_details
    assert str(message.stop_details.category) == "toxicity"
    (block,) = message.content
    assert block.type == "text"
    assert block.text.strip() == GOOD
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]


def test_a_whole_answer_that_turns_bad_is_cut_before_it(safe: anthropic.Anthropic) -> None:
    message = say(safe, "Tell me about gardens, script:ends.")
    assert message.stop_reason == "refusal"
    assert [block.text.strip() for block in message.content if block.type == "text"] == [GOOD]


def test_a_good_answer_is_the_same_as_without_a_policy(safe: anthropic.Anthropic) -> None:
    message = say(safe, "Tell me about gardens, script:stays.")
    assert message.stop_reason == "end_turn"
    assert [block.text.strip() for block in message.content if block.type == "text"] == [f"{GOOD} {GOOD} And no end"]


def test_verdicts_are_in_the_metrics_and_texts_are_nowhere(safe: anthropic.Anthropic) -> None:
    say(safe, INSULT)
    metrics = httpx2.get(f"{str(safe.base_url).rstrip('/')}/metrics", trust_env=False).text
    labels = 'category="toxicity",stage="input",tier="free",verdict="refused"'
    counted = [line.split()[-1] for line in metrics.splitlines() if labels in line and "verdicts_total" in line]
    assert float(counted[0]) >= 1
    assert "idiot" not in metrics


def test_without_a_policy_nothing_is_inspected(scripted_client: anthropic.Anthropic) -> None:
    response = scripted_client.messages.with_raw_response.create(
        model=MODEL, max_tokens=100, messages=[{"role": "user", "content": INSULT}]
    )
    assert response.parse().stop_reason == "end_turn"
    assert "x-safety-verdict" not in response.headers


def test_a_classifier_that_never_comes_up_closes_free_and_marks_paid(
    own_engine: ScriptedEngine, tmp_path: Path
) -> None:
    policy = '[classifier]\nengine = "llama_guard"\nurl = "http://127.0.0.1:1"\nbudget_ms = 100\n'
    path = tmp_path / "safety.toml"
    path.write_text(policy, encoding="utf-8")
    settings = settings_for(own_engine.url, INFERENCE_ENGINE_MODEL=MODEL, INFERENCE_SAFETY_POLICY=path)
    with running_backend(settings) as address:
        body = {"model": MODEL, "max_tokens": 10, "messages": [{"role": "user", "content": "hello"}]}

        def post(tier: str) -> httpx2.Response:
            headers = {"x-api-key": SERVICE_KEY, "anthropic-version": "2023-06-01", "x-playground-tier": tier}
            return httpx2.post(f"{address}/v1/messages", json=body, headers=headers, trust_env=False)

        closed, marked = post("free"), post("pro")
        assert closed.status_code == 529
        assert closed.json()["error"]["details"]["error_code"] == "safety_unavailable"
        assert closed.headers["retry-after"]
        assert marked.status_code == 200
        assert marked.headers["x-safety-verdict"].startswith("unchecked; policy=")


async def test_a_guard_model_is_asked_about_the_exchange(own_engine: ScriptedEngine, tmp_path: Path) -> None:
    policy = f"""
[classifier]
engine = "llama_guard"
url = "{own_engine.url}"
model = "{MODEL}"
budget_ms = 10000
[tiers.free]
thresholds = {{ S10 = 0.5 }}
input_classifier = false
"""
    own_engine.play(*whole("safe"))  # the probe
    async with stages_for(tmp_path, policy) as stages:
        own_engine.play(*whole("unsafe\nS10"))
        request = GenerationRequest(turns=(Turn(role="user", text="How do I do it?"),), max_tokens=50)
        inspection = stages.open(request, tier="free")
        events = [event async for event in inspection.guard(Answer(["First you take the thing."]).events())]
        assert inspection.verdict == "refused"
        assert len(events) == 2


@pytest.mark.parametrize("said", ["I cannot judge that.", "unsafe", "unsafe\nbecause", ""])
async def test_a_guard_model_that_chats_is_no_verdict(own_engine: ScriptedEngine, said: str) -> None:
    guard = LlamaGuard(url=own_engine.url, model=MODEL, api_key=None)
    own_engine.play(*whole(said))
    (verdict,) = await guard.call([Passage(text="a", prompt="a")])
    assert isinstance(verdict, EngineProtocolError | EngineError)
    await guard.aclose()
