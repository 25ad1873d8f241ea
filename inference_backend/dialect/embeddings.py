"""What /v1/embeddings takes and gives, in the shape that OpenAI's clients know; errors as on all our routes."""

import base64
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import pydantic_core
from pydantic import BeforeValidator, Field, ValidationError
from pydantic_core import PydanticCustomError

from inference_backend.dialect.schema import Strict, refuse
from inference_backend.dialect.structure import check_structure
from inference_backend.engines.embedding import Embedding

MAX_INPUTS = 256

Encoding = Literal["float", "base64"]


def _no_tokens(value: object) -> object:
    if isinstance(value, list) and value and isinstance(value[0], int | list):
        raise PydanticCustomError("token_input", "Token numbers are not supported; send the text itself")
    if value == "" or (isinstance(value, list) and "" in value):
        raise PydanticCustomError("empty_input", "An input must not be empty")
    return [value] if isinstance(value, str) else value


class EmbeddingsRequest(Strict):
    """`user` is accepted and without effect: the key says who asks."""

    model: str
    input: Annotated[
        list[str],
        Field(min_length=1, max_length=MAX_INPUTS),
        BeforeValidator(_no_tokens, json_schema_input_type=str | list[str]),
    ]
    encoding_format: Encoding = "float"
    dimensions: Annotated[int, Field(ge=1)] | None = None
    user: str | None = None


def parse_embeddings_request(body: bytes) -> EmbeddingsRequest:
    """Raises InvalidRequestError that names the field."""
    check_structure(body)
    try:
        return EmbeddingsRequest.model_validate_json(body)
    except ValidationError as error:
        refuse(error)


def embeddings_body(results: Sequence[Embedding], *, model: str, encoding: Encoding) -> bytes:
    tokens = sum(result.tokens for result in results)
    rows: list[dict[str, Any]] = [
        {"object": "embedding", "index": index, "embedding": _vector(result, encoding)}
        for index, result in enumerate(results)
    ]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return pydantic_core.to_json({"object": "list", "data": rows, "model": model, "usage": usage})


def _vector(result: Embedding, encoding: Encoding) -> list[float] | str:
    return base64.b64encode(result.vector).decode() if encoding == "base64" else result.numbers()
