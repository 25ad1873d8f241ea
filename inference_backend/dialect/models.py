"""Models as the API lists them."""

from typing import Any

from inference_backend.engines.protocol import ServedModel

# The API's own value for a model whose release date is unknown.
_UNKNOWN_DATE = "1970-01-01T00:00:00Z"


def model_info(name: str, served: ServedModel | None) -> dict[str, Any]:
    context = served.context if served else None
    return {
        "type": "model",
        "id": name,
        "display_name": name,
        "created_at": _UNKNOWN_DATE,
        "lifecycle": "active",
        "max_input_tokens": context,
        "max_tokens": context,
    }


def model_list(models: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "data": models,
        "has_more": False,
        "first_id": models[0]["id"] if models else None,
        "last_id": models[-1]["id"] if models else None,
    }
