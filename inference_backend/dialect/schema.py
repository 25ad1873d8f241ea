"""What a request may look like, checked strictly: a field that is not understood is refused, never ignored."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NoReturn

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from inference_backend.dialect.structure import check_structure
from inference_backend.errors import InvalidRequestError

MAX_STOP_SEQUENCES = 128
# More than fits any context. A body of 32 MiB holds a million of them, whose checking takes seconds, and a list is
# checked in one go, in which no other thread runs.
MAX_MESSAGES = 20_000
MAX_BLOCKS = 10_000
MAX_TOOLS = 1_024
SHOWN_ERRORS = 3


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class CacheControl(Strict):
    """Accepted and without effect: engines cache prefixes by themselves."""

    type: Literal["ephemeral"]
    ttl: Literal["5m", "1h"] | None = None


class TextBlock(Strict):
    type: Literal["text"]
    text: str
    cache_control: CacheControl | None = None
    citations: None = None


class ToolUseBlock(Strict):
    type: Literal["tool_use"]
    id: str
    name: str
    input: dict[str, Any]
    cache_control: CacheControl | None = None
    caller: dict[str, Any] | None = None
    toolset_name: str | None = None


def _as_blocks(value: object) -> object:
    """A string is short for one text block."""
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    if isinstance(value, list):
        return value
    raise PydanticCustomError("content_type", "Input should be a string or a list of content blocks")


TextContent = Annotated[
    list[TextBlock],
    Field(max_length=MAX_BLOCKS),
    BeforeValidator(_as_blocks, json_schema_input_type=str | list[TextBlock]),
]


class ToolResultBlock(Strict):
    type: Literal["tool_result"]
    tool_use_id: str
    content: TextContent = []
    is_error: bool | None = None
    cache_control: CacheControl | None = None


Block = Annotated[TextBlock | ToolUseBlock | ToolResultBlock, Field(discriminator="type")]


def _known_role(value: object) -> object:
    if value == "system":
        raise PydanticCustomError(
            "system_role",
            'Unexpected role "system". The system prompt is the top-level `system` parameter, not a message',
        )
    return value


class Message(Strict):
    role: Annotated[Literal["user", "assistant"], BeforeValidator(_known_role)]
    content: Annotated[
        list[Block], Field(max_length=MAX_BLOCKS), BeforeValidator(_as_blocks, json_schema_input_type=str | list[Block])
    ]


def _object_schema(value: object) -> object:
    if isinstance(value, dict) and value.get("type") != "object":
        raise PydanticCustomError("schema_type", "type: Input should be 'object'")
    return value


class Tool(BaseModel):
    """Tools carry hints for models (examples, strictness) that change nothing here, so unknown fields pass."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)

    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,128}$")]
    description: str | None = None
    input_schema: Annotated[dict[str, Any], BeforeValidator(_object_schema)]
    type: Literal["custom"] | None = None


class ToolChoiceAuto(Strict):
    type: Literal["auto"]
    disable_parallel_tool_use: bool | None = None


class ToolChoiceAny(Strict):
    type: Literal["any"]
    disable_parallel_tool_use: bool | None = None


class ToolChoiceTool(Strict):
    type: Literal["tool"]
    name: str
    disable_parallel_tool_use: bool | None = None


class ToolChoiceNone(Strict):
    type: Literal["none"]


ToolChoice = Annotated[ToolChoiceAuto | ToolChoiceAny | ToolChoiceTool | ToolChoiceNone, Field(discriminator="type")]


class OutputFormat(Strict):
    type: Literal["json_schema"]
    output_schema: dict[str, Any] = Field(alias="schema")


class OutputConfig(Strict):
    format: OutputFormat | None = None
    effort: None = None


class ThinkingOff(Strict):
    type: Literal["disabled"]


def _thinking_off(value: object) -> object:
    if value is None or (isinstance(value, dict) and value.get("type") == "disabled"):
        return None
    raise PydanticCustomError("thinking", "This model does not support extended thinking")


class Metadata(Strict):
    user_id: str | None = None


def _has_text(value: str) -> str:
    if not value.strip():
        raise PydanticCustomError("blank_stop", "Each stop sequence must contain non-whitespace")
    return value


StopSequence = Annotated[str, BeforeValidator(lambda value: _has_text(value) if isinstance(value, str) else value)]


class Prompt(Strict):
    """What /v1/messages and /v1/messages/count_tokens have in common."""

    model: str
    messages: Annotated[list[Message], Field(max_length=MAX_MESSAGES)]
    system: TextContent | None = None
    tools: Annotated[list[Tool], Field(max_length=MAX_TOOLS)] | None = None
    tool_choice: ToolChoice | None = None
    output_config: OutputConfig | None = None
    thinking: Annotated[None, BeforeValidator(_thinking_off, json_schema_input_type=ThinkingOff | None)] = None
    cache_control: CacheControl | None = None


class CountTokensRequest(Prompt):
    pass


class MessagesRequest(Prompt):
    max_tokens: Annotated[int, Field(ge=1)]
    stream: bool = False
    stop_sequences: Annotated[list[StopSequence], Field(max_length=MAX_STOP_SEQUENCES)] | None = None
    temperature: Annotated[float, Field(ge=0, le=1)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    top_k: Annotated[int, Field(ge=0)] | None = None
    metadata: Metadata | None = None
    service_tier: Literal["auto", "standard_only"] | None = None


def parse_messages_request(body: bytes) -> MessagesRequest:
    """Raises InvalidRequestError that names the field, or the position where the body is not JSON."""
    check_structure(body)
    try:
        return MessagesRequest.model_validate_json(body)
    except ValidationError as error:
        refuse(error)


def parse_count_request(body: bytes) -> CountTokensRequest:
    """Raises InvalidRequestError like parse_messages_request."""
    check_structure(body)
    try:
        return CountTokensRequest.model_validate_json(body)
    except ValidationError as error:
        refuse(error)


def refuse(error: ValidationError) -> NoReturn:
    """Raises the InvalidRequestError that says what is wrong."""
    # Inputs stay out of it: they are the caller's text, and can be megabytes.
    found = error.errors(include_url=False, include_input=False)
    message = "; ".join(_sentence(one["loc"], one["type"], one["msg"], one.get("ctx") or {}) for one in found[:3])
    field = ".".join(map(str, found[0]["loc"])) or None
    refusal = InvalidRequestError(message)
    refusal.field = field
    raise refusal from None


def _sentence(loc: Sequence[int | str], kind: str, message: str, context: dict[str, Any]) -> str:
    if kind == "json_invalid":
        return _json_sentence(str(context.get("error", "")))
    if kind == "union_tag_invalid":
        tag, known = str(context.get("tag"))[:64], context.get("expected_tags")
        message = f"`{tag}` is not supported by this model; supported: {known}"
    path = ".".join(map(str, loc))
    return f"{path}: {message}" if path else message


def _json_sentence(reason: str) -> str:
    if "surrogate" in reason or "hex escape" in reason:
        position = reason.partition(" at ")[2]
        return f"The request body holds a lone surrogate, which is no text (an unpaired \\u escape at {position})"
    return f"The request body is not valid JSON: {reason}"
