"""What people call themselves: shown to others beside addresses, so nothing of it may be invisible or look like one."""

from __future__ import annotations

import unicodedata

from core.errors import InvalidInput

MAX_LENGTH = 150

JOINER = "\u200d"
#: Letters and marks by their category, but nothing can be seen of them.
_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
#: Controls, formats (zero-width and turning ones), line ends, private and unassigned characters, halves of pairs.
_UNSEEN = frozenset({"Cc", "Cf", "Zl", "Zp", "Co", "Cn", "Cs"})


def clean_name(given: str) -> str:
    """The name as it is kept: NFC, one space between words, without what cannot be seen. "" is no name.

    The joiner stays inside emoji, which would fall apart. Raises InvalidInput for more than MAX_LENGTH characters, or
    for an @: a name must not pass for somebody's address.
    """
    composed = unicodedata.normalize("NFC", given[: 4 * MAX_LENGTH])
    kept = "".join(_seen(composed))
    name = " ".join(kept.split())
    if len(name) > MAX_LENGTH or len(given) > 4 * MAX_LENGTH:
        raise InvalidInput(f"A name has at most {MAX_LENGTH} characters.", field="name")
    if "@" in name or "\uff20" in name:
        raise InvalidInput("A name has no @: others could take it for an address.", field="name")
    return name


def _seen(text: str) -> list[str]:
    kept: list[str] = []
    for place, character in enumerate(text):
        if character.isspace():
            kept.append(" ")
        elif character == JOINER:
            if _is_emoji(kept[-1:]) and _is_emoji(list(text[place + 1 : place + 2])):
                kept.append(character)
        elif character not in _BLANKS and unicodedata.category(character) not in _UNSEEN:
            kept.append(character)
    return kept


def _is_emoji(character: list[str]) -> bool:
    """Symbols, skin tones, and the selector that asks for the emoji form."""
    return bool(character) and (character[0] == "\ufe0f" or unicodedata.category(character[0]) in ("So", "Sk"))
