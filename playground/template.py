"""Variables in prompt texts: `{{name}}`, one grammar for the server, the snippets and the browser.

- A name is made of Unicode letters, marks and digits, `_` and `-`, at most 100 characters, compared after NFC.
- Blanks (space, tab, CR, LF) around the name inside the braces do not matter.
- `{{{{` is a literal `{{`. Anything else that does not parse is literal text.
- One pass from left to right: a value is literal, and what it contains is never read again.

`static/js/template.js` is the same grammar for the browser; tests/data/template_cases.json is the table both must pass.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

MAX_NAME_LENGTH = 100
BLANKS = " \t\r\n"
_TOKEN = re.compile(r"\{\{\{\{|\{\{([^{}]*)\}\}")


@dataclass(frozen=True, kw_only=True)
class Placeholder:
    """A variable's place: `start` and `end` are code point positions in the text, braces included."""

    name: str
    start: int
    end: int


def normal_name(raw: str) -> str | None:
    """The NFC name between the braces, or None if it is not a name."""
    name = unicodedata.normalize("NFC", raw.strip(BLANKS))
    if not 0 < len(name) <= MAX_NAME_LENGTH:
        return None
    valid = all(character in "_-" or unicodedata.category(character)[0] in "LMN" for character in name)
    return name if valid else None


def placeholders(text: str) -> list[Placeholder]:
    """Every variable of `text` in order, repeats included."""
    found = []
    for match in _TOKEN.finditer(text):
        name = None if match[1] is None else normal_name(match[1])
        if name is not None:
            found.append(Placeholder(name=name, start=match.start(), end=match.end()))
    return found


def names(text: str) -> list[str]:
    """The variable names of `text`, each once, in order of first appearance."""
    # Each way of writing is looked at once: a text may use one name ten thousand times. `{{{{` is found as "", no name.
    written = dict.fromkeys(_TOKEN.findall(text))
    return list(dict.fromkeys(name for name in map(normal_name, written) if name is not None))


def substitute(text: str, values: Mapping[str, str]) -> str:
    """`text` with each variable that has a value replaced by it, and `{{{{` by `{{`.

    `values` is keyed by NFC names. A variable without a value stays as it was written; callers that must not send
    one ask `names` first.
    """

    by_writing: dict[str, str | None] = {}

    def replacement(match: re.Match[str]) -> str:
        written = match[1]
        if written is None:
            return "{{"
        if written not in by_writing:
            name = normal_name(written)
            by_writing[written] = None if name is None else values.get(name)
        value = by_writing[written]
        return match[0] if value is None else value

    return _TOKEN.sub(replacement, text)
