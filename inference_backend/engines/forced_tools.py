"""Tool calls forced by schema, for engines whose model was never taught to call tools.

With one tool the answer *is* its arguments, and streams. With several the answer is {"name", "arguments"} and is
handed on when complete, because until then nobody knows which tool it is for.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pydantic_core

from inference_backend.engines.protocol import JsonObject, StopReason, TextDelta, Tool, ToolJson, Usage
from inference_backend.errors import EngineOffSchemaError


def answer_schema(tools: Sequence[Tool]) -> JsonObject:
    if len(tools) == 1:
        return tools[0].schema
    return {
        "anyOf": [
            {
                "type": "object",
                "properties": {"name": {"const": tool.name}, "arguments": tool.schema},
                "required": ["name", "arguments"],
                "additionalProperties": False,
            }
            for tool in tools
        ]
    }


def describe_tools(tools: Sequence[Tool]) -> str:
    """What the model is told, since its template has no place for tools."""
    lines = [
        json.dumps(
            {"name": tool.name, "description": tool.description or "", "parameters": tool.schema},
            ensure_ascii=False,
        )
        for tool in tools
    ]
    wanted = "its arguments as JSON" if len(tools) == 1 else 'JSON: {"name": ..., "arguments": ...}'
    return "\n".join(["Call one of these functions. Answer only with " + wanted + ".", *lines])


class TextReader:
    """Turns the text of an answer without tools into events. `feed_calls` takes what an engine says of tools itself."""

    def feed(self, text: str, usage: Usage | None) -> Iterator[TextDelta | ToolJson | Usage]:
        if not text:
            if usage:
                yield usage
        elif usage is None or usage.input_tokens is None:
            yield TextDelta(text=text, output_tokens=usage.output_tokens if usage else None)
        else:
            yield TextDelta(text=text)
            yield usage

    def feed_calls(self, pieces: Sequence[object]) -> Iterator[ToolJson]:
        return iter(())

    def finish(self, reason: StopReason) -> Iterator[TextDelta | ToolJson | Usage]:
        return iter(())

    def reason(self, reason: StopReason) -> StopReason:
        return reason


class ToolReader(TextReader):
    """Turns the text of the answer into ToolJson events."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._only = tools[0].name if len(tools) == 1 else None
        self._names = {tool.name for tool in tools}
        self._text: list[str] = []

    def feed(self, text: str, usage: Usage | None) -> Iterator[TextDelta | ToolJson | Usage]:
        if text and self._only is not None:
            yield ToolJson(name=self._only, json=text)
        elif text:
            self._text.append(text)
        if usage:
            yield usage

    def reason(self, reason: StopReason) -> StopReason:
        return "tool" if reason == "end" else reason

    def finish(self, reason: StopReason) -> Iterator[TextDelta | ToolJson | Usage]:
        """Raises EngineOffSchemaError where the answer ended before it named a tool."""
        if self._only is not None:
            return
        call = self._parse("".join(self._text))
        arguments = call.get("arguments")
        yield ToolJson(name=call["name"], json=json.dumps(arguments or {}, ensure_ascii=False))

    def _parse(self, text: str) -> dict[str, Any]:
        try:
            # An answer cut off by max_tokens still names its tool and carries the arguments that were complete.
            call = pydantic_core.from_json(text, allow_partial=True)
        except ValueError as error:
            raise EngineOffSchemaError("The engine did not keep to the schema of the tools.") from error
        if not isinstance(call, dict) or call.get("name") not in self._names:
            raise EngineOffSchemaError("The answer ended before it named a tool; allow it more tokens.")
        return call
