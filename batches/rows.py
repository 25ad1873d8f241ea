"""A test case, and how many of them are kept: packed some hundred together. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from backports import zstd

MOST_ROWS = 100_000
MOST_COLUMNS = 100
#: Of a file, and of rows as JSON: what a worker reads and a database keeps without anybody noticing.
MOST_BYTES = 128 * 1024 * 1024
MOST_ROW_BYTES = 1024 * 1024
#: What can still be written into by hand: it is kept anew as a whole after each change.
EDITABLE_ROWS = 2000
EDITABLE_BYTES = 4 * 1024 * 1024
#: Rows a chunk: one page of a list is one or two of them, and 100,000 rows are 200. docs/decisions/0027-batches.md.
CHUNK_ROWS = 500
CHUNK_BYTES = 1024 * 1024
_LEVEL = 3


@dataclass(frozen=True, kw_only=True)
class Row:
    """`values` by variable name: text, or another JSON value. A name that is absent is unset. `expected` may be None.

    Texts may hold anything JSON can say, NUL included: rows never are texts of the database.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    expected: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {"values": dict(self.values), "expected": self.expected}


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """Packed rows from number `first` on; `length` is that of their JSON."""

    first: int
    count: int
    length: int
    data: bytes


@dataclass(kw_only=True)
class Totals:
    """What chunks hold together. `missing`: by variable, how many rows do not set it."""

    columns: list[str] = field(default_factory=list)
    count: int = 0
    length: int = 0
    expected: int = 0
    set_count: dict[str, int] = field(default_factory=dict)

    def add(self, row: Row) -> None:
        self.count += 1
        self.expected += row.expected is not None
        for name in row.values:
            if name not in self.set_count:
                self.set_count[name] = 0
                if name not in self.columns:
                    self.columns.append(name)
            self.set_count[name] += 1

    @property
    def missing(self) -> dict[str, int]:
        return {name: self.count - self.set_count.get(name, 0) for name in self.columns}


def encode(row: Row) -> str:
    """A row as it is packed and counted: JSON in ASCII."""
    return json.dumps([dict(row.values), row.expected], separators=(",", ":"))


def pack(rows: Iterable[Row], totals: Totals) -> Iterator[Chunk]:
    """Rows in chunks of up to CHUNK_ROWS rows or about CHUNK_BYTES; adds what they hold to `totals`."""
    lines: list[str] = []
    length, first = 0, totals.count
    for row in rows:
        line = encode(row)
        totals.add(row)
        totals.length += len(line)
        lines.append(line)
        length += len(line)
        if len(lines) >= CHUNK_ROWS or length >= CHUNK_BYTES:
            yield _chunk(first, lines)
            lines, length, first = [], 0, totals.count
    if lines:
        yield _chunk(first, lines)


def _chunk(first: int, lines: Sequence[str]) -> Chunk:
    text = f"[{','.join(lines)}]".encode("ascii")
    return Chunk(first=first, count=len(lines), length=len(text), data=zstd.compress(text, level=_LEVEL))


def unpack(data: bytes) -> list[Row]:
    return [Row(values=values, expected=expected) for values, expected in json.loads(zstd.decompress(data))]


def search_text(row: Row) -> str:
    """What a search in rows looks through, in lower case."""
    values = (
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in row.values.values()
    )
    return "\n".join([*values, row.expected or ""]).casefold()
