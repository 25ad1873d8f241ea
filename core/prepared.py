"""Queries whose SQL Django makes once a process, and whose plan PostgreSQL makes once a connection.

Building, compiling and planning one costs more than the answer to it.

For the few that nearly every request asks. What may be seen stays where it is written: in the QuerySet.
"""

from __future__ import annotations

import datetime as dt
import secrets
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.backends.postgresql.base import ServerBindingCursor
from django.db.models.query import get_related_populators

Row = TypeVar("Row", bound=models.Model)

#: Values that no query has by itself, so that the place of each is found in the compiled parameters.
_STAND_INS: dict[type, Callable[[], Any]] = {
    uuid.UUID: uuid.uuid4,
    str: lambda: secrets.token_hex(16),
    int: lambda: 2**30 + secrets.randbelow(2**29),
    bytes: lambda: secrets.token_bytes(32),
    dt.datetime: lambda: dt.datetime.now(dt.UTC) - dt.timedelta(microseconds=secrets.randbelow(10**15)),
}


@dataclass(frozen=True, kw_only=True)
class _Query:
    """`parameters`: each a constant, or the name of the value that takes its place."""

    compiler: Any
    sql: str
    parameters: list[tuple[str | None, Any]]

    @classmethod
    def compiled(cls, build: Callable[..., models.QuerySet[Any, Any]], values: dict[str, Any]) -> _Query:
        """Raises TypeError for a value that the QuerySet does not filter by."""
        stand_ins = {name: _STAND_INS[type(value)]() for name, value in values.items()}
        compiler = build(**stand_ins)[:1].query.get_compiler(DEFAULT_DB_ALIAS)
        sql, found = compiler.as_sql()
        names = {value: name for name, value in stand_ins.items()}
        parameters = [(names.get(_plain(value)), value) for value in found]
        missing = stand_ins.keys() - {name for name, _ in parameters}
        if missing:
            raise TypeError(f"the query does not filter by {', '.join(sorted(missing))}")
        return cls(compiler=compiler, sql=sql, parameters=parameters)

    def first(self, values: dict[str, Any]) -> tuple[Any, ...] | None:
        with prepared_cursor() as cursor:
            cursor.execute(self.sql, [value if name is None else values[name] for name, value in self.parameters])
            row: tuple[Any, ...] | None = cursor.fetchone()
        return row


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """What Django's own ModelIterable takes from a compiler to make rows."""

    query: _Query
    converters: dict[int, Any]
    names: list[str]
    columns: slice
    related: list[Any]

    def made(self, row: tuple[Any, ...]) -> Any:
        if self.converters:
            row = next(iter(self.query.compiler.apply_converters([row], self.converters)))
        made = self.query.compiler.klass_info["model"].from_db(DEFAULT_DB_ALIAS, self.names, row[self.columns])
        for related in self.related:
            related.populate(row, made)
        return made


class Prepared(Generic[Row]):
    """A QuerySet of whole rows, with `select_related` at most, as a function of the values it filters by.

    `build` is called once, with stand-ins of the same types as the first call's values. It must not look at them, and
    none may be None: another value must not make another query.
    """

    def __init__(self, build: Callable[..., models.QuerySet[Row]]) -> None:
        self._build = build
        self._rows: _Rows | None = None

    def first(self, **values: Any) -> Row | None:
        """The first row in the QuerySet's own order (none, if it has none), or None."""
        rows = self._rows or self._compile(values)
        row = rows.query.first(values)
        return None if row is None else cast("Row", rows.made(row))

    def _compile(self, values: dict[str, Any]) -> _Rows:
        query = _Query.compiled(self._build, values)
        compiler = query.compiler
        chosen, own = compiler.select[: compiler.col_count], compiler.klass_info["select_fields"]
        columns = slice(own[0], own[-1] + 1)
        self._rows = _Rows(
            query=query,
            converters=compiler.get_converters([each[0] for each in chosen]),
            names=[each[0].target.attname for each in compiler.select[columns]],
            columns=columns,
            # The stubs are of a later Django.
            related=get_related_populators(compiler.klass_info, compiler.select, DEFAULT_DB_ALIAS),  # type: ignore[call-arg]
        )
        return self._rows


class PreparedValues:
    """The same for a QuerySet of `values_list`."""

    def __init__(self, build: Callable[..., models.QuerySet[Any, tuple[Any, ...]]]) -> None:
        self._build = build
        self._compiled: tuple[_Query, dict[int, Any]] | None = None

    def first(self, **values: Any) -> tuple[Any, ...] | None:
        """The first row in the QuerySet's own order (none, if it has none), or None."""
        query, converters = self._compiled or self._compile(values)
        row = query.first(values)
        return tuple(next(iter(query.compiler.apply_converters([row], converters)))) if row and converters else row

    def _compile(self, values: dict[str, Any]) -> tuple[_Query, dict[int, Any]]:
        query = _Query.compiled(self._build, values)
        self._compiled = query, query.compiler.get_converters([each[0] for each in query.compiler.select])
        return self._compiled


class _Preparing(ServerBindingCursor):
    """Django's own cursors put the values into the text of the query, so that each is a new one to PostgreSQL."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
        return super().execute(query, params, **{**options, "prepare": True})  # type: ignore[misc]  # a cursor of psycopg


def prepared_cursor() -> Any:
    """Like `connection.cursor()`; what it executes is planned once a connection. For few, short, constant queries.

    The types of the values must be clear from their places or from casts.
    """
    connection: Any = connections[DEFAULT_DB_ALIAS]
    connection.ensure_connection()
    return connection._prepare_cursor(_Preparing(connection.connection))  # type: ignore[call-arg]


def _plain(value: Any) -> Any:
    """The value of a parameter, out of the wrapper that says its type to the driver."""
    inner = getattr(value, "obj", value)
    return bytes(inner) if isinstance(inner, bytearray | memoryview) else inner
