"""TypeScript with the official SDK; also a JavaScript module as it stands."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

#: Arguments that the types of `@anthropic-ai/sdk` 1.x know; the others are spread in, which they let pass.
_TYPED = frozenset(
    ["model", "max_tokens", "messages", "system", "stop_sequences", "tools", "tool_choice", "thinking", "output_config"]
)
_INDENT = "  "


def render(body: Mapping[str, Any], *, base_url: str, api_version: str) -> str:
    """A module. The SDK reads ANTHROPIC_API_KEY itself and sends the object as it is given."""
    typed = {name: value for name, value in body.items() if name in _TYPED}
    others = {name: value for name, value in body.items() if name not in _TYPED and name != "stream"}
    lines = [
        'import Anthropic from "@anthropic-ai/sdk";',
        "",
        "const client = new Anthropic({",
        f"{_INDENT}baseURL: {_quoted(base_url)},",
        f'{_INDENT}defaultHeaders: {{ "anthropic-version": {_quoted(api_version)} }},',
        "});",
        "",
        "const stream = client.messages.stream({"
        if body.get("stream")
        else "const message = await client.messages.create({",
        *(f"{_INDENT}{name}: {_literal(value, 1)}," for name, value in typed.items()),
    ]
    if others:
        lines.append(f"{_INDENT}...{_literal(others, 1)},")
    lines.append("});")
    lines += _STREAMING if body.get("stream") else _WAITING
    return "\n".join([*lines, ""])


_STREAMING = [
    'stream.on("text", (text) => process.stdout.write(text));',
    "await stream.finalMessage();",
    "console.log();",
]
_WAITING = ['console.log(message.content.map((block) => (block.type === "text" ? block.text : "")).join(""));']


def _literal(value: Any, depth: int) -> str:
    """`value` as a literal, indented by `depth` levels after its first line."""
    inner, outer = _INDENT * (depth + 1), _INDENT * depth
    if isinstance(value, dict) and value:
        items = "".join(f"{inner}{_key(key)}: {_literal(item, depth + 1)},\n" for key, item in value.items())
        return f"{{\n{items}{outer}}}"
    if isinstance(value, list | tuple) and value:
        items = "".join(f"{inner}{_literal(item, depth + 1)},\n" for item in value)
        return f"[\n{items}{outer}]"
    if isinstance(value, str):
        return _string(value, depth)
    return json.dumps(value)


def _key(name: str) -> str:
    """A bare `"__proto__": x` would set the prototype instead of a field."""
    return f"[{_quoted(name)}]" if name == "__proto__" else _quoted(name)


def _string(value: str, depth: int) -> str:
    """One literal a line of text, so that people can read it."""
    lines = value.split("\n")
    pieces = [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    if len(pieces) < 2:
        return _quoted(value)
    inner = _INDENT * (depth + 1)
    return "[\n" + "".join(f"{inner}{_quoted(piece)},\n" for piece in pieces) + f'{_INDENT * depth}].join("")'


def _quoted(value: str) -> str:
    """In double quotes, with what cannot be seen escaped: JSON's escapes mean the same in TypeScript."""
    written = json.dumps(value, ensure_ascii=False)
    return "".join(character if character.isprintable() else _escape(character) for character in written)


def _escape(character: str) -> str:
    """By UTF-16 units, as JSON has it."""
    return json.dumps(character)[1:-1]
