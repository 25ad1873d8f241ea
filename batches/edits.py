"""Changes to the rows of a small dataset, as a page sends them. Pure.

{"op": "set", "index": 3, "values": {"name": "x", "gone": null}, "expected": "y"}
{"op": "insert", "index": 3, "rows": [{"values": {...}, "expected": ...}]}
{"op": "remove", "index": 3, "count": 2}
{"op": "rename", "from": "a", "to": "b"}
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from batches.rows import EDITABLE_BYTES, EDITABLE_ROWS, MOST_COLUMNS, Row, encode
from core.errors import InvalidInput, Unprocessable
from playground.template import normal_name

MOST_EDITS = 2000
#: Each goes through all rows, under the lock of the dataset.
MOST_RENAMES = 20


class DatasetTooLarge(Unprocessable):
    code = "dataset_too_large"
    default_message = f"By hand, {EDITABLE_ROWS:,} test cases of {EDITABLE_BYTES // 2**20} MiB together can be kept."
    default_kept = "What was saved before is kept."
    default_next_step = "Import a CSV or JSONL file for more."


def read_rows(raw: object, *, field: str) -> list[Row]:
    """Rows as they are sent: `[{"values": {name: value}, "expected"?: text | null}]`. Raises InvalidInput."""
    if not isinstance(raw, list):
        raise InvalidInput("Rows are a list.", field=field)
    return [_row(each, field=f"{field}.{index}") for index, each in enumerate(raw)]


def read_names(raw: object, *, field: str) -> list[str]:
    """Names of variables, each once. Raises InvalidInput."""
    if not isinstance(raw, list) or len(raw) > MOST_COLUMNS:
        raise InvalidInput(f"Columns are a list of at most {MOST_COLUMNS} names.", field=field)
    names = [_name(each, field=f"{field}.{index}") for index, each in enumerate(raw)]
    if len(set(names)) != len(names):
        raise InvalidInput("A column comes twice.", field=field)
    return names


def refuse_too_large(rows: Sequence[Row]) -> None:
    """Raise DatasetTooLarge for more than can be written by hand, InvalidInput for too many variables."""
    if len({name for row in rows for name in row.values}) > MOST_COLUMNS:
        raise InvalidInput(f"Test cases may have {MOST_COLUMNS} variables.", code="too_many_columns", field="rows")
    if len(rows) > EDITABLE_ROWS or sum(len(encode(row)) for row in rows) > EDITABLE_BYTES:
        raise DatasetTooLarge


def apply(rows: Sequence[Row], edits: object) -> list[Row]:
    """The rows after the edits, one after the other. Raises InvalidInput naming the edit, DatasetTooLarge."""
    if not isinstance(edits, list) or len(edits) > MOST_EDITS:
        raise InvalidInput(f"Edits are a list of at most {MOST_EDITS:,}.", field="edits")
    if sum(isinstance(edit, dict) and edit.get("op") == "rename" for edit in edits) > MOST_RENAMES:
        raise InvalidInput(f"At most {MOST_RENAMES} columns are renamed at once.", field="edits")
    changed = list(rows)
    for number, edit in enumerate(edits):
        field = f"edits.{number}"
        operation = _OPERATIONS.get(str(edit.get("op"))) if isinstance(edit, dict) else None
        if operation is None:
            raise InvalidInput(f"An edit is one of {', '.join(_OPERATIONS)}.", field=f"{field}.op")
        operation(changed, edit, field)
    return changed


def renamed(columns: Sequence[str], edits: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns in their order after the renames among edits that `apply` took."""
    names = list(columns)
    for edit in edits:
        if edit["op"] == "rename":
            old, new = _name(edit["from"], field="from"), _name(edit["to"], field="to")
            names = [new if name == old else name for name in names]
    return list(dict.fromkeys(names))


def keep_columns(rows: Sequence[Row], columns: Sequence[str]) -> list[Row]:
    """The rows without values of names that are not among `columns`."""
    kept = set(columns)
    return [
        Row(values={name: value for name, value in row.values.items() if name in kept}, expected=row.expected)
        for row in rows
    ]


def _set(rows: list[Row], edit: Mapping[str, Any], field: str) -> None:
    index = _index(edit, len(rows) - 1, field)
    values = dict(rows[index].values)
    for name, value in _values(edit.get("values", {}), field=f"{field}.values").items():
        if value is None:
            values.pop(name, None)
        else:
            values[name] = value
    expected = _expected(edit["expected"], field=field) if "expected" in edit else rows[index].expected
    rows[index] = Row(values=values, expected=expected)


def _insert(rows: list[Row], edit: Mapping[str, Any], field: str) -> None:
    index = _index(edit, len(rows), field)
    rows[index:index] = read_rows(edit.get("rows"), field=f"{field}.rows")
    if len(rows) > EDITABLE_ROWS:
        refuse_too_large(rows)


def _remove(rows: list[Row], edit: Mapping[str, Any], field: str) -> None:
    index = _index(edit, len(rows) - 1, field)
    count = edit.get("count", 1)
    if not _is_number(count) or not 1 <= count <= len(rows) - index:
        raise InvalidInput("There are not that many rows from here on.", field=f"{field}.count")
    del rows[index : index + count]


def _rename(rows: list[Row], edit: Mapping[str, Any], field: str) -> None:
    old, new = _name(edit.get("from"), field=f"{field}.from"), _name(edit.get("to"), field=f"{field}.to")
    for index, row in enumerate(rows):
        if old in row.values:
            if new in row.values and new != old:
                raise InvalidInput(f"There is a column {new} already.", field=f"{field}.to")
            values = {new if name == old else name: value for name, value in row.values.items()}
            rows[index] = Row(values=values, expected=row.expected)


_OPERATIONS = {"set": _set, "insert": _insert, "remove": _remove, "rename": _rename}


def _row(raw: object, *, field: str) -> Row:
    if not isinstance(raw, dict) or set(raw) - {"values", "expected"}:
        raise InvalidInput('A row is {"values": {...}, "expected": text or null}.', field=field)
    values = _values(raw.get("values", {}), field=f"{field}.values")
    kept = {name: value for name, value in values.items() if value is not None}
    return Row(values=kept, expected=_expected(raw.get("expected"), field=field))


def _values(raw: object, *, field: str) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise InvalidInput("Values are a JSON object from name to value.", field=field)
    return {_name(name, field=f"{field}.{name}"): value for name, value in raw.items()}


def _expected(raw: object, *, field: str) -> str | None:
    return raw if isinstance(raw, str) or raw is None else json.dumps(raw, ensure_ascii=False)


def _name(raw: object, *, field: str) -> str:
    name = normal_name(raw) if isinstance(raw, str) else None
    if name is None:
        raise InvalidInput("Not a variable name: letters, digits, _ and - only.", field=field)
    return name


def _index(edit: Mapping[str, Any], most: int, field: str) -> int:
    index = edit.get("index")
    if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index <= most:
        raise InvalidInput("There is no such row.", field=f"{field}.index")
    return index


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
