"""What is written as CSV or JSON lines is read back as it was, and nothing makes the reader stumble."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batches.parsing import CsvRows, FileRefused, JsonRows, Layout, Problem
from batches.rows import Row, Totals, pack, unpack

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
NAMES = ["name", "größe", "q-1", "質問"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


def read(kind: Any, data: bytes, **layout: Any) -> list[Row | Problem]:
    return list(kind(io.BytesIO(data), Layout(**layout)))


def read_or_refuse(kind: Any, data: bytes) -> list[Row | Problem] | FileRefused:
    try:
        return read(kind, data)
    except FileRefused as refused:
        return refused


@given(
    rows=st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1, max_size=20),
    delimiter=st.sampled_from(",;\t|"),
    ending=st.sampled_from(["\n", "\r\n"]),
    bom=st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_rows_written_as_csv_are_read_back_as_they_were(
    rows: list[tuple[str, str, str]], delimiter: str, ending: str, bom: bool
) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator=ending, quoting=csv.QUOTE_ALL)
    writer.writerow([*NAMES[:2], "expected"])
    writer.writerows(rows)
    found = read(CsvRows, (b"\xef\xbb\xbf" if bom else b"") + text.getvalue().encode())
    assert found == [Row(values=dict(zip(NAMES, row[:2], strict=False)), expected=row[2]) for row in rows]


@given(rows=st.lists(st.dictionaries(st.sampled_from(NAMES), JSON, max_size=4), min_size=1, max_size=20))
@settings(max_examples=200, deadline=None)
def test_values_written_as_json_lines_are_read_back_as_they_were(rows: list[dict[str, Any]]) -> None:
    data = "\n".join(json.dumps({"values": row}, ensure_ascii=False) for row in rows).encode()
    found = read(JsonRows, data)
    kept = [{name: value for name, value in row.items() if value is not None} for row in rows]
    assert found == [Row(values=row) for row in kept]


@given(data=st.binary(max_size=200), is_csv=st.booleans())
@settings(max_examples=500, deadline=None)
def test_any_bytes_are_rows_or_told_problems_and_never_a_failure(data: bytes, is_csv: bool) -> None:
    found = read_or_refuse(CsvRows if is_csv else JsonRows, data)
    if isinstance(found, FileRefused):
        assert found.code
        assert found.message
        return
    numbers = [each.row for each in found if isinstance(each, Problem)]
    assert numbers == sorted(set(numbers))


@given(
    rows=st.lists(st.builds(Row, values=st.dictionaries(st.sampled_from(NAMES), JSON), expected=st.none() | TEXT)),
)
@settings(max_examples=100, deadline=None)
def test_packed_rows_are_unpacked_as_they_were(rows: list[Row]) -> None:
    totals = Totals()
    chunks = list(pack(rows, totals))
    assert [row for chunk in chunks for row in unpack(chunk.data)] == rows
    assert totals.count == len(rows)
    assert [chunk.first for chunk in chunks] == [sum(each.count for each in chunks[:i]) for i in range(len(chunks))]


@pytest.mark.parametrize(
    ("data", "row", "line", "code"),
    [
        (b'a,b\n1,"x\n2,3\n', 1, 2, "not_csv"),
        (b'a,b\n1,2\n"x"y,3\n4,5', 2, 3, "not_csv"),
        (b'a,b\n"1\n1",2\n3\n', 2, 4, "wrong_columns"),
        (b"a,b\r1,2\r3\r", 2, 3, "wrong_columns"),
    ],
)
def test_a_bad_row_of_a_csv_file_is_told_with_the_line_it_begins_on(
    data: bytes, row: int, line: int, code: str
) -> None:
    problems = [each for each in read(CsvRows, data) if isinstance(each, Problem)]
    assert [(each.row, each.line, each.code) for each in problems] == [(row, line, code)]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b'{"a": 1, "a": 2}', "not_json"),
        (b'{"a": NaN}', "not_json"),
        (b'{"a": 1e999}', "not_json"),
        (b'{"a": "\\ud83d"}', "lone_surrogate"),
        (b'{"e\xcc\x81": 1, "\xc3\xa9": 2}', "repeated_name"),
        (b'{"a b": 1}', "not_a_variable"),
        (b"[1]", "not_an_object"),
        (b"[" * 5000, "not_json"),
    ],
)
def test_a_bad_line_of_json_is_told_and_the_next_is_read(line: bytes, code: str) -> None:
    first, second = read(JsonRows, line + b'\n{"a": 1}\n')
    assert isinstance(first, Problem)
    assert (first.row, first.line, first.code) == (1, 1, code)
    assert second == Row(values={"a": 1})


def test_a_quote_that_is_never_closed_does_not_swallow_a_large_file_into_memory() -> None:
    data = b'a\n"x' + b"0123456789abcde\n" * 300_000
    first = read(CsvRows, data)[0]
    assert isinstance(first, Problem)
    assert "quote" in first.message


def test_empty_cells_behind_the_last_column_and_a_line_that_names_the_separator_are_of_spreadsheets() -> None:
    found = read(CsvRows, b"sep=;\r\na;b;;\r\n1;2;;\r\n")
    assert found == [Row(values={"a": "1", "b": "2"})]
