"""Lists of role and content, as most products write them, into `system` and `messages`."""

from __future__ import annotations

import json

from playground.importing.imported import Imported, Json, refuse

_SYSTEM = ("system", "developer")
_TEXT_TYPES = ("text", "input_text", "output_text")


def read_messages(found: Imported, messages: Json) -> None:
    """Fill `system` and `messages` of the spec. Raises InvalidInput for what is no list of messages."""
    if not isinstance(messages, list):
        raise refuse("The messages are not a list.")
    systems: list[str] = []
    turns: list[dict[str, Json]] = []
    for message in messages:
        if not isinstance(message, dict):
            raise refuse("A message is not an object with a role and a content.")
        role = message.get("role")
        text = content_text(found, message.get("content"))
        if role in _SYSTEM:
            systems.append(text)
        else:
            turns += _turn(found, role, text, message)
    if systems:
        found.spec["system"] = _joined(found, systems)
    found.spec["messages"] = turns


def _joined(found: Imported, systems: list[str]) -> str | list[dict[str, str]]:
    """Several system texts stay apart as blocks: joining them would need a character that nobody wrote."""
    if len(systems) == 1:
        return systems[0]
    found.warn("Its system messages are one system text of several blocks here.")
    return [{"type": "text", "text": text} for text in systems]


def _turn(found: Imported, role: Json, text: str, message: dict[str, Json]) -> list[dict[str, Json]]:
    if message.get("type") == "placeholder" or role == "placeholder":
        name = str(message.get("name", "history"))
        found.warn("A placeholder for messages is the variable of its name in a user message here.")
        return [{"role": "user", "content": f"{{{{{name}}}}}"}]
    if role in ("tool", "function"):
        return _tool_result(found, text, message)
    if role not in ("user", "assistant"):
        found.warn(f"A message of the role {str(role)[:40]} became one of the user.")
        role = "user"
    calls = _tool_calls(found, message.get("tool_calls"))
    if not calls:
        return [{"role": role, "content": text}]
    return [{"role": role, "content": [*([{"type": "text", "text": text}] if text else []), *calls]}]


def _tool_calls(found: Imported, calls: Json) -> list[dict[str, Json]]:
    blocks = []
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(call.get("id"), str):
            found.warn("A tool call without id or function was left out.")
            continue
        blocks.append(
            {
                "type": "tool_use",
                "id": call["id"],
                "name": str(function.get("name", "")),
                "input": _arguments(found, function.get("arguments")),
            }
        )
    return blocks


def _arguments(found: Imported, written: Json) -> dict[str, Json]:
    try:
        value = json.loads(written) if isinstance(written, str) else written
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        found.warn("The arguments of a tool call are no JSON object and were left out.")
        return {}
    return value


def _tool_result(found: Imported, text: str, message: dict[str, Json]) -> list[dict[str, Json]]:
    call_id = message.get("tool_call_id") or message.get("name")
    if not isinstance(call_id, str):
        found.warn("A tool's answer that belongs to no call was left out.")
        return []
    return [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id, "content": text}]}]


def content_text(found: Imported, content: Json) -> str:
    """The text of a content: of its parts, in order, without anything between them."""
    if isinstance(content, str):
        return content
    texts = []
    for part in content if isinstance(content, list) else [content] if content is not None else []:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and part.get("type") in _TEXT_TYPES and isinstance(part.get("text"), str):
            texts.append(part["text"])
        else:
            found.warn("Parts of a message that are no text (images, files, audio) were left out.")
    return "".join(texts)
