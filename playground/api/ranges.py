"""The Range header (RFC 9110), for one stretch of bytes. Pure."""

from __future__ import annotations

import re

_ONE_RANGE = re.compile(r"bytes=\s*(\d{0,18})-(\d{0,18})\s*")


class Unsatisfiable(Exception):
    """The range starts behind the end."""


def parse_range(header: str | None, length: int) -> tuple[int, int] | None:
    """First and last byte asked for, of `length`. None to send everything: no header, or one not for us to honour
    (another unit, several ranges, nonsense). Raises Unsatisfiable.
    """
    match = _ONE_RANGE.fullmatch(header or "")
    first, last = match.groups() if match else ("", "")
    if not first and not last:
        return None
    if not first:
        start, end = max(0, length - int(last)), length - 1
        if int(last) == 0:
            raise Unsatisfiable
    else:
        start, end = int(first), min(int(last), length - 1) if last else length - 1
        if last and int(last) < int(first):
            return None
    if start >= length:
        raise Unsatisfiable
    return start, end
