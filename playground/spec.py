"""What a version freezes: everything that reaches the wire, checked by field before anything is kept.

A *raw spec* is what a person or program sends. `parse` turns it into a `Spec`: plain JSON values in which each text is
a `str`, a `BodyRef` (a text that a version of the same prompt already has) or an `UploadRef`. `map_texts` is the only
code that knows where texts are; freezing, reading back and substituting variables all go through it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pydantic
import rfc8785
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Discriminator, Field, Tag, ValidationInfo
from pydantic_core import ErrorDetails, PydanticCustomError

from core.errors import DomainError, InvalidInput, TooLarge
from playground import json_schema, template

#: A text sent inside the JSON body. Larger ones are uploads, so that no request holds a worker for long.
INLINE_TEXT_BYTES = 2 * 1024 * 1024
MAX_MESSAGES = 2000
MAX_VARIABLES = 200
API_VERSIONS = ("2023-06-01", "2026-10-21")
DEFAULT_API_VERSION = "2023-06-01"
SAMPLING = ("temperature", "top_p", "top_k")

Json = Any  # the JSON edge: checked here, turned into the models below


@dataclass(frozen=True, kw_only=True)
class BodyRef:
    """A text by its SHA-256 (64 hex digits): valid only inside the prompt that already has it."""

    sha256: str


@dataclass(frozen=True, kw_only=True)
class UploadRef:
    upload_id: str


Text = str | BodyRef | UploadRef


def _text(value: Json) -> Text:
    if isinstance(value, str):
        size = len(value.encode("utf-8"))
        if size > INLINE_TEXT_BYTES:
            raise PydanticCustomError(
                "text_too_large",
                f"This text has {size:,} bytes; one sent inline may have {INLINE_TEXT_BYTES:,}.",
            )
        return value
    if isinstance(value, dict):
        body, upload = value.get("body"), value.get("upload")
        if isinstance(body, str) and set(value) <= {"body", "bytes"} and _is_sha256(body):
            return BodyRef(sha256=body)
        if isinstance(upload, str) and set(value) == {"upload"}:
            return UploadRef(upload_id=upload)
    raise PydanticCustomError(
        "text", 'Must be a text, {"body": sha256} of a text this prompt already has, or {"upload": id}.'
    )


def _is_sha256(value: str) -> bool:
    return len(value) == 64 and set(value) <= set("0123456789abcdef")


def _verbatim(kind: type, what: str) -> Callable[[Json], Text]:
    """JSON that a person wrote is kept as written; given as JSON values, it is written out once, order kept."""

    def check(value: Json) -> Text:
        if isinstance(value, dict) and (
            set(value) == {"upload"} or (set(value) <= {"body", "bytes"} and "body" in value)
        ):
            return _text(value)
        written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
        try:
            parsed = json.loads(written)
            rfc8785.dumps(parsed)
        except (ValueError, RecursionError) as error:
            raise PydanticCustomError("json", f"Not usable JSON: {str(error).replace('{', '{{')}") from error
        if not isinstance(parsed, kind):
            raise PydanticCustomError("json", f"Must be a JSON {what}.")
        return _text(written)

    return check


_array = _verbatim(list, "array of tools")
_object = _verbatim(dict, "object")


def _tools(value: Json, info: ValidationInfo) -> Text:
    text = _array(value)
    if isinstance(text, str):
        _check_tools(json.loads(text), schemas=_is_new(info))
    return text


def _schema(value: Json, info: ValidationInfo) -> Text:
    text = _object(value)
    if isinstance(text, str) and _is_new(info):
        _refuse_faults(json.loads(text), ())
    return text


def _is_new(info: ValidationInfo) -> bool:
    return bool((info.context or {}).get("is_new", True))


def _check_tools(tools: list[Json], *, schemas: bool) -> None:
    for index, tool in enumerate(tools):
        if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
            raise PydanticCustomError("tool", f"Tool {index} needs a name.")
    if not schemas:
        return
    written = {index: tool["input_schema"] for index, tool in enumerate(tools) if "input_schema" in tool}
    for (index, schema), has_room in zip(written.items(), json_schema.weighed(written.values()), strict=True):
        if has_room:
            _refuse_faults(schema, (index, "input_schema"))


def _refuse_faults(schema: Json, place: json_schema.Path) -> None:
    """What nobody can use as a schema is not kept. One too large to be looked into is."""
    try:
        found = json_schema.faults(schema)
    except json_schema.TooLargeToCheck:
        return
    if found:
        path = ".".join(map(str, (*place, *found[0].path)))
        raise PydanticCustomError("schema", "{sentence}", {"sentence": found[0].message, "path": path})


def _flat(value: Json) -> Json:
    """Small texts that are part of the row, not bodies: no NUL, which PostgreSQL and C strings cannot hold."""
    if isinstance(value, str) and "\0" in value:
        raise PydanticCustomError("nul", "A NUL character is not possible here.")
    return value


Line = Annotated[str, BeforeValidator(_flat)]


def _number(value: Json) -> Json:
    """A number as it was written: 0 stays 0 and is not sent as 0.0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PydanticCustomError("number", "Must be a number.")
    return value


def _between(low: float, high: float) -> BeforeValidator:
    def check(value: Json) -> Json:
        if not low <= _number(value) <= high:
            raise PydanticCustomError("range", f"Must be between {low:g} and {high:g}.")
        return value

    return BeforeValidator(check)


class Model(pydantic.BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class TextBlock(Model):
    type: Literal["text"]
    text: Annotated[Any, BeforeValidator(_text)]
    cache_control: dict[str, Json] | None = None
    citations: list[dict[str, Json]] | None = None


class ToolUseBlock(Model):
    type: Literal["tool_use"]
    id: Line
    name: Line
    input: dict[str, Json]
    cache_control: dict[str, Json] | None = None
    caller: dict[str, Json] | None = None


def _result(value: Json) -> Json:
    """A result is a text, or a list of blocks, which is passed on as it is: no variables, no text of its own."""
    if isinstance(value, list) and all(isinstance(block, dict) for block in value):
        return value
    return _text(value)


class ToolResultBlock(Model):
    type: Literal["tool_result"]
    tool_use_id: Line
    content: Annotated[Any, BeforeValidator(_result)] = None
    is_error: bool | None = None
    cache_control: dict[str, Json] | None = None


class MediaBlock(Model):
    """An image or document: its `source` is passed on as it is."""

    type: Literal["image", "document"]
    source: dict[str, Json]
    title: Line | None = None
    context: str | None = None
    citations: dict[str, Json] | None = None
    transformations: dict[str, Json] | None = None
    cache_control: dict[str, Json] | None = None


class ThinkingBlock(Model):
    """What a model thought in an earlier turn: sent back to the character, or the API refuses its signature."""

    type: Literal["thinking"]
    thinking: str
    signature: str


class RedactedThinkingBlock(Model):
    type: Literal["redacted_thinking"]
    data: str


Block = Annotated[
    TextBlock | ToolUseBlock | ToolResultBlock | MediaBlock | ThinkingBlock | RedactedThinkingBlock,
    Field(discriminator="type"),
]


def _content_kind(value: Json) -> str:
    return "blocks" if isinstance(value, list) else "text"


Content = Annotated[
    Annotated[list[Block], Field(min_length=1), Tag("blocks")] | Annotated[Any, BeforeValidator(_text), Tag("text")],
    Discriminator(_content_kind),
]


class Message(Model):
    role: Literal["user", "assistant"]
    content: Content


class Variable(Model):
    """A variable's card. Its name is kept in NFC, as it is compared."""

    name: Line
    type: Literal["text", "json", "file"] = "text"
    default: str | None = None
    description: Line = ""

    @pydantic.field_validator("name")
    @classmethod
    def _is_a_name(cls, value: str) -> str:
        name = template.normal_name(value)
        if name is None:
            raise PydanticCustomError("name", "Not a variable name: letters, digits, _ and - only.")
        return name


def _variable_list(value: Json) -> Json:
    """Variables may also come as a mapping from name to card."""
    if isinstance(value, dict):
        return [
            {"name": name, **(card if isinstance(card, dict) else {"default": card})} for name, card in value.items()
        ]
    return value


def _one_card_each(cards: list[Variable], info: ValidationInfo) -> list[Variable]:
    """Two cards of one name leave it to chance which default is sent. What was a version already keeps them."""
    if not _is_new(info):
        return cards
    places: dict[str, int] = {}
    for index, card in enumerate(cards):
        first = places.setdefault(card.name, index)
        if first != index:
            raise PydanticCustomError(
                "two_cards",
                "There are two cards of the variable {name}, {first} and {second} in the list. Keep one of them, or "
                "give one another name.",
                {"name": card.name, "first": first + 1, "second": index + 1, "path": f"{index}.name"},
            )
    return cards


class Spec(Model):
    """A whole version. Absent means absent on the wire too; 0 is sent as 0."""

    model: Annotated[Line, Field(min_length=1, max_length=200)]
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000)]
    temperature: Annotated[Any, _between(0, 1)] = None
    top_p: Annotated[Any, _between(0, 1)] = None
    top_k: Annotated[int, Field(ge=0, le=100_000)] | None = None
    stop_sequences: (
        Annotated[list[Annotated[Line, Field(min_length=1, max_length=1000)]], Field(max_length=64)] | None
    ) = None
    system: Content | None = None
    messages: Annotated[list[Message], Field(min_length=1, max_length=MAX_MESSAGES)]
    tools: Annotated[Any, BeforeValidator(_tools)] = None
    tool_choice: dict[str, Json] | None = None
    output_schema: Annotated[Any, BeforeValidator(_schema)] = None
    thinking: dict[str, Json] | None = None
    api_version: Literal["2023-06-01", "2026-10-21"] | None = None
    variables: (
        Annotated[
            list[Variable],
            BeforeValidator(_variable_list),
            Field(max_length=MAX_VARIABLES),
            AfterValidator(_one_card_each),
        ]
        | None
    ) = None

    @pydantic.model_validator(mode="after")
    def _api_version_takes_them(self) -> Spec:
        for name in SAMPLING:
            if self.api_version == "2026-10-21" and getattr(self, name) is not None:
                raise PydanticCustomError("sampling", "{field} is not taken by API version 2026-10-21", {"field": name})
        return self

    def plain(self) -> dict[str, Json]:
        """Plain JSON values with texts as `Text` leaves, absent fields left out."""
        return {name: _plain(value) for name in type(self).model_fields if (value := getattr(self, name)) is not None}


def _plain(value: Json) -> Json:
    if isinstance(value, pydantic.BaseModel):
        fields = type(value).model_fields
        return {name: _plain(item) for name in fields if (item := getattr(value, name)) is not None}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def parse(raw: Json, *, field: str = "spec", is_new: bool = True) -> Spec:
    """Check a raw spec. Raises InvalidInput or TooLarge naming the dotted field and what was wrong with it.

    What is not new was a version already, under rules that may have been fewer: its tools and output schema are held to
    be JSON only, and a variable may have two cards, of which the last counts.
    """
    if not isinstance(raw, dict):
        raise InvalidInput("A spec is a JSON object.", field=field)
    try:
        given = {name: value for name, value in raw.items() if value is not None}
        spec = Spec.model_validate(given, context={"is_new": is_new})
        rfc8785.dumps({name: value for name, value in spec.plain().items() if name in ("tool_choice", "thinking")})
    except pydantic.ValidationError as error:
        raise _first_error(error, field) from error
    except rfc8785.CanonicalizationError as error:
        raise InvalidInput(f"A number here has no JSON form all readers agree on: {error}.", field=field) from error
    return spec


#: The fields whose text is JSON that a person wrote.
JSON_FIELDS = ("tools", "output_schema")


def check_json(name: str, text: str) -> None:
    """Hold a text that a spec only refers to, to what is asked of one given in full. Raises InvalidInput."""
    smallest = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]}
    parse({**smallest, name: text})


class _Turns(Model):
    messages: Annotated[list[Message], Field(max_length=MAX_MESSAGES)]


def parse_turns(raw: Json) -> list[dict[str, Json]]:
    """Check turns that continue a conversation: messages whose texts are given, not referred to.

    Raises InvalidInput or TooLarge naming the dotted field under `messages`.
    """
    try:
        turns = [_plain(turn) for turn in _Turns.model_validate({"messages": raw}).messages]
    except pydantic.ValidationError as error:
        raise _first_error(error, "") from error

    def refuse_reference(text: Json, kind: TextKind) -> Json:
        del kind
        if not isinstance(text, str):
            raise InvalidInput("A turn carries its text itself.", field="messages")
        return text

    return list(map_texts({"messages": turns}, refuse_reference)["messages"])


#: What pydantic puts into an error's location beside field names: the branch of a union it tried.
_BRANCHES = frozenset(
    {"blocks", "text", "tool_use", "tool_result", "image", "document", "thinking", "redacted_thinking"}
)


def _first_error(error: pydantic.ValidationError, field: str) -> DomainError:
    problem = error.errors(include_url=False, include_input=False)[0]
    location = problem["loc"]
    parts = [
        str(part)
        for index, part in enumerate(location)
        if not (
            index > 0 and part in _BRANCHES and (part != "text" or index + 1 < len(location) or _is_branch(location))
        )
    ]
    if problem["type"] == "sampling":
        parts.append(str(problem.get("ctx", {}).get("field", "")))
    if problem["type"] in ("schema", "two_cards"):
        parts.extend(filter(None, [problem["ctx"]["path"]]))
    path = ".".join([field, *parts]) if field else ".".join(parts)
    if problem["type"] == "text_too_large":
        return TooLarge(
            problem["msg"],
            code="text_too_large",
            field=path,
            kept="Nothing was saved; your text is still in this page.",
            next_step="Upload it and refer to it by its upload id.",
        )
    return InvalidInput(_sentence(problem), field=path)


#: pydantic's own sentences speak of inputs and validation; these speak to the person who wrote the spec.
_SENTENCES = {
    "missing": "This is required.",
    "extra_forbidden": "There is no such field in a spec.",
    "string_type": "Must be a text.",
    "string_too_short": "This cannot be empty.",
    "string_too_long": "At most {max_length} characters are possible here.",
    "int_type": "Must be a whole number.",
    "list_type": "Must be a list.",
    "dict_type": "Must be a JSON object.",
    "bool_type": "Must be true or false.",
    "greater_than_equal": "Must be at least {ge}.",
    "less_than_equal": "Must be at most {le}.",
    "too_short": "At least {min_length} is needed.",
    "too_long": "At most {max_length} are possible.",
    "literal_error": "Must be {expected}.",
    "union_tag_invalid": "There is no content block of type {tag!r}; known are {expected_tags}.",
    "union_tag_not_found": "A content block needs a type.",
    "model_type": "Must be a JSON object.",
    "model_attributes_type": "Must be a JSON object.",
}


def _sentence(problem: ErrorDetails) -> str:
    known = _SENTENCES.get(problem["type"])
    if known is None:
        return f"{problem['msg']}.".replace("..", ".")
    return known.format_map(problem.get("ctx", {}))


def _is_branch(location: tuple[int | str, ...]) -> bool:
    """Whether a trailing "text" is the union's branch (after `content` or `system`), not the field of a text block."""
    return len(location) >= 2 and location[-2] in ("content", "system")


TextKind = Literal["prompt", "json"]


def map_texts(spec: dict[str, Json], change: Callable[[Json, TextKind], Json]) -> dict[str, Json]:
    """A copy of a plain spec in which each text is `change(text, kind)`.

    "prompt" texts take variables; "json" ones (tools, output schema) are verbatim JSON.
    """
    out = dict(spec)
    if "system" in spec:
        out["system"] = _map_content(spec["system"], change)
    out["messages"] = [{**message, "content": _map_content(message["content"], change)} for message in spec["messages"]]
    for name in ("tools", "output_schema"):
        if name in spec:
            out[name] = change(spec[name], "json")
    return out


def _map_content(content: Json, change: Callable[[Json, TextKind], Json]) -> Json:
    if not isinstance(content, list):
        return change(content, "prompt")
    blocks = []
    for block in content:
        name = _text_of(block)
        blocks.append({**block, name: change(block[name], "prompt")} if name else block)
    return blocks


def _text_of(block: dict[str, Json]) -> str | None:
    """The field of a block that is a text of the version; a result may be a list of blocks, which is none."""
    name = {"text": "text", "tool_result": "content"}.get(block["type"])
    return name if name and name in block and not isinstance(block[name], list) else None


def prompt_texts(spec: dict[str, Json]) -> list[str]:
    """The texts of a spec (read back, so all `str`) that take variables, in wire order."""
    found: list[str] = []

    def collect(text: Json, kind: TextKind) -> Json:
        if kind == "prompt":
            found.append(text)
        return text

    map_texts(spec, collect)
    return found
