"""Which format a text is of, and what it says."""

from __future__ import annotations

import yaml

from core.errors import InvalidInput
from core.parsers import parse_json, refuse_surrogates
from playground.importing import curl, langfuse, messages_api, openai, promptfoo
from playground.importing.imported import Imported, Json, complete, refuse

MAX_TEXT_BYTES = 8 * 1024 * 1024
#: In this order: the first that recognises a value reads it.
_READERS = (promptfoo, langfuse, openai, messages_api)


def read(text: str, *, default_model: str) -> Imported:
    """A prompt written in any of the formats. Raises InvalidInput, which never repeats the text."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_TEXT_BYTES:
        raise refuse(f"A text to import has at most {MAX_TEXT_BYTES:,} bytes.")
    if curl.is_command(text):
        found = read_value(curl.read_body(text), default_model=default_model)
        found.kind = f"curl, {found.kind}"
        found.warn("The address and the headers of the command, with any key in them, were not kept.")
        return found
    return read_value(_parsed(text), default_model=default_model)


def read_value(value: Json, *, default_model: str) -> Imported:
    """The same for JSON that is parsed already."""
    for reader in _READERS:
        if reader.reads(value):
            return complete(reader.read(value), default_model=default_model)
    raise InvalidInput(
        "This is none of the known formats: Langfuse or OpenAI prompt JSON, promptfoo YAML, a Messages API body, cURL.",
        code="unknown_format",
        field="text",
    )


def _parsed(text: str) -> Json:
    try:
        return parse_json(text.lstrip("\ufeff").encode("utf-8", "surrogatepass"))
    except InvalidInput:
        if text.lstrip("\ufeff \t\r\n")[:1] in ("{", "["):
            raise
    return _yaml(text)


def _yaml(text: str) -> Json:
    """YAML without aliases: ten lines of them can stand for gigabytes."""
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader)):
            raise refuse("Aliases of YAML (*name) are not read: write the value in their place.")
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise refuse("This is neither JSON nor YAML nor a cURL command.") from error
    refuse_surrogates(value)
    return value
