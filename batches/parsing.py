"""Files of test cases, row by row: CSV and JSON lines. Pure; the caller reads the bytes and counts.

A row that cannot be read is a `Problem` with its number, and reading goes on; what makes the whole file unreadable
raises FileRefused. Rows are numbered from 1 without the header and without blank lines, lines from 1.
"""

from __future__ import annotations

import csv
import json
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

from batches.rows import MOST_COLUMNS, MOST_ROW_BYTES, Row, encode
from core.errors import InvalidInput
from core.parsers import refuse_surrogates
from playground.template import normal_name

EXPECTED = "expected"
DELIMITERS = ",;\t|"
_DELIMITER_WORDS = {";": "semicolons", "\t": "tabs", "|": "bars"}
_PIECE = 256 * 1024
_SHOWN = 60
_BOMS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}

# Of this process: a field may be as long as a row may.
csv.field_size_limit(MOST_ROW_BYTES)


class FileRefused(Exception):
    """Why nothing of the file can be read: a code for programs, a sentence for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A row that cannot be read, and the line of the file where it begins."""

    row: int
    line: int
    code: str
    message: str


@dataclass(frozen=True, kw_only=True)
class Layout:
    """What the columns of a file are: `columns` from its names to variables, or None for those to leave out; names that
    are absent stand for themselves. `expected`: the column of expected texts, None for one called so.
    """

    columns: Mapping[str, str | None] = field(default_factory=dict)
    expected: str | None = None


class Lines:
    """The lines of a file as text, each with its end, which quotes may span. `number` is that of the last one read.

    Raises FileRefused where the bytes are no UTF-8 at all; a line with a wrong byte is told by its number and skipped.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.number = 0
        self.bytes_read = 0
        self.wrong: list[int] = []
        self._file = file

    def __iter__(self) -> Iterator[str]:
        for raw in self._raw_lines():
            self.number += 1
            self.bytes_read += len(raw)
            try:
                yield raw.decode("utf-8")
            except UnicodeDecodeError:
                self.wrong.append(self.number)
                yield raw.decode("utf-8", "replace")

    def _raw_lines(self) -> Iterator[bytes]:
        """CR, LF and CRLF end a line, as spreadsheets of all times write them."""
        rest = self._beginning()
        while True:
            piece = self._file.read(_PIECE)
            pieces = (rest + piece).splitlines(keepends=True)
            # The last one may go on, and a CR at the end may be half of a CRLF.
            rest = pieces.pop() if pieces and piece else b""
            yield from pieces
            if len(rest) > MOST_ROW_BYTES * 2:
                raise FileRefused("line_too_long", f"Line {self.number + 1:,} is longer than a row may be.")
            if not piece:
                return

    def _beginning(self) -> bytes:
        first = self._file.read(_PIECE)
        for mark, name in _BOMS.items():
            if first.startswith(mark):
                raise FileRefused("not_utf8", f"This file is {name}. Save it as UTF-8.")
        bom = b"\xef\xbb\xbf"
        if first.startswith(bom):
            self.bytes_read += len(bom)
        return first.removeprefix(bom)


class CsvRows:
    """The rows of a CSV file. `warnings` and `columns` are complete once the first row is read."""

    def __init__(self, file: IO[bytes], layout: Layout) -> None:
        self.lines = Lines(file)
        self.warnings: list[dict[str, str]] = []
        self.columns: list[str] = []
        self._layout = layout

    def __iter__(self) -> Iterator[Row | Problem]:
        """Raises FileRefused."""
        lines = iter(self.lines)
        reader = csv.reader(self._with_header(lines), delimiter=self._delimiter, strict=True)
        header = self._read_header(reader)
        targets = _targets(header, self._layout)
        self.columns = [target for target in targets if target is not None and target is not _EXPECTED]
        number = 0
        while True:
            line = self.lines.number + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                number += 1
                self.lines.wrong.clear()
                yield Problem(row=number, line=line, code="not_csv", message=_csv_words(str(error)))
                continue
            if not cells:
                continue
            number += 1
            yield self._row(number, line, cells, targets)

    def _with_header(self, lines: Iterator[str]) -> Iterator[str]:
        first = next(lines, None)
        if first is not None and first.startswith("sep=") and len(first.rstrip("\r\n")) == 5:
            self._delimiter = first[4]
            first = next(lines, None)
        elif first is not None:
            self._delimiter = _delimiter_of(first)
        if first is None:
            raise FileRefused("empty_file", "There is no line in this file.")
        if self._delimiter != ",":
            words = _DELIMITER_WORDS.get(self._delimiter, repr(self._delimiter))
            self.warnings.append({"code": "delimiter", "message": f"Columns were taken as separated by {words}."})

        def all_lines() -> Iterator[str]:
            yield first
            yield from lines

        return all_lines()

    def _read_header(self, reader: Iterator[list[str]]) -> list[str]:
        try:
            header = [unicodedata.normalize("NFC", name.strip()) for name in next(reader)]
        except (csv.Error, StopIteration) as error:
            raise FileRefused("bad_header", f"The first line cannot be read: {_csv_words(str(error))}") from error
        if self.lines.wrong:
            raise FileRefused("not_utf8", "The first line is not UTF-8. Save the file as UTF-8.")
        while header and not header[-1]:
            header.pop()
        if not header:
            raise FileRefused("bad_header", "The first line names no columns.")
        return header

    def _row(self, number: int, line: int, cells: list[str], targets: list[Any]) -> Row | Problem:
        wrong = _wrong_bytes(self.lines, number, line)
        if wrong is not None:
            return wrong
        while len(cells) > len(targets) and not cells[-1]:
            cells.pop()  # a spreadsheet writes empty cells behind the last column
        if len(cells) != len(targets):
            words = f"{_count(len(cells), 'value')} where the first line names {_count(len(targets), 'column')}."
            return Problem(row=number, line=line, code="wrong_columns", message=words)
        values = {target: cell for target, cell in zip(targets, cells, strict=True) if isinstance(target, str)}
        expected = next((cell for target, cell in zip(targets, cells, strict=True) if target is _EXPECTED), None)
        return _checked(number, line, Row(values=values, expected=expected))


class JsonRows:
    """The rows of a file of JSON lines, each an object: `{"name": value, "expected": ...}` or
    `{"values": {...}, "expected": ...}`.
    """

    def __init__(self, file: IO[bytes], layout: Layout) -> None:
        self.lines = Lines(file)
        self.warnings: list[dict[str, str]] = []
        self.columns: list[str] = []
        self._layout = layout
        self._names: dict[str, Any] = {}

    def __iter__(self) -> Iterator[Row | Problem]:
        """Raises FileRefused."""
        number = 0
        for text in self.lines:
            if not text.strip(" \t\r\n"):
                continue
            number += 1
            wrong = _wrong_bytes(self.lines, number, self.lines.number)
            yield wrong if wrong is not None else self._row(number, text)

    def _row(self, number: int, text: str) -> Row | Problem:
        line = self.lines.number
        try:
            given = json.loads(text, object_pairs_hook=_unrepeated, parse_constant=_no_constant, parse_float=_finite)
        except (ValueError, RecursionError) as error:
            return Problem(row=number, line=line, code="not_json", message=f"Not JSON: {str(error)[:200]}.")
        if not isinstance(given, dict):
            return Problem(row=number, line=line, code="not_an_object", message="A line is a JSON object.")
        if set(given) <= {"values", EXPECTED} and isinstance(given.get("values"), dict):
            given = {**given["values"], **({EXPECTED: given[EXPECTED]} if EXPECTED in given else {})}
        return self._placed(number, line, given)

    def _placed(self, number: int, line: int, given: Mapping[str, Any]) -> Row | Problem:
        values: dict[str, Any] = {}
        expected = None
        for name, value in given.items():
            target = self._target(name)
            if isinstance(target, FileRefused):
                return Problem(row=number, line=line, code=target.code, message=target.message)
            if target is _EXPECTED:
                expected = value if isinstance(value, str) or value is None else json.dumps(value, ensure_ascii=False)
            elif target is None or value is None:
                continue  # null is no value: the variable is unset in this row
            elif target in values:
                return Problem(row=number, line=line, code="repeated_name", message=f"{_quoted(target)} comes twice.")
            else:
                values[target] = value
        for name in values:
            if name not in self.columns:
                self.columns.append(name)
        return _checked(number, line, Row(values=values, expected=expected))

    def _target(self, name: str) -> Any:
        """The variable of a name of the file, kept, since a file repeats few names many times."""
        if name not in self._names:
            try:
                target: Any = _target(unicodedata.normalize("NFC", name.strip()), self._layout)
            except FileRefused as refused:
                target = refused
            if len(self._names) >= 10 * MOST_COLUMNS:
                raise FileRefused("too_many_columns", f"The lines use more than {MOST_COLUMNS} names.")
            self._names[name] = target
        return self._names[name]


class _Expected:
    """The place of the expected text among columns."""


_EXPECTED = _Expected()


def _targets(header: list[str], layout: Layout) -> list[Any]:
    """For each column a variable, None (left out), or _EXPECTED. Raises FileRefused."""
    seen: dict[str, int] = {}
    targets = []
    for number, name in enumerate(header, start=1):
        if not name:
            raise FileRefused("bad_header", f"Column {number} has no name in the first line.")
        target = _target(name, layout)
        key = EXPECTED + "\x00" if target is _EXPECTED else target
        if isinstance(key, str):
            if key in seen:
                raise FileRefused(
                    "repeated_name", f"Columns {seen[key]} and {number} both are {_quoted(name)}. Rename one of them."
                )
            seen[key] = number
        targets.append(target)
    if len(targets) > MOST_COLUMNS:
        raise FileRefused("too_many_columns", f"A file may have {MOST_COLUMNS} columns.")
    return targets


def _target(name: str, layout: Layout) -> Any:
    wanted = layout.expected if layout.expected is not None else EXPECTED
    if name == wanted and name not in layout.columns:
        return _EXPECTED
    target = layout.columns.get(name, name)
    if target is None:
        return None
    variable = normal_name(target)
    if variable is None:
        raise FileRefused(
            "not_a_variable",
            f"{_quoted(name)} cannot name a variable: letters, digits, _ and - only. Choose a variable for this column,"
            " or leave it out.",
        )
    return variable


def _checked(number: int, line: int, row: Row) -> Row | Problem:
    try:
        refuse_surrogates(row.as_json())
    except InvalidInput as error:
        return Problem(row=number, line=line, code=error.code, message=error.message)
    if len(encode(row)) > MOST_ROW_BYTES:
        return Problem(row=number, line=line, code="row_too_long", message=f"Longer than {MOST_ROW_BYTES:,} bytes.")
    return row


def _wrong_bytes(lines: Lines, number: int, line: int) -> Problem | None:
    if not lines.wrong:
        return None
    wrong = lines.wrong[0]
    lines.wrong.clear()
    return Problem(row=number, line=line, code="not_utf8", message=f"Line {wrong:,} holds bytes that are not UTF-8.")


def _delimiter_of(header: str) -> str:
    """The one that the header has most of, outside of quotes; a comma if it has none."""
    outside = "".join(header.split('"')[::2])
    return max(DELIMITERS, key=outside.count)


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name comes twice in one object")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:20]} is too large a number")
    return value


def _csv_words(error: str) -> str:
    if "unexpected end of data" in error:
        return "A quote is opened and not closed before the end of the file."
    if "field larger" in error:
        return f"A value is longer than {MOST_ROW_BYTES:,} characters: a quote is probably not closed."
    if "expected after" in error:
        return "There is text behind a closing quote. A quote inside of quotes is written twice."
    return f"{error[:200].capitalize()}." if error else "There is nothing in it."


def _quoted(name: str) -> str:
    return f"“{name[:_SHOWN]}{'…' if len(name) > _SHOWN else ''}”"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
