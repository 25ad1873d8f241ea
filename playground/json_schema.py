"""JSON Schemas that a person wrote: whether they are any, and what structured outputs cannot be held to. Pure.

A schema is read as draft 2020-12 unless its `$schema` names another draft. Nothing is ever fetched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import validator_for
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

#: A schema that nests deeper, or has more subschemas, is not looked into: checking it would hold a process for seconds.
MAX_DEPTH = 64
MAX_SUBSCHEMAS = 2_000
#: Of several schemas that are checked together, as those of a list of tools.
MAX_IN_ALL = 3 * MAX_SUBSCHEMAS
#: Values of all kinds in a schema: each is held against the draft, too.
MAX_VALUES = 20_000
#: Whether a list names something twice is found by sorting it; where its values have no order, pair by pair.
MAX_UNSORTABLE = 500
MAX_FOUND = 20
_LONGEST_WORD = 60

Json = Any
Path = tuple[str | int, ...]

_ONE = frozenset(
    {
        *("not", "if", "then", "else", "items", "contains", "additionalProperties", "propertyNames"),
        *("unevaluatedItems", "unevaluatedProperties", "contentSchema", "additionalItems"),
    }
)
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
#: What applies to the same value: a circle of these never comes to an end.
_SAME_VALUE = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"})
_REFERENCES = ("$ref", "$dynamicRef")

#: What Anthropic's structured outputs do not enforce and therefore refuse; source: the SDK's `transform_schema`, which
#: takes these out of a schema, and the limits stated with structured outputs.
_REFUSED_WORDS = frozenset(
    {
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"),
        *("maxItems", "uniqueItems", "contains", "minContains", "maxContains", "minProperties", "maxProperties"),
        *("patternProperties", "propertyNames", "dependentSchemas", "dependentRequired", "prefixItems"),
        *("not", "if", "then", "else", "unevaluatedItems", "unevaluatedProperties", "oneOf"),
    }
)
_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"})


@dataclass(frozen=True, kw_only=True)
class Fault:
    """`path`: the place in the schema, from its root."""

    path: Path
    message: str


class TooLargeToCheck(Exception):
    """The schema nests deeper, or has more in it, than can be looked through while somebody waits."""


@dataclass(frozen=True, kw_only=True)
class _Place:
    path: Path
    schema: Mapping[str, Json]
    #: The keyword that brought us here; "" for the root.
    keyword: str = ""
    parent: int | None = None


def faults(schema: Json) -> list[Fault]:
    """Why no reader can use `schema`: it is none, or it refers to what is not there, or to itself without end.

    Raises TooLargeToCheck.
    """
    weigh(schema)
    places = _places(schema)
    found = list(dict.fromkeys(_against_its_draft(schema)))
    if found:
        return found[:MAX_FOUND]
    graph = _Graph(places)
    return [*graph.faults, *graph.endless()][:MAX_FOUND]


def misfits(schema: Json) -> list[Fault]:
    """What Anthropic's structured outputs refuse of a schema without faults. Raises TooLargeToCheck."""
    weigh(schema)
    places = _places(schema)
    found = [fault for place in places for fault in _refused(place)]
    return [*_Graph(places).recursive(), *found][:MAX_FOUND]


def weigh(schema: Json) -> int:
    """How many values of `schema` may be subschemas: what checking it takes. Raises TooLargeToCheck.

    Whatever may stand for a schema counts, wherever it stands: drafts differ in where they have them.
    """
    weight, values = 0, 0
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        values += 1
        weight += isinstance(value, Mapping | bool)
        if isinstance(value, Mapping):
            waiting.extend(value.values())
        elif isinstance(value, list):
            if len(value) > MAX_UNSORTABLE and not _is_sortable(value):
                raise TooLargeToCheck
            waiting.extend(value)
        if weight > MAX_SUBSCHEMAS or values + len(waiting) > MAX_VALUES:
            raise TooLargeToCheck
    return weight


def weighed(schemas: Iterable[Json]) -> Iterator[bool]:
    """For each of several schemas that are checked together, whether there is still room to look into it."""
    taken = 0
    for schema in schemas:
        try:
            taken += weigh(schema)
        except TooLargeToCheck:
            yield False
            continue
        yield taken <= MAX_IN_ALL


def _is_sortable(values: Sequence[Json]) -> bool:
    return all(isinstance(value, str) for value in values) or all(type(value) in (int, float) for value in values)


def _against_its_draft(schema: Json) -> Iterator[Fault]:
    named = isinstance(schema, Mapping) and isinstance(schema.get("$schema"), str)
    validator = validator_for(schema, default=Draft202012Validator) if named else Draft202012Validator
    errors = validator(validator.META_SCHEMA).iter_errors(schema)
    for error in sorted(errors, key=lambda each: [str(part) for part in each.absolute_path]):
        yield Fault(path=tuple(error.absolute_path), message=_sentence(error))


_TYPES = "string, number, integer, boolean, object, array or null"


def _sentence(error: ValidationError) -> str:
    word = _short(error.instance)
    where = error.absolute_path[-1] if error.absolute_path else ""
    if where == "type" and error.validator == "anyOf":
        return f"{word} is no type: there are {_TYPES}."
    if error.validator == "type":
        wanted = error.validator_value
        names = wanted if isinstance(wanted, list) else [wanted]
        return f"{word} must be {' or '.join(_KINDS.get(name, str(name)) for name in names)}."
    if error.validator == "enum":
        return f"{word} is none of {', '.join(map(_short, error.validator_value))}."
    if error.validator in _SENTENCES:
        return f"{word} {_SENTENCES[error.validator].format(error.validator_value)}."
    return f"{word} is not possible here in a JSON Schema."


_KINDS = {
    "object": "an object",
    "array": "a list",
    "string": "a text",
    "boolean": "true or false",
    "integer": "a whole number",
}
_SENTENCES = {
    "minimum": "must be at least {}",
    "exclusiveMinimum": "must be more than {}",
    "minItems": "needs at least {} item",
    "uniqueItems": "names something twice",
    "pattern": "has a form that is not possible here",
}


def _short(value: Json) -> str:
    word = repr(value) if not isinstance(value, str) else f'"{value}"'
    return word if len(word) <= _LONGEST_WORD else f"{word[: _LONGEST_WORD - 1]}…"


def _places(schema: Json) -> list[_Place]:
    """Every subschema of `schema` that is an object, parents first. Raises TooLargeToCheck."""
    places = [_Place(path=(), schema=schema)] if isinstance(schema, Mapping) else []
    for index, place in enumerate(places):
        for keyword, path, child in _children(place):
            if len(path) > MAX_DEPTH:
                raise TooLargeToCheck
            places.append(_Place(path=path, schema=child, keyword=keyword, parent=index))
    return places


def _children(place: _Place) -> Iterator[tuple[str, Path, Mapping[str, Json]]]:
    for keyword, value in place.schema.items():
        for path, child in _inside(keyword, value):
            if isinstance(child, Mapping):
                yield keyword, (*place.path, *path), child


def _inside(keyword: str, value: Json) -> Iterator[tuple[Path, Json]]:
    """What stands where `keyword` has subschemas."""
    if keyword in _ONE and isinstance(value, Mapping):
        yield (keyword,), value
    elif keyword in _LISTS and isinstance(value, list):
        yield from (((keyword, index), item) for index, item in enumerate(value))
    elif keyword in _MAPS and isinstance(value, Mapping):
        yield from (((keyword, name), item) for name, item in value.items())


class _Graph:
    """Which subschema leads to which, by nesting and by reference. A node is the index of a place."""

    def __init__(self, places: Sequence[_Place]) -> None:
        self._places = places
        self._index = {id(place.schema): index for index, place in enumerate(places)}
        self._resolvers: list[Any] = []
        self.faults: list[Fault] = []
        #: (from, to, path of what leads there, whether it is about the same value, whether it is a reference)
        self._edges: dict[int, list[tuple[int, Path, bool, bool]]] = {index: [] for index in range(len(places))}
        for index, place in enumerate(places):
            self._resolvers.append(self._resolver(place))
            if place.parent is not None and place.keyword not in ("$defs", "definitions"):
                self._edges[place.parent].append((index, place.path, place.keyword in _SAME_VALUE, False))
            for keyword in _REFERENCES:
                if isinstance(place.schema.get(keyword), str):
                    self._refer(index, place, keyword)

    def _resolver(self, place: _Place) -> Any:
        """References inside a subschema that has an `$id` start from there."""
        resource = Resource.from_contents(place.schema, default_specification=DRAFT202012)
        if place.parent is None:
            return _root_resolver(resource)
        above = self._resolvers[place.parent]
        return above.in_subresource(resource) if "$id" in place.schema else above

    def _refer(self, index: int, place: _Place, keyword: str) -> None:
        reference, path = place.schema[keyword], (*place.path, keyword)
        try:
            target = self._resolvers[index].lookup(reference).contents
        except (Unresolvable, AttributeError, TypeError, KeyError, ValueError):
            # Besides its own error, `referencing` lets through what it stumbles over in a pointer that is none.
            self.faults.append(Fault(path=path, message=_unresolved(reference)))
            return
        if id(target) in self._index:
            self._edges[index].append((self._index[id(target)], path, True, True))
        elif not isinstance(target, Mapping | bool):
            self.faults.append(Fault(path=path, message=f"{_short(reference)} leads to something that is no schema."))

    def endless(self) -> list[Fault]:
        """References that come back to their own place without a step into the value."""
        return [
            Fault(path=path, message="This refers to itself without end: no value can be checked against it.")
            for path in self._circles(lambda same, _: same)
        ]

    def recursive(self) -> list[Fault]:
        return [
            Fault(path=path, message="This refers to something it is part of; structured outputs take no recursion.")
            for path in self._circles(lambda _same, _reference: True)
        ]

    def _circles(self, counts: Callable[[bool, bool], bool]) -> list[Path]:
        """The references that close a circle, found by walking in depth. Only edges that count are walked."""
        closing: list[Path] = []
        done: set[int] = set()
        for start in self._edges:
            if start in done:
                continue
            open_nodes = {start}
            stack = [(start, iter(self._edges[start]))]
            while stack:
                node, edges = stack[-1]
                edge = next(edges, None)
                if edge is None:
                    stack.pop()
                    open_nodes.discard(node)
                    done.add(node)
                    continue
                target, path, same, reference = edge
                if not counts(same, reference):
                    continue
                if target in open_nodes:
                    closing.append(path)
                elif target not in done:
                    open_nodes.add(target)
                    stack.append((target, iter(self._edges[target])))
        return closing


def _root_resolver(resource: Any) -> Any:
    """One that knows every anchor and id of the schema: else each reference to one would walk through all of it."""
    registry = Registry()
    try:
        uri = resource.id() or ""
        return registry.with_resource(uri, resource).crawl().resolver(base_uri=uri)
    except (AttributeError, TypeError, KeyError, ValueError):
        # An id that is no address: the references that need it are told one by one.
        return registry.resolver_with_root(resource)


_LOCAL = re.compile(r"#|$")


def _unresolved(reference: str) -> str:
    if _LOCAL.match(reference):
        return f"{_short(reference)} leads nowhere in this schema."
    return f"{_short(reference)} is in another document, which is never fetched: put it under $defs."


def _refused(place: _Place) -> Iterator[Fault]:
    schema = place.schema
    for keyword in schema:
        if keyword in _REFUSED_WORDS:
            yield _fault(place, keyword, f"Structured outputs take no {keyword}.")
    if schema.get("minItems", 0) not in (0, 1):
        yield _fault(place, "minItems", "Structured outputs take a minItems of 0 or 1 only.")
    if _is_object(schema) and schema.get("additionalProperties") is not False:
        yield _fault(place, "", "Structured outputs ask for additionalProperties: false in every object.")
    if isinstance(schema.get("format"), str) and schema["format"] not in _FORMATS:
        yield _fault(place, "format", f"Structured outputs know no format {_short(schema['format'])}.")
    if any(isinstance(value, Mapping | list) for value in schema.get("enum", [])):
        yield _fault(place, "enum", "Structured outputs take only plain values in an enum.")


def _is_object(schema: Mapping[str, Json]) -> bool:
    kind = schema.get("type")
    return kind == "object" or (isinstance(kind, list) and "object" in kind)


def _fault(place: _Place, keyword: str, message: str) -> Fault:
    return Fault(path=(*place.path, keyword) if keyword else place.path, message=message)
