"""Whether an answer is the JSON that its request asked for. Run as a program, it checks what it is given on stdin.

Schemas and answers come from people and models: a pattern may need for ever, references may branch without end, numbers
may have a million digits. So nothing here bounds time: `inference_client.checker` runs it in a process that can be
killed, and bounds the sizes before. This module knows neither Django nor the network; a remote `$ref` is never fetched.

A program reads one request a line, `{"text", "schema"}`, and answers one line, `{"valid", "errors", "place"}`; all JSON
in ASCII. Its first line says that it is there.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import resource
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TextIO

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

#: Errors told, at most: who has mended these asks again.
MOST_ERRORS = 50
#: Of one check, in processor time: a busy machine is nobody's fault.
CHECK_WITHIN_S = 2
MEMORY_BYTES = 1024**3
READY = "ready"
_LONGEST_MESSAGE = 300
_LONGEST_VALUE = 60
_LONGEST_PATH = 1000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Problem:
    """`path` is a JSON Pointer (RFC 6901) into the answer; "" is the whole of it."""

    path: str
    message: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Place:
    """Where an answer stops being JSON, both counted from 1, columns in code points."""

    line: int
    column: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Structured:
    """`valid` is None if it could not be told, and then one problem without a path says why."""

    valid: bool | None
    errors: tuple[Problem, ...] = ()
    place: Place | None = None

    def plain(self) -> dict[str, Any]:
        """As JSON values: {valid, errors: [{path, message}], place: {line, column} | null}."""
        value: dict[str, Any] = dataclasses.asdict(self)
        value["errors"] = list(value["errors"])
        return value


def untold(why: str) -> Structured:
    return Structured(valid=None, errors=(Problem(path="", message=why),))


def schema_of(request: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The JSON Schema that a Messages API request asks its answer to follow; None if it asks for none."""
    form = request.get("output_config")
    form = form.get("format") if isinstance(form, dict) else None
    schema = form.get("schema") if isinstance(form, dict) else None
    return schema if isinstance(schema, dict) else None


def check(text: str, schema: Mapping[str, Any]) -> Structured:
    """Hold an answer against a schema (JSON Schema, 2020-12 unless it names another draft)."""
    try:
        answer = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        return _not_json(text, error)
    except RecursionError:
        return Structured(valid=False, errors=(Problem(path="", message="Not usable as JSON: nested too deeply."),))
    except ValueError as error:
        message = f"Not usable as JSON: {_short(str(error), _LONGEST_MESSAGE)}."
        return Structured(valid=False, errors=(Problem(path="", message=message),))
    try:
        return _held_against(answer, schema)
    except SchemaError as error:
        return untold(f"The schema itself is not valid: {_short(error.message, _LONGEST_MESSAGE)}")
    except Unresolvable as error:
        return untold(f"The schema refers to {_short(str(error.ref), 200)!r}, which is not in it. Nothing is fetched.")
    except RecursionError:
        return untold("The schema or the answer is nested too deeply to be checked.")


def _held_against(answer: Any, schema: Mapping[str, Any]) -> Structured:
    kind = validator_for(schema, default=Draft202012Validator)
    kind.check_schema(schema)
    # A registry of its own: the library's default one fetches what it does not know.
    validator = kind(schema, registry=Registry())
    # The same may be wrong by many ways through a schema. Looking for more of what is new has an end, too.
    found: dict[Problem, None] = {}
    for error in itertools.islice(validator.iter_errors(answer), MOST_ERRORS * 20):
        found[Problem(path=pointer(error.absolute_path), message=_short(words(error), _LONGEST_MESSAGE))] = None
        if len(found) == MOST_ERRORS:
            break
    return Structured(valid=not found, errors=tuple(found))


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _not_json(text: str, error: json.JSONDecodeError) -> Structured:
    if text.lstrip().startswith("```"):
        message = "Not JSON: the answer stands in a Markdown code fence."
    elif error.pos >= len(text.rstrip()):
        message = f"The JSON is not finished: it ends in line {error.lineno}, column {error.colno}."
    else:
        message = f"Not JSON from line {error.lineno}, column {error.colno} on: {error.msg}."
    place = Place(line=error.lineno, column=error.colno)
    return Structured(valid=False, errors=(Problem(path="", message=message),), place=place)


def pointer(path: Iterable[str | int]) -> str:
    """A path as a JSON Pointer (RFC 6901)."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)[:_LONGEST_PATH]


def _one_of(values: Any) -> str:
    return ", ".join(shown(value) for value in values) if isinstance(values, list) else shown(values)


def _kinds(wanted: Any) -> str:
    return " or ".join(map(str, wanted)) if isinstance(wanted, list) else str(wanted)


#: The library's own sentences quote the whole value, in Python's notation.
_WORDS: Mapping[str, Callable[[Any, Any], str]] = {
    "type": lambda wanted, given: f"Must be {_kinds(wanted)}, is {_kind(given)}.",
    "enum": lambda wanted, given: f"Must be one of {_one_of(wanted)}, is {shown(given)}.",
    "const": lambda wanted, given: f"Must be {shown(wanted)}, is {shown(given)}.",
    "minimum": lambda wanted, given: f"Must be at least {shown(wanted)}, is {shown(given)}.",
    "maximum": lambda wanted, given: f"Must be at most {shown(wanted)}, is {shown(given)}.",
    "exclusiveMinimum": lambda wanted, given: f"Must be more than {shown(wanted)}, is {shown(given)}.",
    "exclusiveMaximum": lambda wanted, given: f"Must be less than {shown(wanted)}, is {shown(given)}.",
    "multipleOf": lambda wanted, given: f"Must be a multiple of {shown(wanted)}, is {shown(given)}.",
    "minLength": lambda wanted, given: f"Must have at least {wanted} characters, has {len(given)}.",
    "maxLength": lambda wanted, given: f"May have at most {wanted} characters, has {len(given)}.",
    "pattern": lambda wanted, given: f"Must match {shown(wanted)}, is {shown(given)}.",
    "minItems": lambda wanted, given: f"Must have at least {wanted} items, has {len(given)}.",
    "maxItems": lambda wanted, given: f"May have at most {wanted} items, has {len(given)}.",
    "uniqueItems": lambda wanted, given: "Has an item twice.",
    "minProperties": lambda wanted, given: f"Must have at least {wanted} properties, has {len(given)}.",
    "maxProperties": lambda wanted, given: f"May have at most {wanted} properties, has {len(given)}.",
    "anyOf": lambda wanted, given: f"Fits none of the {len(wanted)} alternatives of anyOf.",
    "not": lambda wanted, given: "Is what the schema excludes by not.",
}


def words(error: ValidationError) -> str:
    """What is wrong, in one sentence with JSON's own names for things."""
    sentence = _WORDS.get(str(error.validator))
    if sentence is not None:
        return sentence(error.validator_value, error.instance)
    if error.validator == "oneOf" and not error.context:
        return "Fits more than one of the alternatives of oneOf."
    if error.validator == "oneOf":
        return f"Fits none of the {len(error.validator_value)} alternatives of oneOf."
    # Of a missing or an unexpected property the library quotes only the name.
    return f"{_sentence_case(error.message)}."


def _sentence_case(message: str) -> str:
    return message[:1].upper() + message[1:].removesuffix(".")


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    kinds = {str: "string", int: "integer", float: "number", list: "array", dict: "object", type(None): "null"}
    return kinds.get(type(value), "something else")


def shown(value: Any) -> str:
    """A value as JSON, shortened."""
    return _short(json.dumps(value, ensure_ascii=False), _LONGEST_VALUE)


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def serve(requests: TextIO, answers: TextIO) -> None:
    """Check line by line until `requests` ends. A check that takes too long ends the process, whatever it is at."""
    print(READY, file=answers, flush=True)
    for line in requests:
        # The default action of SIGPROF kills even while a C function holds the interpreter.
        signal.setitimer(signal.ITIMER_PROF, CHECK_WITHIN_S)
        request = json.loads(line)
        answer = check(request["text"], request["schema"]).plain()
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    serve(sys.stdin, sys.stdout)
