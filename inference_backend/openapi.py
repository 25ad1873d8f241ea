"""The OpenAPI 3.1 document of this service. Requests come from the models that check them, answers are written here."""

from typing import Any

from pydantic.json_schema import models_json_schema

from inference_backend.dialect.embeddings import EmbeddingsRequest
from inference_backend.dialect.schema import CountTokensRequest, MessagesRequest
from inference_backend.dialect.versions import VERSIONS

OPENAPI_VERSION = "3.1.0"
TITLE = "Inference backend"

_ERRORS = {
    "400": "The request is wrong; the message names the field.",
    "401": "The API key is missing or unknown.",
    "403": "The API key may not do this.",
    "404": "There is no such model.",
    "408": "The request did not arrive in time.",
    "409": "The Idempotency-Key is in use, or belongs to another request.",
    "413": "The body is too large.",
    "429": "A limit of this account is reached.",
    "500": "Something failed here.",
    "503": "This process is about to end, or what it needs to check the request is down.",
    "504": "The engine was silent for too long.",
    "529": "There is more work than can be done.",
}
_STRING = {"type": "string"}
_NULLABLE_STRING = {"type": ["string", "null"]}
_COUNT = {"type": "integer", "minimum": 0}
_USAGE = {
    "type": "object",
    "required": ["input_tokens", "output_tokens"],
    "properties": {
        "input_tokens": _COUNT,
        "output_tokens": _COUNT,
        "cache_creation_input_tokens": _COUNT,
        "cache_read_input_tokens": _COUNT,
    },
}
_ANSWERS: dict[str, Any] = {
    "Error": {
        "type": "object",
        "required": ["type", "error", "request_id"],
        "properties": {
            "type": {"const": "error"},
            "request_id": _STRING,
            "error": {
                "type": "object",
                "required": ["type", "message"],
                "properties": {
                    "type": _STRING,
                    "message": _STRING,
                    "details": {"type": "object", "properties": {"error_code": _STRING}},
                },
            },
        },
    },
    "MessageAnswer": {
        "type": "object",
        "required": ["id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"],
        "properties": {
            "id": _STRING,
            "type": {"const": "message"},
            "role": {"const": "assistant"},
            "model": _STRING,
            "content": {"type": "array", "items": {"type": "object", "required": ["type"]}},
            "stop_reason": _NULLABLE_STRING,
            "stop_sequence": _NULLABLE_STRING,
            "usage": _USAGE,
        },
    },
    "EmbeddingList": {
        "type": "object",
        "required": ["object", "data", "model", "usage"],
        "properties": {
            "object": {"const": "list"},
            "model": _STRING,
            "usage": {
                "type": "object",
                "required": ["prompt_tokens", "total_tokens"],
                "properties": {"prompt_tokens": _COUNT, "total_tokens": _COUNT},
            },
            "data": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["object", "index", "embedding"],
                    "properties": {
                        "object": {"const": "embedding"},
                        "index": _COUNT,
                        "embedding": {"oneOf": [_STRING, {"type": "array", "items": {"type": "number"}}]},
                    },
                },
            },
        },
    },
    "TokenCount": {"type": "object", "required": ["input_tokens"], "properties": {"input_tokens": _COUNT}},
    "Model": {
        "type": "object",
        "required": ["type", "id", "display_name", "created_at"],
        "properties": {"type": {"const": "model"}, "id": _STRING, "display_name": _STRING, "created_at": _STRING},
    },
    "ModelList": {
        "type": "object",
        "required": ["data", "has_more", "first_id", "last_id"],
        "properties": {
            "data": {"type": "array", "items": {"$ref": "#/components/schemas/Model"}},
            "has_more": {"type": "boolean"},
            "first_id": _NULLABLE_STRING,
            "last_id": _NULLABLE_STRING,
        },
    },
}
# One event of a stream. `data` is JSON whose `type` repeats the name of the event.
_EVENT = {
    "type": "object",
    "required": ["event", "data"],
    "properties": {
        "event": {
            "enum": [
                "message_start",
                "content_block_start",
                "ping",
                "content_block_delta",
                "content_block_stop",
                "message_delta",
                "message_stop",
                "error",
            ]
        },
        "data": _STRING,
    },
}
_VERSION = {
    "name": "anthropic-version",
    "in": "header",
    "required": True,
    "schema": {"type": "string", "enum": list(VERSIONS)},
}
_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "A second request with this key gets the answer of the first, for a day.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
}


def build_document() -> dict[str, Any]:
    _, definitions = models_json_schema(
        [
            (MessagesRequest, "validation"),
            (CountTokensRequest, "validation"),
            (EmbeddingsRequest, "validation"),
        ],
        ref_template="#/components/schemas/{model}",
    )
    return {
        "openapi": OPENAPI_VERSION,
        "info": {"title": TITLE, "version": VERSIONS[-1]},
        "security": [{"bearer": []}, {"api_key": []}],
        "paths": _paths(),
        "components": {
            "schemas": definitions["$defs"] | _ANSWERS,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "api_key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
            },
        },
    }


def _paths() -> dict[str, Any]:
    model = {"name": "model", "in": "path", "required": True, "schema": _STRING}
    return {
        "/v1/messages": {
            "post": _operation(
                "create_message",
                takes="MessagesRequest",
                gives={
                    "application/json": {"schema": _reference("MessageAnswer")},
                    "text/event-stream": {"schema": _EVENT},
                },
                parameters=[_VERSION, _IDEMPOTENCY_KEY],
            )
        },
        "/v1/messages/count_tokens": {
            "post": _operation("count_tokens", takes="CountTokensRequest", gives=_json("TokenCount"))
        },
        "/v1/embeddings": {
            "post": _operation(
                "create_embeddings", takes="EmbeddingsRequest", gives=_json("EmbeddingList"), parameters=[]
            )
        },
        "/v1/models": {"get": _operation("list_models", gives=_json("ModelList"))},
        "/v1/models/{model}": {
            "get": _operation("show_model", gives=_json("Model"), parameters=[_VERSION, model]),
        },
    }


def _operation(
    name: str, *, gives: dict[str, Any], takes: str | None = None, parameters: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": name,
        "parameters": [_VERSION] if parameters is None else parameters,
        "responses": {"200": {"description": "The answer.", "content": gives}} | _refusals(),
    }
    if takes:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": _reference(takes)}}}
    return operation


def _refusals() -> dict[str, Any]:
    return {status: {"description": description, "content": _json("Error")} for status, description in _ERRORS.items()}


def _json(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": _reference(name)}}


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
