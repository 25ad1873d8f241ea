"""Tool calls in the words of the OpenAI chat API, for models that were taught to call tools."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from inference_backend.engines.forced_tools import TextReader
from inference_backend.engines.protocol import (
    GenerationRequest,
    JsonObject,
    StopReason,
    Tool,
    ToolCall,
    ToolChoice,
    ToolJson,
    ToolResult,
    Turn,
)
from inference_backend.errors import EngineOffSchemaError, EngineProtocolError


def chat_messages(turns: Iterable[Turn]) -> list[dict[str, Any]]:
    """Results of calls are messages of their own here, before what else the user says."""
    messages: list[dict[str, Any]] = []
    for turn in turns:
        if not turn.blocks:
            messages.append({"role": turn.role, "content": turn.text})
            continue
        results = [block for block in turn.blocks if isinstance(block, ToolResult)]
        calls = [block for block in turn.blocks if isinstance(block, ToolCall)]
        text = "\n".join(block for block in turn.blocks if isinstance(block, str))
        messages += [_result_message(result) for result in results]
        if calls:
            messages.append(
                {"role": turn.role, "content": text or None, "tool_calls": [_call_entry(call) for call in calls]}
            )
        elif text:
            messages.append({"role": turn.role, "content": text})
    return messages


def forced_tools(request: GenerationRequest) -> tuple[Tool, ...]:
    """Those of which one must be called; none where the model decides.

    A call that must be is forced by schema also where the model knows tools: asked in its own words for a certain call,
    vLLM 0.32 sent arguments that were no object.
    """
    match request.tool_choice:
        case None | ToolChoice(kind="any"):
            return request.tools
        case ToolChoice(kind="tool", name=name):
            return tuple(tool for tool in request.tools if tool.name == name)
    return ()


def tool_fields(request: GenerationRequest, choice: ToolChoice) -> dict[str, Any]:
    """Of a choice that is the model's."""
    fields: dict[str, Any] = {
        "tools": [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description or "", "parameters": tool.schema},
            }
            for tool in request.tools
        ],
        "tool_choice": choice.kind,
    }
    return fields if choice.is_parallel else fields | {"parallel_tool_calls": False}


class CallReader(TextReader):
    """Turns text and pieces of calls into events. Of several calls where one was allowed, the first counts."""

    def __init__(self, choice: ToolChoice) -> None:
        self._choice = choice
        self._names: list[str] = []
        self._has_arguments = False

    def feed_calls(self, pieces: Sequence[object]) -> Iterator[ToolJson]:
        """Raises EngineProtocolError for pieces that belong to no call or to one that has ended, and for arguments that
        are no object."""
        for piece in pieces:
            index, name, arguments = _read_piece(piece)
            if name is not None and index == len(self._names):
                self._names.append(name)
                self._has_arguments = False
            elif index != len(self._names) - 1:
                raise EngineProtocolError("The engine sent a piece of a tool call that it had not begun.")
            self._check(arguments)
            if (name is not None or arguments) and (index == 0 or self._choice.is_parallel):
                yield ToolJson(name=self._names[index], json=arguments, call=index)

    def reason(self, reason: StopReason) -> StopReason:
        return "tool" if self._names and reason == "end" else reason

    def _check(self, arguments: str) -> None:
        if not self._has_arguments and (begin := arguments.lstrip()[:1]):
            self._has_arguments = True
            if begin != "{":
                raise EngineOffSchemaError("The engine called a tool with arguments that are no object.")


def _read_piece(piece: object) -> tuple[int, str | None, str]:
    """(number of the call, its name where it begins, arguments)"""
    entry = piece if isinstance(piece, dict) else {}
    index, function = entry.get("index", 0), entry.get("function")
    function = function if isinstance(function, dict) else {}
    name, arguments = function.get("name") or None, function.get("arguments") or ""
    if not isinstance(index, int) or not isinstance(arguments, str) or not (name is None or isinstance(name, str)):
        raise EngineProtocolError("The engine sent JSON of an unexpected shape.")
    return index, name, arguments


def _result_message(result: ToolResult) -> dict[str, Any]:
    text = f"Error: {result.text}" if result.is_error else result.text
    return {"role": "tool", "tool_call_id": result.call_id, "content": text}


def _call_entry(call: ToolCall) -> JsonObject:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}
