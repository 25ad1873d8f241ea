"""Ending runs as the worker does, without a model: the answer is whatever the test says."""

from __future__ import annotations

from typing import Any

from inference_client.models import Run, RunStatus
from inference_client.outcomes import Ending
from inference_client.services import claim_run, finish_run


def end(run: Run, *blocks: dict[str, Any], **changes: Any) -> Run:
    """The run afterwards, answered with these content blocks."""
    claimed = claim_run(run_id=run.pk)
    assert claimed is not None
    text = "".join(block.get("text", "") for block in blocks)
    response = {"id": "msg_1", "type": "message", "role": "assistant", "model": run.model, "content": list(blocks)}
    fields = {
        "status": RunStatus.SUCCEEDED,
        "output": text,
        "response": {**response, "usage": {"input_tokens": 3, "output_tokens": 5}},
        "stop_reason": "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn",
    }
    assert finish_run(run=claimed, ending=Ending(**{**fields, **changes}))
    return Run.objects.get(pk=run.pk)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(call_id: str, name: str = "get_weather", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id: str, content: str = "Rain", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}
