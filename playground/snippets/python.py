"""Python with the official SDK."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

#: Arguments that `messages.create` of the `anthropic` SDK takes by name; the rest goes into `extra_body`.
_SDK_ARGUMENTS = frozenset(
    ["model", "max_tokens", "messages", "system", "stop_sequences", "tools", "tool_choice", "thinking", "output_config"]
)
_INDENT = "    "


def render(body: Mapping[str, Any], *, base_url: str, api_version: str) -> str:
    """A script for the official `anthropic` SDK (2.x), which reads ANTHROPIC_API_KEY itself.

    Sampling parameters are no longer arguments of that SDK: they travel in `extra_body`, under the API version header
    that takes them.
    """
    named = {name: value for name, value in body.items() if name in _SDK_ARGUMENTS}
    streams = bool(body.get("stream"))
    extra = {name: value for name, value in body.items() if name not in _SDK_ARGUMENTS and name != "stream"}
    if extra:
        named["extra_body"] = extra
    lines = [
        "import anthropic",
        "",
        "client = anthropic.Anthropic(",
        f"{_INDENT}base_url={_quoted(base_url)},",
        f'{_INDENT}default_headers={{"anthropic-version": {_quoted(api_version)}}},',
        ")",
        "",
    ]
    lines += _streaming(named) if streams else _waiting(named)
    return "\n".join([*lines, ""])


def _streaming(named: Mapping[str, Any]) -> list[str]:
    return [
        "with client.messages.stream(",
        *(f"{_INDENT}{name}={literal(value, 1)}," for name, value in named.items()),
        ") as stream:",
        f"{_INDENT}for text in stream.text_stream:",
        f'{_INDENT * 2}print(text, end="", flush=True)',
        f"{_INDENT}message = stream.get_final_message()",
        "print()",
    ]


def _waiting(named: Mapping[str, Any]) -> list[str]:
    return [
        "message = client.messages.create(",
        *(f"{_INDENT}{name}={literal(value, 1)}," for name, value in named.items()),
        ")",
        'print("".join(block.text for block in message.content if block.type == "text"))',
    ]


def literal(value: Any, depth: int) -> str:
    """`value` as a Python literal, indented by `depth` levels after its first line."""
    inner, outer = _INDENT * (depth + 1), _INDENT * depth
    if isinstance(value, dict):
        if not value:
            return "{}"
        items = "".join(f"{inner}{_quoted(key)}: {literal(item, depth + 1)},\n" for key, item in value.items())
        return f"{{\n{items}{outer}}}"
    if isinstance(value, list | tuple):
        if not value:
            return "[]"
        items = "".join(f"{inner}{literal(item, depth + 1)},\n" for item in value)
        return f"[\n{items}{outer}]"
    return _string(value, depth) if isinstance(value, str) else repr(value)


def _string(value: str, depth: int) -> str:
    """One literal a line of text, joined by the compiler: readable, and exact for every character."""
    lines = [line + "\n" for line in value.split("\n")[:-1]]
    lines += [value.rsplit("\n", 1)[-1]] if not value.endswith("\n") else []
    if len(lines) < 2:
        return _quoted(value)
    inner = _INDENT * (depth + 1)
    return "(\n" + "".join(f"{inner}{_quoted(line)}\n" for line in lines) + f"{_INDENT * depth})"


def _quoted(value: str) -> str:
    """In double quotes, with what cannot be seen escaped: JSON's escapes mean the same in Python."""
    written = json.dumps(value, ensure_ascii=False)
    return "".join(character if character.isprintable() else _escape(character) for character in written)


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
