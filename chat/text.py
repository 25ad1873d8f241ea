"""What may be said: the rules of a message's text, without I/O."""

from __future__ import annotations

import re
import unicodedata

from core.errors import InvalidInput

MAX_CODE_POINTS = 4000
MAX_BYTES = 16 * 1024

_SURROGATE = re.compile("[\ud800-\udfff]")
#: C0 without newline and tab. The joiner and the variation selector of emoji are not among them and stay.
_CONTROLS = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]")


def clean_body(given: str) -> str:
    """The text as it is kept: NFC, line ends as LF, other controls gone.

    Raises InvalidInput (for good: the same text will never be accepted) for an empty text, a NUL, half of a surrogate
    pair, or more than MAX_CODE_POINTS or MAX_BYTES (UTF-8). Too long is refused whole: a cut could split an emoji.
    """
    if "\0" in given:
        raise InvalidInput("A message cannot hold the character NUL.", code="bad_text", field="body")
    if _SURROGATE.search(given):
        raise InvalidInput("A message cannot hold half of a surrogate pair.", code="bad_text", field="body")
    if len(given) > 2 * MAX_CODE_POINTS:  # before work that grows with the text
        raise _too_long()
    body = _CONTROLS.sub("", unicodedata.normalize("NFC", given.replace("\r\n", "\n").replace("\r", "\n")))
    if not has_something(body):
        raise InvalidInput("A message has at least one character that can be seen.", code="empty", field="body")
    if len(body) > MAX_CODE_POINTS or len(body.encode()) > MAX_BYTES:
        raise _too_long()
    return body


def has_something(body: str) -> bool:
    """Whether anything of it can be seen: not only blanks, joiners and other characters without a form."""
    return any(unicodedata.category(character) not in ("Cf", "Cc", "Zs", "Zl", "Zp", "Mn") for character in body)


def _too_long() -> InvalidInput:
    return InvalidInput(
        f"A message has at most {MAX_CODE_POINTS:,} characters and {MAX_BYTES // 1024} KiB.",
        code="too_long",
        field="body",
        next_step="Send it in parts.",
    )
