"""The OpenAPI schema turned into what a page shows: sections of calls with fields, answers and a cURL example.

Pure: a schema in, dataclasses out. What it does not know in a schema it leaves out; it never fails on one.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

Schema = Mapping[str, Any]

METHODS = ("get", "post", "put", "patch", "delete")
MAX_DEPTH = 4


@dataclass(frozen=True, kw_only=True)
class Words:
    """A piece of a sentence: text, or what stood between backticks."""

    text: str
    code: bool


def words(sentence: str) -> tuple[Words, ...]:
    """`sentence` cut at its backticks, so that a page can set the names in it as code."""
    return tuple(Words(text=piece, code=number % 2 == 1) for number, piece in enumerate(sentence.split("`")) if piece)


@dataclass(frozen=True, kw_only=True)
class Field:
    """A parameter, or a part of a body: `messages[].role`."""

    name: str
    type: str
    required: bool
    description: tuple[Words, ...]


@dataclass(frozen=True, kw_only=True)
class Answer:
    status: str
    meaning: str
    media_type: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, kw_only=True)
class Call:
    anchor: str
    method: str
    path: str
    summary: str
    description: tuple[Words, ...]
    public: bool
    parameters: tuple[Field, ...]
    body: tuple[Field, ...]
    answers: tuple[Answer, ...]
    curl: str


@dataclass(frozen=True, kw_only=True)
class Section:
    name: str
    calls: tuple[Call, ...]


def read_sections(schema: Schema, *, public_url: str) -> tuple[Section, ...]:
    """The calls of `schema`, by their first tag, in the schema's order."""
    reader = _Reader(schema, public_url)
    sections: dict[str, list[Call]] = {}
    for path, item in schema.get("paths", {}).items():
        for method in METHODS:
            if method in item:
                tag = (item[method].get("tags") or ["other"])[0]
                sections.setdefault(tag, []).append(reader.call(method, path, item[method]))
    return tuple(Section(name=name, calls=tuple(calls)) for name, calls in sections.items())


class _Reader:
    def __init__(self, schema: Schema, public_url: str) -> None:
        self._components: Schema = schema.get("components", {}).get("schemas", {})
        self._public_url = public_url

    def call(self, method: str, path: str, operation: Schema) -> Call:
        body = self._body(operation.get("requestBody"))
        return Call(
            anchor=operation.get("operationId", f"{method}{path}").replace("/", "-"),
            method=method.upper(),
            path=path,
            summary=operation.get("summary") or operation.get("operationId", "").replace("_", " ").capitalize(),
            description=words(operation.get("description", "")),
            public={} in operation.get("security", []),
            parameters=tuple(self._parameters(operation)),
            body=tuple(self._fields(body)),
            answers=tuple(self._answers(operation)),
            curl=self._curl(method, path, body),
        )

    def _parameters(self, operation: Schema) -> Iterator[Field]:
        for parameter in operation.get("parameters", []):
            where = {"path": "in the path", "query": "query", "header": "header"}.get(parameter["in"], "")
            yield Field(
                name=parameter["name"],
                type=f"{self._type(parameter.get('schema', {}))}, {where}",
                required=parameter.get("required", False),
                description=words(parameter.get("description", "")),
            )

    def _answers(self, operation: Schema) -> Iterator[Answer]:
        for status, answer in operation.get("responses", {}).items():
            contents: list[tuple[str, Schema]] = list(answer.get("content", {}).items())
            media_type, content = contents[0] if contents else ("", {})
            yield Answer(
                status=status,
                meaning=answer.get("description") or _meaning(status),
                media_type=media_type,
                fields=tuple(self._fields(content.get("schema", {}))),
            )

    @staticmethod
    def _body(request_body: Schema | None) -> Schema:
        content: Schema = request_body.get("content", {}) if request_body else {}
        others: list[Schema] = list(content.values())
        media: Schema = content.get("application/json") or (others[0] if others else {})
        schema: Schema = media.get("schema", {})
        return schema

    def _fields(self, schema: Schema, prefix: str = "", depth: int = 0) -> Iterator[Field]:
        """The named parts of an object or of the items of a list, nested ones under their dotted path."""
        schema = self._resolve(schema)
        if depth > MAX_DEPTH:
            return
        if "items" in schema:
            yield from self._fields(schema["items"], f"{prefix}[]", depth + 1)
        required = schema.get("required", [])
        for name, part in schema.get("properties", {}).items():
            path = f"{prefix}.{name}".lstrip(".")
            resolved = self._resolve(part)
            yield Field(
                name=path,
                type=self._type(part),
                required=name in required,
                description=words(resolved.get("description", "")),
            )
            yield from self._fields(resolved, path, depth + 1)

    def _resolve(self, schema: Schema) -> Schema:
        """`schema` with its reference followed and its `allOf` parts merged; nearer descriptions win."""
        if "$ref" in schema:
            target = self._components.get(schema["$ref"].rpartition("/")[2], {})
            return {**self._resolve(target), **{key: value for key, value in schema.items() if key != "$ref"}}
        if "allOf" in schema:
            merged: dict[str, Any] = {}
            for part in schema["allOf"]:
                merged |= self._resolve(part)
            return {**merged, **{key: value for key, value in schema.items() if key != "allOf"}}
        return schema

    def _type(self, schema: Schema) -> str:
        schema = self._resolve(schema)
        for choice in ("oneOf", "anyOf"):
            if choice in schema:
                return " or ".join(dict.fromkeys(self._type(part) for part in schema[choice]))
        if "enum" in schema:
            return " | ".join(json.dumps(value) for value in schema["enum"])
        if "items" in schema:
            return f"list of {self._type(schema['items'])}"
        kind = schema.get("type", "any")
        return " or ".join(kind) if isinstance(kind, list) else schema.get("format") or kind

    def _curl(self, method: str, path: str, body: Schema) -> str:
        address = self._public_url + path.replace("{", "").replace("}", "")
        lines = [f"curl {shlex.quote(address)}"]
        if method != "get":
            lines[0] = f"curl -X {method.upper()} {shlex.quote(address)}"
        lines.append('-H "Authorization: Bearer $PLAYGROUND_API_KEY"')
        if body:
            lines.append("-H 'Content-Type: application/json'")
            lines.append(f"-d {shlex.quote(json.dumps(self._example(body), ensure_ascii=False))}")
        return " \\\n  ".join(lines)

    def _example(self, schema: Schema, depth: int = 0) -> Any:
        """A value of this shape: the schema's own example, else the required parts filled with their plainest value."""
        schema = self._resolve(schema)
        for key in ("example", "default", "const"):
            if key in schema:
                return schema[key]
        for key in ("examples", "enum", "oneOf", "anyOf"):
            if schema.get(key):
                first = schema[key][0]
                return self._example(first, depth + 1) if key in ("oneOf", "anyOf") else first
        if "properties" in schema and depth <= MAX_DEPTH:
            required = schema.get("required") or list(schema["properties"])[:1]
            return {name: self._example(schema["properties"].get(name, {}), depth + 1) for name in required}
        if "items" in schema:
            return [self._example(schema["items"], depth + 1)]
        kind = schema.get("type")
        kind = kind[0] if isinstance(kind, list) else kind
        return {"integer": 1, "number": 1.0, "boolean": True, "object": {}, "array": []}.get(str(kind), "...")


def _meaning(status: str) -> str:
    return HTTPStatus(int(status)).phrase if status.isdigit() and int(status) in set(HTTPStatus) else ""
