"""How much structure a body may have, found out before anything is parsed.

A body of 32 MiB may hold some megabytes of text, which are parsed in milliseconds, or millions of tiny fields, which
take seconds: in one call, in which no other thread of the process runs and nobody else is served.
"""

from inference_backend.errors import InvalidRequestError

#: Quotes, commas, brackets and braces, wherever they stand. A prompt of a million tokens of JSON has half as many.
MAX_MARKS = 1_000_000
_MARKS = (b'"', b",", b"[", b"{")
_SLICE_BYTES = 1024 * 1024


def check_structure(body: bytes) -> None:
    """Raises InvalidRequestError beyond MAX_MARKS. Takes about 5 ms a megabyte at most, in short steps."""
    if len(body) <= MAX_MARKS:
        return
    marks = 0
    for start in range(0, len(body), _SLICE_BYTES):
        part = body[start : start + _SLICE_BYTES]
        marks += sum(part.count(mark) for mark in _MARKS)
        if marks > MAX_MARKS:
            raise InvalidRequestError(
                f"The request body has more than {MAX_MARKS:,} quotes, commas and brackets: more than a model can read."
            )
