"""OpenAI's shapes: a prompt object as its dashboard shows it (Responses API), and the body of a chat completion."""

from __future__ import annotations

import json

from playground.importing import chat
from playground.importing.imported import Imported, Json, max_tokens, refuse, sampling, stop_sequences

PROMPT, COMPLETION = "openai-prompt", "openai-chat"
_KNOWN = {"model", "instructions", "input", "messages", "tools", "tool_choice", "temperature", "top_p", "text", "stop"}
_KNOWN |= {"response_format", "max_output_tokens", "max_completion_tokens", "max_tokens", "name", "variables"}
#: How it is sent, and what its API adds about the object.
_SENDING = {"stream", "stream_options", "store", "id", "object", "created_at", "version", "status", "user", "metadata"}
_OF_COMPLETIONS = {
    "response_format",
    "max_completion_tokens",
    "frequency_penalty",
    "presence_penalty",
    "logit_bias",
    "n",
}


def reads(value: Json) -> bool:
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("messages"), list):
        roles = {str(message.get("role")) for message in value["messages"] if isinstance(message, dict)}
        return bool(roles & {"system", "developer", "tool", "function"} or _OF_COMPLETIONS & set(value)) or any(
            isinstance(tool, dict) and tool.get("type") == "function" for tool in _listed(value.get("tools"))
        )
    return "input" in value or "instructions" in value or str(value.get("id", "")).startswith("pmpt_")


def read(value: Json) -> Imported:
    whole = value.get("prompt") if isinstance(value.get("prompt"), dict) else value
    if not {"messages", "input", "instructions"} & set(whole):
        raise refuse(
            "This only refers to a prompt that is kept at OpenAI: export the prompt itself, with its messages."
        )
    found = Imported(kind=COMPLETION if "messages" in whole else PROMPT, name=str(whole.get("name") or ""))
    if isinstance(whole.get("model"), str):
        found.spec["model"] = whole["model"]
    chat.read_messages(found, _messages(found, whole))
    sampling(found, whole)
    max_tokens(found, *(whole.get(f"max_{name}") for name in ("output_tokens", "completion_tokens", "tokens")))
    stop_sequences(found, whole.get("stop"))
    read_tools(found, whole.get("tools"))
    _tool_choice(found, whole.get("tool_choice"))
    text = whole.get("text")
    read_format(found, text.get("format") if isinstance(text, dict) else whole.get("response_format"))
    _variables(found, whole.get("variables"))
    found.warn_left_out(name for name in whole if name not in _KNOWN | _SENDING and whole[name] is not None)
    return found


def _messages(found: Imported, value: dict[str, Json]) -> list[Json]:
    given = value.get("messages", value.get("input"))
    messages = [{"role": "user", "content": given}] if isinstance(given, str) else _listed(given)
    kept = [each for each in messages if not (isinstance(each, dict) and each.get("type") == "reasoning")]
    if len(kept) != len(messages):
        found.warn("Reasoning items were left out.")
    instructions = value.get("instructions")
    if instructions:
        kept.insert(0, {"role": "system", "content": instructions})
    return kept


def read_tools(found: Imported, tools: Json) -> None:
    """Tools of OpenAI's shapes, or already of the Messages API's."""
    kept = []
    for tool in _listed(tools):
        function = tool.get("function", tool) if isinstance(tool, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            found.warn("Tools that the vendor runs itself, or without a name, were left out.")
            continue
        schema = function.get("parameters") or function.get("input_schema") or {"type": "object", "properties": {}}
        described = {"description": function["description"]} if function.get("description") else {}
        kept.append({"name": function["name"], **described, "input_schema": schema})
    if kept:
        found.spec["tools"] = json.dumps(kept, ensure_ascii=False, indent=2)


def _tool_choice(found: Imported, choice: Json) -> None:
    if choice is None or not found.spec.get("tools"):
        return
    simple = {"auto": {"type": "auto"}, "none": {"type": "none"}, "required": {"type": "any"}}
    if isinstance(choice, str) and choice in simple:
        found.spec["tool_choice"] = simple[choice]
        return
    named = choice.get("function", choice) if isinstance(choice, dict) else {}
    if isinstance(named, dict) and isinstance(named.get("name"), str):
        found.spec["tool_choice"] = {"type": "tool", "name": named["name"]}
    else:
        found.warn("The choice of a tool was left out.")


def read_format(found: Imported, wanted: Json) -> None:
    """A JSON schema for the answer, however deep it is wrapped."""
    if not isinstance(wanted, dict) or wanted.get("type") == "text":
        return
    inner = wanted.get("json_schema", wanted)
    schema = inner.get("schema") if isinstance(inner, dict) else None
    if schema is None and isinstance(inner, dict) and ("properties" in inner or inner.get("type") == "object"):
        schema = inner
    if isinstance(schema, dict):
        found.spec["output_schema"] = json.dumps(schema, ensure_ascii=False, indent=2)
    else:
        found.warn("The format of the answer has no schema and was left out.")


def _variables(found: Imported, variables: Json) -> None:
    if not isinstance(variables, dict):
        return
    cards = []
    for name, value in variables.items():
        if isinstance(value, str):
            cards.append({"name": name, "default": value})
        else:
            found.warn("Variables whose value is no text have no default here.")
            cards.append({"name": name})
    found.spec["variables"] = cards


def _listed(value: Json) -> list[Json]:
    return list(value) if isinstance(value, list) else []
