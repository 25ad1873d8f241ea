"""The Messages API request that a version stands for. Used by runs and by snippets, so the two cannot differ."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from core.errors import InvalidInput, Unprocessable
from playground import spec as specs
from playground import template, tool_turns

#: Order of the fields on the wire, for people who read it.
_COPIED = ("model", "max_tokens", *specs.SAMPLING, "stop_sequences", "system", "messages")
#: How many problems a refusal lists.
_TOLD_PROBLEMS = 20


def variable_values(raw: object) -> dict[str, str]:
    """Variable values as sent by a person: text, or any JSON value, which stands for its JSON text.

    Raises InvalidInput naming the variable. Names are compared in NFC.
    """
    if not isinstance(raw, dict):
        raise InvalidInput("Variables are a JSON object from name to value.", field="variables")
    values = {}
    for written, value in raw.items():
        name = template.normal_name(written)
        if name is None:
            raise InvalidInput("Not a variable name: letters, digits, _ and - only.", field=f"variables.{written}")
        values[name] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return values


def used_names(spec: Mapping[str, Any]) -> list[str]:
    """The variables that the texts of a spec (read back) use, in order of first appearance."""
    found: dict[str, None] = {}
    for text in specs.prompt_texts(dict(spec)):
        found.update(dict.fromkeys(template.names(text)))
    return list(found)


def complete_values(spec: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, str]:
    """The given values over the declared defaults, for the names in use. An empty text is a value."""
    declared = {card["name"]: card for card in spec.get("variables", [])}
    values = {}
    for name in used_names(spec):
        if name in given:
            values[name] = given[name]
        elif "default" in declared.get(name, {}):
            values[name] = declared[name]["default"]
    return values


def refuse_incomplete(spec: Mapping[str, Any], values: Mapping[str, str]) -> None:
    """Raise Unprocessable if a variable in use has no value, or a JSON one holds something else."""
    unset = [name for name in used_names(spec) if name not in values]
    if unset:
        raise Unprocessable(
            f"No value for {', '.join('{{' + name + '}}' for name in unset)}.",
            code="variables_unset",
            field=f"variables.{unset[0]}",
            data={"names": unset},
            next_step="Fill them in; an empty text counts as a value.",
        )
    for card in spec.get("variables", []):
        if card["type"] == "json" and card["name"] in values:
            _refuse_other_than_json(card["name"], values[card["name"]])


def _refuse_other_than_json(name: str, value: str) -> None:
    try:
        json.loads(value)
    except (ValueError, RecursionError) as error:
        raise Unprocessable(
            f"{{{{{name}}}}} is a JSON variable, and its value is not JSON: {error}.",
            code="variable_not_json",
            field=f"variables.{name}",
        ) from error


def build(
    spec: Mapping[str, Any],
    values: Mapping[str, str],
    *,
    model: str | None = None,
    turns: Sequence[Mapping[str, Any]] = (),
    stream: bool = True,
) -> dict[str, Any]:
    """The request body for a spec whose texts are read back.

    `values` replace variables in one pass; names without a value stay as written. `turns` continue the conversation
    after the version's own messages and take no variables.
    """

    def fill(text: Any, kind: specs.TextKind) -> Any:
        return template.substitute(text, values) if kind == "prompt" else json.loads(text)

    filled = specs.map_texts(dict(spec), fill)
    body = {name: filled[name] for name in _COPIED if name in filled}
    if model:
        body["model"] = model
    body["messages"] = [*body["messages"], *turns]
    for name in ("tools", "tool_choice", "thinking"):
        if name in filled:
            body[name] = filled[name]
    if "output_schema" in filled:
        body["output_config"] = {"format": {"type": "json_schema", "schema": filled["output_schema"]}}
    if stream:
        body["stream"] = True
    return body


def api_version(spec: Mapping[str, Any]) -> str:
    """The Messages API version a spec is sent under: its own, else the one that takes sampling parameters."""
    return str(spec.get("api_version") or specs.DEFAULT_API_VERSION)


def refuse_unsendable(body: Mapping[str, Any]) -> None:
    """Raise Unprocessable for what the Messages API always refuses, before a run is made of it."""
    for index, sequence in enumerate(body.get("stop_sequences", [])):
        if not sequence.strip():
            raise Unprocessable(
                "A stop sequence of blanks only is refused by the Messages API.",
                code="stop_sequence_blank",
                field=f"stop_sequences.{index}",
            )
    _refuse_blank_prefill(body["messages"])
    _refuse_unpaired_calls(body["messages"])


def _refuse_blank_prefill(messages: Sequence[Mapping[str, Any]]) -> None:
    if messages[-1]["role"] != "assistant":
        return
    content = messages[-1]["content"]
    text = content if isinstance(content, str) else content[-1].get("text", "")
    if text and text != text.rstrip():
        raise Unprocessable(
            "The last assistant message (the prefill) ends in a blank, which the Messages API refuses.",
            code="prefill_ends_in_blank",
            field=f"messages.{len(messages) - 1}.content",
            next_step="Remove the trailing blank in a new version; a saved one is never trimmed silently.",
        )


def _refuse_unpaired_calls(messages: Sequence[Mapping[str, Any]]) -> None:
    found = tool_turns.problems(messages)
    if found:
        first = found[0]
        raise Unprocessable(
            first.message,
            code=first.code,
            field=first.field,
            data={"problems": [{"field": each.field, "message": each.message} for each in found[:_TOLD_PROBLEMS]]},
            next_step=first.next_step,
        )
