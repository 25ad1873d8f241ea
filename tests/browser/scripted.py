"""The application on a model server that plays scripts: for answers that no good model gives when it is asked to.

The last message of a prompt names its script. Everything else is real: pages, worker, streams, database.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from embedded.ports import free_port
from tests.inference_client.upstream import Call, Script, Upstream, Wire
from tests.services_plugin import ALONE, RUN_VARIABLE, Instance, is_well, start
from tests.waiting import wait_until

MODEL = "scripted"


class Playing(Upstream):
    """Answers a call for messages with the script that its last message names."""

    def __init__(self) -> None:
        super().__init__()
        self.named: dict[str, Script] = {}
        self.does(self._play)

    async def _play(self, call: Call, wire: Wire) -> None:
        if call.method == "GET":
            price = {"input_per_mtok": 3, "output_per_mtok": 15}
            await wire.answer(200, {"data": [{"id": MODEL, "type": "model", "price": price}], "has_more": False})
        elif call.path.startswith("/v1/messages/count_tokens"):
            await wire.answer(200, {"input_tokens": 12})
        else:
            await self.named[_last_words(call.json["messages"][-1]["content"])](call, wire)


def _last_words(content: Any) -> str:
    return str(content if isinstance(content, str) else content[-1].get("text", ""))


async def blocks(wire: Wire, given: list[dict[str, Any]], *, reason: str = "end_turn") -> None:
    """A good answer of these content blocks, each in one piece."""
    await wire.begin()
    usage = {"input_tokens": 1234, "output_tokens": 1, "cache_read_input_tokens": 1000}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": [], "usage": usage}
    await wire.event("message_start", message=head | {"stop_reason": None, "stop_sequence": None})
    for index, block in enumerate(given):
        await _block(wire, index, block)
    await wire.event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage={"output_tokens": 9})
    await wire.event("message_stop")
    await wire.end()


async def _block(wire: Wire, index: int, block: dict[str, Any]) -> None:
    field, delta = {
        "text": ("text", "text_delta"),
        "thinking": ("thinking", "thinking_delta"),
        "tool_use": ("input", "input_json_delta"),
    }[block["type"]]
    empty: Any = {} if field == "input" else ""
    begun = block | {field: empty} | ({"signature": ""} if field == "thinking" else {})
    await wire.event("content_block_start", index=index, content_block=begun)
    name = "partial_json" if field == "input" else field
    await wire.event("content_block_delta", index=index, delta={"type": delta, name: block[field]})
    await wire.event("content_block_stop", index=index)


@pytest.fixture(scope="module")
def model_server() -> Iterator[Playing]:
    server = Playing()
    yield server
    server.close()


@pytest.fixture(scope="module")
def scripted_stack(model_server: Playing) -> Instance:
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    data = Path(os.environ[RUN_VARIABLE]) / f"scripted-{worker}"
    environment = {**ALONE, "INFERENCE_BASE_URL": model_server.url}
    instance = start(data, "--port", str(free_port()), environment=environment)
    wait_until(lambda: is_well(f"{instance.base_url}/readyz"), within_s=240)
    return instance


@pytest.fixture(scope="module")
def scripted_api(scripted_stack: Instance) -> Iterator[httpx2.Client]:
    made = scripted_stack.manage("create_api_key", next(iter(scripted_stack.accounts)))
    assert made.returncode == 0, made.stderr
    with scripted_stack.api(made.stdout.strip()) as client:
        yield client
