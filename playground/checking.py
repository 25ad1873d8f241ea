"""What will be refused, or not work as one may think, of a spec that can be saved. Pure.

A version keeps what its author wrote even where a server of today refuses it; so this is told before a run and never
stands in the way of a save.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from playground import json_schema, tool_turns
from playground.targets import misfits

Json = Any
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
#: The Messages API's least `thinking.budget_tokens`.
LEAST_BUDGET = 1024
MAX_PROBLEMS = 40


@dataclass(frozen=True, kw_only=True)
class Problem:
    """`field`: dotted, below the spec. `error`: the request will be refused; `note`: good to know, no more."""

    field: str
    message: str
    level: Literal["error", "note"] = "error"


@dataclass(frozen=True, kw_only=True)
class Target:
    """What is known of the model that a spec is for. `is_anthropic`: held to the rules of Anthropic's own API."""

    api_version: str
    capabilities: object = None
    is_anthropic: bool = False


def problems(body: Mapping[str, Any], target: Target) -> list[Problem]:
    """What `target` will refuse of `body`, a request as on the wire (`wire.build`), and what is worth a note."""
    found = [
        *_sampling(body, target),
        *_tools(body.get("tools") or [], target),
        *_tool_choice(body),
        *_output_schema(body, target),
        *_thinking(body),
        *_messages(body["messages"]),
    ]
    return found[:MAX_PROBLEMS]


def _sampling(body: Mapping[str, Any], target: Target) -> Iterator[Problem]:
    for misfit in misfits(body, api_version=target.api_version, capabilities=target.capabilities):
        yield Problem(field=misfit.field, message=misfit.message, level="error" if misfit.refused else "note")


def _tools(tools: Sequence[Json], target: Target) -> Iterator[Problem]:
    names = Counter(tool["name"] for tool in tools)
    rooms = json_schema.weighed(tool.get("input_schema") for tool in tools)
    for index, (tool, has_room) in enumerate(zip(tools, rooms, strict=True)):
        place = f"tools.{index}"
        if not _TOOL_NAME.fullmatch(tool["name"]):
            words = "A tool's name has 1 to 128 letters (a to z), digits, _ and -."
            yield Problem(field=f"{place}.name", message=words)
        elif names[tool["name"]] > 1:
            yield Problem(field=f"{place}.name", message=f"{names[tool['name']]} tools are named {tool['name']}.")
        if _is_custom(tool):
            yield from _input_schema(tool, place, target, has_room=has_room)


def _is_custom(tool: Mapping[str, Json]) -> bool:
    """Not one that Anthropic itself runs: those have a dated `type` and no schema."""
    return tool.get("type") in (None, "custom")


def _input_schema(tool: Mapping[str, Json], place: str, target: Target, *, has_room: bool) -> Iterator[Problem]:
    schema = tool.get("input_schema")
    if not isinstance(schema, dict):
        yield Problem(field=f"{place}.input_schema", message="A tool needs an input_schema, a JSON object.")
        return
    if schema.get("type") != "object":
        yield Problem(field=f"{place}.input_schema.type", message='The input_schema of a tool has the type "object".')
    if not has_room:
        yield _unchecked(f"{place}.input_schema")
        return
    yield from _faults(schema, f"{place}.input_schema")
    if tool.get("strict") is True:
        yield from _misfits(schema, f"{place}.input_schema", target)


def _output_schema(body: Mapping[str, Any], target: Target) -> Iterator[Problem]:
    config = body.get("output_config")
    if not config:
        return
    schema = config["format"]["schema"]
    faults = list(_faults(schema, "output_schema"))
    yield from faults or _misfits(schema, "output_schema", target)


def _faults(schema: Json, place: str) -> Iterator[Problem]:
    try:
        found = json_schema.faults(schema)
    except json_schema.TooLargeToCheck:
        yield _unchecked(place)
        return
    for fault in found:
        yield Problem(field=_dotted(place, fault.path), message=fault.message)


def _unchecked(place: str) -> Problem:
    return Problem(field=place, message="This schema is too large to be checked here.", level="note")


def _misfits(schema: Json, place: str, target: Target) -> Iterator[Problem]:
    try:
        found = json_schema.misfits(schema)
    except json_schema.TooLargeToCheck:
        return
    for fault in found:
        level: Literal["error", "note"] = "error" if target.is_anthropic else "note"
        yield Problem(field=_dotted(place, fault.path), message=fault.message, level=level)


def _dotted(place: str, path: json_schema.Path) -> str:
    return ".".join(map(str, (place, *path)))


def _tool_choice(body: Mapping[str, Any]) -> Iterator[Problem]:
    choice, tools = body.get("tool_choice"), body.get("tools") or []
    if choice is None:
        return
    kind = choice.get("type")
    if kind not in ("auto", "any", "tool", "none"):
        yield Problem(field="tool_choice", message="The type of a tool choice is auto, any, tool or none.")
    elif not tools and kind != "none":
        yield Problem(field="tool_choice", message="A tool choice makes sense together with tools only.")
    elif kind == "tool" and choice.get("name") not in {tool["name"] for tool in tools}:
        name = json.dumps(choice.get("name"), ensure_ascii=False)
        yield Problem(field="tool_choice", message=f"There is no tool named {name} among the tools.")


def _thinking(body: Mapping[str, Any]) -> Iterator[Problem]:
    thinking = body.get("thinking") or {}
    if thinking.get("type") == "enabled":
        yield from _budget(thinking.get("budget_tokens"), body["max_tokens"])
    if thinking.get("type") in ("enabled", "adaptive"):
        yield from _beside_thinking(body)


def _budget(budget: Json, max_tokens: int) -> Iterator[Problem]:
    if isinstance(budget, bool) or not isinstance(budget, int):
        yield Problem(field="thinking", message="Thinking that is enabled needs a budget in tokens.")
    elif budget < LEAST_BUDGET:
        yield Problem(field="thinking", message=f"The least budget for thinking is {LEAST_BUDGET:,} tokens.")
    elif budget >= max_tokens:
        words = f"The budget for thinking ({budget:,}) has to be less than max tokens ({max_tokens:,})."
        yield Problem(field="thinking", message=words)


def _beside_thinking(body: Mapping[str, Any]) -> Iterator[Problem]:
    """Source: what the Messages API lists as incompatible with extended thinking."""
    if (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
        yield Problem(field="tool_choice", message="With thinking, a call of a tool cannot be forced.")
    for name in ("temperature", "top_k"):
        if body.get(name) not in (None, 1):
            yield Problem(field=name, message=f"With thinking, {name} cannot be set.")
    if prefill(body["messages"]):
        yield Problem(field=_last(body["messages"]), message="With thinking, the answer cannot be prefilled.")


def _messages(messages: Sequence[Mapping[str, Json]]) -> Iterator[Problem]:
    for problem in tool_turns.problems(messages):
        words = f"{problem.message} {problem.next_step}".strip()
        yield Problem(field=problem.field, message=words)
    for index, message in enumerate(messages):
        is_prefill = index == len(messages) - 1 and message["role"] == "assistant"
        if message["content"] == "" and not is_prefill:
            yield Problem(field=f"messages.{index}.content", message="An empty message is refused.")
    text = prefill(messages)
    if text and text != text.rstrip():
        words = "This begins the answer, and ends in a blank, which the Messages API refuses."
        yield Problem(field=_last(messages), message=words)


def prefill(messages: Sequence[Mapping[str, Json]]) -> str:
    """The text that an answer has to begin with; "" if there is none."""
    if messages[-1]["role"] != "assistant":
        return ""
    content = messages[-1]["content"]
    return str(content if isinstance(content, str) else content[-1].get("text", ""))


def _last(messages: Sequence[object]) -> str:
    return f"messages.{len(messages) - 1}.content"
