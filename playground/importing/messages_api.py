"""The body of a Messages API request."""

from __future__ import annotations

import json

from playground import template
from playground.importing.imported import Imported, Json, refuse

KIND = "messages"
_COPIED = ("model", "max_tokens", "temperature", "top_p", "top_k", "stop_sequences", "tool_choice", "thinking")
_READ = {*_COPIED, "system", "messages", "tools", "output_config", "output_format", "output_schema", "variables"}
_SENDING = {"stream", "api_version"}
#: The fields of each kind of block that a version keeps.
_BLOCKS = {
    "text": ("type", "text", "cache_control", "citations"),
    "tool_use": ("type", "id", "name", "input", "cache_control"),
    "tool_result": ("type", "tool_use_id", "content", "is_error", "cache_control"),
    "image": ("type", "source", "title", "cache_control"),
    "document": ("type", "source", "title", "context", "citations", "cache_control"),
    "thinking": ("type", "thinking", "signature"),
    "redacted_thinking": ("type", "data"),
}


def reads(value: Json) -> bool:
    return isinstance(value, dict) and isinstance(value.get("messages"), list)


def read(value: Json) -> Imported:
    found = Imported(kind=KIND)
    found.spec.update({name: value[name] for name in _COPIED if value.get(name) is not None})
    if value.get("system"):
        found.spec["system"] = _content(found, value["system"])
    found.spec["messages"] = [_message(found, message) for message in value["messages"]]
    if value.get("tools"):
        tools = value["tools"]
        found.spec["tools"] = tools if isinstance(tools, str) else json.dumps(tools, ensure_ascii=False, indent=2)
    _schema(found, value)
    if isinstance(value.get("variables"), list | dict):
        found.spec["variables"] = value["variables"]
    found.warn_left_out(name for name in value if name not in _READ | _SENDING and value[name] is not None)
    warn_of_braces(found)
    return found


def _message(found: Imported, message: Json) -> dict[str, Json]:
    if not isinstance(message, dict) or "role" not in message:
        raise refuse("A message is not an object with a role and a content.")
    return {"role": message["role"], "content": _content(found, message.get("content"))}


def _content(found: Imported, content: Json) -> Json:
    if not isinstance(content, list):
        return content
    blocks = []
    for block in content:
        fields = _BLOCKS.get(str(block.get("type"))) if isinstance(block, dict) else None
        if fields is None:
            found.warn("Blocks of a kind that a version does not keep (searches, say) were left out.")
            continue
        kept = {name: block[name] for name in fields if block.get(name) is not None}
        if len(kept) < sum(value is not None for value in block.values()):
            found.warn("Fields of a block that a version does not keep (what a newer API adds) were left out.")
        blocks.append(kept)
    return blocks


def _schema(found: Imported, value: Json) -> None:
    config = value.get("output_config")
    wanted = config.get("format") if isinstance(config, dict) else value.get("output_format")
    schema = wanted.get("schema") if isinstance(wanted, dict) else value.get("output_schema")
    if schema is not None:
        found.spec["output_schema"] = (
            schema if isinstance(schema, str) else json.dumps(schema, ensure_ascii=False, indent=2)
        )


def warn_of_braces(found: Imported) -> None:
    """A request has no variables; what looks like one in it becomes one here."""
    names = template.names(json.dumps(found.spec.get("messages", "")) + json.dumps(found.spec.get("system", "")))
    if names:
        found.warn(f"Read as variables: {', '.join(names[:20])}. Write {{{{{{{{ for braces that are meant literally.")
