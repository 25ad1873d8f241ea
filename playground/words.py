"""Words, for the search: of texts that are indexed and of queries that look for them. Pure.

PostgreSQL's own parser is not asked. It needs seconds for a long chain of hyphens (its time grows with the square), it
reads some texts as addresses and numbers, and it takes a sentence of Chinese for one word. Here a word is a run of
letters and digits, and each character of the scripts that are written without blanks is a word by itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

MAX_WORD = 200
#: PostgreSQL keeps no higher position, and no more of one word.
MAX_POSITION = 16_383
MAX_PLACES = 255
MAX_OPERANDS = 64

_ALONE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
WORD = re.compile(rf"[{_ALONE}]|[^\W_{_ALONE}]+")
ALONE = re.compile(f"[{_ALONE}]")
_OPERAND = re.compile(r'(?P<without>-?)(?:"(?P<phrase>[^"]*)(?P<closed>"?)|(?P<word>[^\s"]+))')


def split(text: str) -> list[str]:
    """The words of a text in order, in NFC and lower case."""
    return [word[:MAX_WORD] for word in WORD.findall(unicodedata.normalize("NFC", text).lower())]


def document(message: str, text: str) -> str:
    """A tsvector as PostgreSQL reads it: words of the message with weight A, of the text with D, and their places."""
    places: dict[str, list[str]] = {}
    heavy, light = split(message), split(text)
    for position, word in enumerate([*heavy, *light][:MAX_POSITION], 1):
        where = places.setdefault(word, [])
        if len(where) < MAX_PLACES:
            where.append(f"{position}A" if position <= len(heavy) else str(position))
    far = set(light[max(0, MAX_POSITION - len(heavy)) :]).difference(places)
    near = [f"'{word}':{','.join(where)}" for word, where in places.items()]
    return " ".join([*near, *(f"'{word}':{MAX_POSITION}" for word in sorted(far))])


@dataclass(frozen=True, kw_only=True)
class Operand:
    """Words that follow each other. `unfinished`: the last one may go on. `without`: what must not be there."""

    words: tuple[str, ...]
    unfinished: bool = False
    without: bool = False

    def as_query(self) -> str:
        quoted = [f"'{word}'" for word in self.words]
        phrase = " <-> ".join(quoted) + (":*" if self.unfinished else "")
        return f"!({phrase})" if self.without else f"({phrase})"


def read_query(typed: str) -> tuple[str, list[Operand]]:
    """A tsquery as PostgreSQL reads it ("" if there is no word), and what an excerpt should show.

    `"a phrase"`, `-without`, `a or b`, as in a search engine; whatever else there is separates words.
    """
    found: list[Operand] = []
    query = ""
    link = " & "
    for match in list(_OPERAND.finditer(typed))[:MAX_OPERANDS]:
        if match["word"] in ("or", "OR") and query:
            link = " | "
            continue
        operand = _operand(match, ends=match.end() == len(typed))
        if operand is not None:
            query += (link if query else "") + operand.as_query()
            found.append(operand)
            link = " & "
    return query, [operand for operand in found if not operand.without]


def _operand(match: re.Match[str], *, ends: bool) -> Operand | None:
    words = split(match["word"] or match["phrase"] or "")
    if not words:
        return None
    last = match[0][-1:]
    unfinished = ends and not match["closed"] and last.isalnum() and not ALONE.match(last)
    return Operand(words=tuple(words), unfinished=unfinished, without=bool(match["without"]))


def pattern(operands: Sequence[Operand]) -> re.Pattern[str]:
    """Where the operands are in a text (in NFC). The longest first, or a short one would hide the long."""
    ordered = sorted(operands, key=lambda operand: -sum(map(len, operand.words)))
    return re.compile("|".join(map(_part, ordered)), re.IGNORECASE)


def _part(operand: Operand) -> str:
    first, last = operand.words[0], operand.words[-1]
    before = "" if ALONE.match(first) else r"(?<![^\W_])"
    after = r"[^\W_]*" if operand.unfinished else "" if ALONE.match(last) else r"(?![^\W_])"
    return before + r"[\W_]{0,10}?".join(map(re.escape, operand.words)) + after
