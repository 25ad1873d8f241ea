"""A checked request of the Messages API, turned into what engines are asked."""

import json
from collections.abc import Iterable, Mapping, Sequence

from inference_backend.dialect.schema import (
    Block,
    Message,
    MessagesRequest,
    Prompt,
    TextBlock,
    ToolChoice,
    ToolChoiceAny,
    ToolChoiceAuto,
    ToolChoiceNone,
    ToolChoiceTool,
    ToolResultBlock,
    ToolUseBlock,
)
from inference_backend.dialect.versions import SAMPLING_FIELDS, ApiVersion, takes_sampling
from inference_backend.engines import protocol
from inference_backend.engines.protocol import Capabilities, GenerationRequest, Role, ToolCall, ToolResult, Turn
from inference_backend.errors import InvalidRequestError

# Blocks of one turn are parts of one text for a model that knows no blocks.
BLOCK_SEPARATOR = "\n"


def build_generation(request: MessagesRequest, *, version: ApiVersion, capabilities: Capabilities) -> GenerationRequest:
    """Raises InvalidRequestError for what the version or the engine does not offer."""
    _refuse_sampling(request, version, capabilities)
    prompt = build_prompt(request, capabilities=capabilities)
    return GenerationRequest(
        turns=prompt.turns,
        system=prompt.system,
        schema=prompt.schema,
        tools=prompt.tools,
        tool_choice=prompt.tool_choice,
        max_tokens=request.max_tokens,
        temperature=request.temperature,
        top_p=request.top_p,
        top_k=request.top_k,
    )


def build_prompt(request: Prompt, *, capabilities: Capabilities) -> GenerationRequest:
    """The part that counts as input; max_tokens is 1."""
    turns = _build_turns(request.messages, with_blocks=capabilities.own_tools)
    tools, choice = _choose_tools(request, capabilities)
    schema = request.output_config.format if request.output_config else None
    if tools and schema:
        if choice is None or choice.kind != "none":
            raise InvalidRequestError("cannot be combined with tools", field="output_config.format")
        tools, choice = (), None
    _check_prefill(turns[-1], capabilities)
    system = _join_text(request.system) if request.system else None
    return GenerationRequest(
        turns=turns,
        system=system,
        schema=schema.output_schema if schema else None,
        tools=tools,
        tool_choice=choice,
        max_tokens=1,
    )


def _refuse_sampling(request: MessagesRequest, version: ApiVersion, capabilities: Capabilities) -> None:
    for name in SAMPLING_FIELDS:
        if getattr(request, name) is not None and not takes_sampling(version):
            raise InvalidRequestError(
                f"not supported by anthropic-version {version}; send 2023-06-01 to set it", field=name
            )
    if request.top_k is not None and not capabilities.top_k:
        raise InvalidRequestError("not supported by this model", field="top_k")


def _check_prefill(last: Turn, capabilities: Capabilities) -> None:
    if last.role != "assistant":
        return
    if any(isinstance(block, ToolCall) for block in last.blocks):
        raise InvalidRequestError("the last message must hold the tool_result of each tool_use", field="messages")
    if not capabilities.prefill:
        raise InvalidRequestError(
            "this model does not support prefill: the last message must be the user's", field="messages"
        )
    if last.text != last.text.rstrip():
        raise InvalidRequestError("final assistant content cannot end with trailing whitespace", field="messages")


def _build_turns(messages: Sequence[Message], *, with_blocks: bool) -> tuple[Turn, ...]:
    """Neighbouring turns of one role become one, as in the API; templates often allow nothing else."""
    if not messages:
        raise InvalidRequestError("at least one message is required", field="messages")
    # Parts are joined at the end: a body of many short messages of one role would else be copied again for each.
    turns: list[tuple[Role, list[str], list[str | ToolCall | ToolResult]]] = []
    for index, message in enumerate(messages):
        text = _message_text(message, index)
        if not text or text.isspace():
            if index == len(messages) - 1 and message.role == "assistant" and turns:
                break  # an empty prefill is no prefill
            raise InvalidRequestError("content must hold non-whitespace text", field=f"messages.{index}")
        if not turns or turns[-1][0] != message.role:
            turns.append((message.role, [], []))
        turns[-1][1].append(text)
        if with_blocks:
            turns[-1][2].extend(map(_engine_block, message.content))
    return tuple(
        Turn(
            role=role,
            text=BLOCK_SEPARATOR.join(parts),
            # Text alone is said best by `text`.
            blocks=() if all(isinstance(block, str) for block in blocks) else tuple(blocks),
        )
        for role, parts, blocks in turns
    )


def _engine_block(block: Block) -> str | ToolCall | ToolResult:
    match block:
        case ToolUseBlock():
            return ToolCall(id=block.id, name=block.name, arguments=block.input)
        case ToolResultBlock():
            return ToolResult(call_id=block.tool_use_id, text=_join_text(block.content), is_error=bool(block.is_error))
    return block.text


def _message_text(message: Message, index: int) -> str:
    parts = []
    for position, block in enumerate(message.content):
        allowed = "assistant" if isinstance(block, ToolUseBlock) else "user"
        if not isinstance(block, TextBlock) and message.role != allowed:
            raise InvalidRequestError(
                f"`{block.type}` blocks belong in {allowed} messages",
                field=f"messages.{index}.content.{position}",
            )
        parts.append(_block_text(block))
    return BLOCK_SEPARATOR.join(parts)


def _block_text(block: Block) -> str:
    """Tool turns as text, in the form in which the engine was made to answer (engines/forced_tools.py)."""
    if isinstance(block, ToolUseBlock):
        return json.dumps({"name": block.name, "arguments": block.input}, ensure_ascii=False)
    if isinstance(block, ToolResultBlock):
        return _join_text(block.content) or "(no result)"
    return block.text


def _join_text(blocks: Iterable[TextBlock]) -> str:
    return BLOCK_SEPARATOR.join(block.text for block in blocks)


def _choose_tools(
    request: Prompt, capabilities: Capabilities
) -> tuple[tuple[protocol.Tool, ...], protocol.ToolChoice | None]:
    choice = request.tool_choice
    if not request.tools:
        if choice is not None and not isinstance(choice, ToolChoiceNone):
            raise InvalidRequestError("may only be given together with tools", field="tool_choice")
        return (), None
    tools = {
        tool.name: protocol.Tool(name=tool.name, description=tool.description, schema=tool.input_schema)
        for tool in request.tools
    }
    if len(tools) != len(request.tools):
        raise InvalidRequestError("tool names must be unique", field="tools")
    if isinstance(choice, ToolChoiceTool) and choice.name not in tools:
        raise InvalidRequestError("no tool of this name is given", field="tool_choice.name")
    if capabilities.own_tools:
        return tuple(tools.values()), _own_choice(choice)
    return _forced(choice, tools), None


def _own_choice(choice: ToolChoice | None) -> protocol.ToolChoice:
    match choice:
        case ToolChoiceNone():
            return protocol.ToolChoice(kind="none")
        case ToolChoiceTool(name=name):
            return protocol.ToolChoice(kind="tool", name=name, is_parallel=not choice.disable_parallel_tool_use)
        case ToolChoiceAny() | ToolChoiceAuto():
            return protocol.ToolChoice(kind=choice.type, is_parallel=not choice.disable_parallel_tool_use)
    return protocol.ToolChoice(kind="auto")


def _forced(choice: ToolChoice | None, tools: Mapping[str, protocol.Tool]) -> tuple[protocol.Tool, ...]:
    match choice:
        case ToolChoiceNone():
            return ()
        case ToolChoiceAny():
            return tuple(tools.values())
        case ToolChoiceTool(name=name):
            return (tools[name],)
        case _:
            raise InvalidRequestError(
                "this model cannot decide by itself whether to call a tool; "
                "force a call with type `any` or `tool`, or send `none`",
                field="tool_choice",
            )
