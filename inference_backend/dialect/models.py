"""Models as the API lists them."""

import dataclasses
from typing import Any

from inference_backend.fleet.model import Model

# The API's own value for a model whose release date is unknown.
_UNKNOWN_DATE = "1970-01-01T00:00:00Z"


def model_info(model: Model) -> dict[str, Any]:
    """A row of the API's list, and beyond it what this model can do and what to know about it."""
    context = model.context
    return {
        "type": "model",
        "id": model.id,
        "display_name": model.id,
        "created_at": _UNKNOWN_DATE,
        "lifecycle": "active",
        "max_input_tokens": context,
        "max_tokens": context,
        "capabilities": dataclasses.asdict(model.capabilities),
        "notice": model.notice or None,
        "load": _load(model),
    }


def _load(model: Model) -> dict[str, Any]:
    """How busy it is: requests that wait, answers being written, places for answers, tokens a second of one answer."""
    state = model.pool.snapshot()
    speeds = [1 / use.decode_s_per_token for use in state.replicas if use.decode_s_per_token > 0]
    return {
        "waiting": sum(state.waiting.values()),
        "running": state.running,
        "slots": sum(use.slots for use in state.replicas if not use.is_draining),
        "tokens_per_s": round(sum(speeds) / len(speeds), 1) if speeds else None,
    }


def model_list(models: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "data": models,
        "has_more": False,
        "first_id": models[0]["id"] if models else None,
        "last_id": models[-1]["id"] if models else None,
    }
