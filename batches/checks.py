"""The checks of a batch: what they may be, and how they are named. Pure.

Texts of checks are templates: `{{variable}}` and `{{expected}}` stand for what the row says (`playground.template`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import re2

from batches.models import MOST_CHECKS
from core.errors import InvalidInput
from playground import template

Verdict = Literal["pass", "fail", "error", "skip"]
EXPECTED = "{{expected}}"
MOST_TEXT = 20_000
MOST_PATTERN = 2000
MOST_SCHEMA_BYTES = 256 * 1024
#: What RE2 may use for one pattern: it refuses larger ones instead of taking longer.
PATTERN_MEMORY = 8 * 1024 * 1024
MODES = ("trimmed", "exact")
METHODS = ("ratio", "embedding")
_SHOWN = 40
#: A plain `Check` as it is kept: what was asked for with the defaults filled in.
Check = dict[str, Any]


def read_checks(raw: object, *, field: str = "checks") -> list[Check]:
    """Checks as a person sends them, held to what each kind may have. Raises InvalidInput naming the dotted field."""
    if not isinstance(raw, list) or len(raw) > MOST_CHECKS:
        raise InvalidInput(f"Checks are a list of at most {MOST_CHECKS}.", field=field)
    return [_read(each, f"{field}.{index}") for index, each in enumerate(raw)]


def _read(raw: object, field: str) -> Check:
    reader = _READERS.get(raw.get("kind", "")) if isinstance(raw, dict) else None
    if reader is None or not isinstance(raw, dict):
        raise InvalidInput(f"A check is one of {', '.join(_READERS)}.", field=f"{field}.kind")
    allowed = {"kind", "name", *_FIELDS[raw["kind"]]}
    unknown = sorted(set(raw) - allowed)
    if unknown:
        raise InvalidInput(f"Such a check has no `{unknown[0]}`.", field=f"{field}.{unknown[0]}")
    check = {"kind": raw["kind"], **reader(raw, field)}
    name = raw.get("name")
    if name is not None and (not isinstance(name, str) or len(name) > 100):
        raise InvalidInput("A name has up to 100 characters.", field=f"{field}.name")
    return {**check, "name": name.strip()} if name and name.strip() else check


def _contains(raw: Mapping[str, Any], field: str) -> Check:
    return {"text": _text(raw, field), "ignore_case": _flag(raw, "ignore_case", field)}


def _equals(raw: Mapping[str, Any], field: str) -> Check:
    return {"text": _text(raw, field, default=EXPECTED), "mode": _choice(raw, "mode", MODES, field)}


def _regex(raw: Mapping[str, Any], field: str) -> Check:
    pattern = raw.get("pattern")
    if not isinstance(pattern, str) or not 0 < len(pattern) <= MOST_PATTERN:
        raise InvalidInput(f"A pattern has 1 to {MOST_PATTERN:,} characters.", field=f"{field}.pattern")
    check = {
        "pattern": pattern,
        "ignore_case": _flag(raw, "ignore_case", field),
        "negate": _flag(raw, "negate", field),
    }
    try:
        compiled(check)
    except re2.error as error:
        raise InvalidInput(
            f"This pattern cannot be used: {_reason(error)}. Patterns are those of RE2: no backreferences and no"
            " lookarounds, and they never take long.",
            field=f"{field}.pattern",
        ) from error
    return check


def _json(raw: Mapping[str, Any], field: str) -> Check:
    del raw, field
    return {}


def _json_schema(raw: Mapping[str, Any], field: str) -> Check:
    schema = raw.get("schema")
    if isinstance(schema, str):
        try:
            schema = json.loads(schema)
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"The schema is not JSON: {error}.", field=f"{field}.schema") from error
    if schema is not None and not isinstance(schema, dict | bool):
        raise InvalidInput("A schema is a JSON object.", field=f"{field}.schema")
    if len(json.dumps(schema)) > MOST_SCHEMA_BYTES:
        raise InvalidInput(f"A schema may have {MOST_SCHEMA_BYTES:,} bytes.", field=f"{field}.schema")
    return {"schema": schema}


def _similarity(raw: Mapping[str, Any], field: str) -> Check:
    threshold = raw.get("threshold")
    if not isinstance(threshold, int | float) or isinstance(threshold, bool) or not 0 <= threshold <= 1:
        raise InvalidInput("A threshold lies between 0 and 1.", field=f"{field}.threshold")
    return {
        "text": _text(raw, field, default=EXPECTED),
        "threshold": threshold,
        "method": _choice(raw, "method", METHODS, field),
    }


def _model(raw: Mapping[str, Any], field: str) -> Check:
    model = raw.get("model")
    if model is not None and (not isinstance(model, str) or not 0 < len(model) <= 200):
        raise InvalidInput("A model name has 1 to 200 characters.", field=f"{field}.model")
    return {"question": _text(raw, field, name="question"), "model": model}


_READERS: Mapping[str, Callable[[Mapping[str, Any], str], Check]] = {
    "contains": _contains,
    "not_contains": _contains,
    "equals": _equals,
    "regex": _regex,
    "json": _json,
    "json_schema": _json_schema,
    "similarity": _similarity,
    "model": _model,
}
_FIELDS: Mapping[str, Sequence[str]] = {
    "contains": ("text", "ignore_case"),
    "not_contains": ("text", "ignore_case"),
    "equals": ("text", "mode"),
    "regex": ("pattern", "ignore_case", "negate"),
    "json": (),
    "json_schema": ("schema",),
    "similarity": ("text", "threshold", "method"),
    "model": ("question", "model"),
}


def _text(raw: Mapping[str, Any], field: str, *, name: str = "text", default: str | None = None) -> str:
    text = raw.get(name, default)
    if not isinstance(text, str) or not 0 < len(text) <= MOST_TEXT:
        raise InvalidInput(f"A text of 1 to {MOST_TEXT:,} characters is needed.", field=f"{field}.{name}")
    return text


def _flag(raw: Mapping[str, Any], name: str, field: str) -> bool:
    value = raw.get(name, False)
    if not isinstance(value, bool):
        raise InvalidInput("This is true or false.", field=f"{field}.{name}")
    return value


def _choice(raw: Mapping[str, Any], name: str, choices: Sequence[str], field: str) -> str:
    value = raw.get(name, choices[0])
    if value not in choices:
        raise InvalidInput(f"One of {', '.join(choices)}.", field=f"{field}.{name}")
    return str(value)


def compiled(check: Mapping[str, Any]) -> Any:
    """The pattern of a regex check. Raises re2.error."""
    options = re2.Options()
    options.case_sensitive = not check["ignore_case"]
    options.max_mem = PATTERN_MEMORY
    options.log_errors = False
    return re2.compile(check["pattern"], options=options)


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else ""
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)


def label(check: Mapping[str, Any]) -> str:
    """A check in words, for the head of a column: its own name, or what it does."""
    return str(check.get("name") or _LABELS[check["kind"]](check))


_LABELS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "contains": lambda check: f"contains {_quoted(check['text'])}",
    "not_contains": lambda check: f"does not contain {_quoted(check['text'])}",
    "equals": lambda check: f"equals {_quoted(check['text'])}",
    "regex": lambda check: f"{'does not match' if check['negate'] else 'matches'} {_short(check['pattern'])}",
    "json": lambda check: "is JSON",
    "json_schema": lambda check: "follows the schema" if check["schema"] is not None else "follows its own schema",
    "similarity": lambda check: f"similar to {_quoted(check['text'])}, at least {check['threshold']:g}",
    "model": lambda check: f"a model says yes: {_short(check['question'])}",
}


def _quoted(text: str) -> str:
    return "the expected text" if text == EXPECTED else f"“{_short(text)}”"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"


def needs_expected(check: Mapping[str, Any]) -> bool:
    """Whether a row without an expected text leaves this check without sense."""
    text = check.get("text") or check.get("question") or ""
    return "expected" in template.names(text)


def filled(text: str, values: Mapping[str, str], expected: str | None) -> str:
    """A text of a check for one row."""
    return template.substitute(text, {**({"expected": expected} if expected is not None else {}), **values})
