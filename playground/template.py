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
    return list(dict.fromkeys(place.name for place in placeholders(text)))


def substitute(text: str, values: Mapping[str, str]) -> str:
    """`text` with each variable that has a value replaced by it, and `{{{{` by `{{`.

    `values` is keyed by NFC names. A variable without a value stays as it was written; callers that must not send
    one ask `names` first.
    """

    def replacement(match: re.Match[str]) -> str:
        if match[1] is None:
            return "{{"
        name = normal_name(match[1])
        return match[0] if name is None else values.get(name, match[0])

    return _TOKEN.sub(replacement, text)
