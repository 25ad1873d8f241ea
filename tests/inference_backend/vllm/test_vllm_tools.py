"""A real vLLM with a parser of tool calls: what must be called is, and what may be called breaks nothing.

The model is too small to call a tool of its own will, so that it does is not asked of it here.
"""

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from tests.inference_backend.conftest import sdk
from tests.inference_backend.declared import Declared
from tests.inference_backend.running import EMBEDDED_MODEL
from tests.inference_backend.vllm.server import VllmServer

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(900)]
TIMEOUTS = {"queue_s": 120.0, "first_token_s": 60.0, "between_tokens_s": 20.0, "total_s": 180.0}
WEATHER: dict[str, Any] = {
    "name": "get_weather",
    "description": "The weather of a city",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
TIME: dict[str, Any] = {"name": "get_time", "input_schema": {"type": "object", "properties": {}}}
ASK: dict[str, Any] = {
    "model": EMBEDDED_MODEL,
    "max_tokens": 60,
    "messages": [{"role": "user", "content": "What is the weather in Paris?"}],
    "tools": [WEATHER, TIME],
}
TURNS: list[dict[str, Any]] = [
    *ASK["messages"],
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Paris"}}],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "Rain, 12 degrees"}]},
]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[anthropic.Anthropic]:
    server = VllmServer("--enable-auto-tool-choice", "--tool-call-parser", "hermes")
    server.start()
    declared = Declared(tmp_path_factory.mktemp("vllm") / "inference.toml", id=EMBEDDED_MODEL, timeouts=TIMEOUTS)
    declared.replicas["vllm"] = {"name": "vllm", "engine": "vllm", "url": server.url, "tools": "auto"}
    with declared.write().served() as address, sdk(address) as connected:
        yield connected
    server.kill()


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "get_weather"}])
def test_a_call_that_must_be_is_made(client: anthropic.Anthropic, choice: Any) -> None:
    with client.messages.stream(**ASK, tool_choice=choice) as events:
        message = events.get_final_message()
    content: Any = message.to_dict()["content"]
    [called] = content
    assert called["type"] == "tool_use"
    assert isinstance(called["input"], dict)
    if choice["type"] == "tool":
        assert called["name"] == "get_weather"
        assert isinstance(called["input"]["city"], str)


@pytest.mark.parametrize("choice", [{"type": "auto"}, {"type": "none"}])
@pytest.mark.parametrize("messages", [ASK["messages"], TURNS], ids=["a question", "a result"])
def test_a_call_that_may_be_breaks_nothing(client: anthropic.Anthropic, choice: Any, messages: Any) -> None:
    asked = ASK | {"messages": messages, "tool_choice": choice}
    message = client.messages.create(**asked)
    assert message.stop_reason in {"end_turn", "max_tokens", "tool_use"}
    assert {block.type for block in message.content} <= {"text", "tool_use"}
    counted = client.messages.count_tokens(**{name: value for name, value in asked.items() if name != "max_tokens"})
    assert counted.input_tokens == message.usage.input_tokens
