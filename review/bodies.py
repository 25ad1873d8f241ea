"""What may be said in a comment: rules without I/O. It is kept as written, and only ever shown as text."""

from __future__ import annotations

import re
import unicodedata

from chat.text import has_something
from core.errors import InvalidInput

MAX_CODE_POINTS = 10_000

_SURROGATE = re.compile("[\ud800-\udfff]")
#: C0 without newline and tab. The joiner and the variation selector of emoji are not among them and stay.
_CONTROLS = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]")


def clean_body(given: str) -> str:
    """The comment as it is kept: NFC, line ends as LF, other controls gone.

    Raises InvalidInput for an empty one, a NUL, half of a surrogate pair, or more than MAX_CODE_POINTS.
    """
    if "\0" in given or _SURROGATE.search(given):
        raise InvalidInput("A comment cannot hold NUL or half of a surrogate pair.", code="bad_text", field="body")
    if len(given) > 2 * MAX_CODE_POINTS:  # before work that grows with the text
        raise _too_long()
    body = _CONTROLS.sub("", unicodedata.normalize("NFC", given.replace("\r\n", "\n").replace("\r", "\n")))
    if not has_something(body):
        raise InvalidInput("Write something first.", code="empty", field="body")
    if len(body) > MAX_CODE_POINTS:
        raise _too_long()
    return body.strip("\n")


def _too_long() -> InvalidInput:
    return InvalidInput(
        f"A comment has at most {MAX_CODE_POINTS:,} characters.",
        code="too_long",
        field="body",
        next_step="Say it in parts.",
    )
