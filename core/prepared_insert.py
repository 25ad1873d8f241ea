"""The INSERT of one row, written once a process and planned once a connection.

For the few rows that a person waits for: Django writes its own anew for each.
"""

from __future__ import annotations

import functools
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections, models

from core.prepared import prepared_cursor


def insert(row: models.Model) -> None:
    """Insert a new row, as `save(force_insert=True)` does, but for signals: there are none to be sent.

    Raises TypeError for a model whose key the database makes or that inherits a table, and for a value that is an
    expression; IntegrityError as `save` does.
    """
    sql, fields = _insert_into(type(row))
    connection = connections[DEFAULT_DB_ALIAS]
    values = [field.get_db_prep_save(field.pre_save(row, add=True), connection) for field in fields]
    if any(hasattr(value, "resolve_expression") for value in values):
        raise TypeError(f"a row of {row._meta.label} has an expression for a value")
    with prepared_cursor() as cursor:
        cursor.execute(sql, values)
    row._state.adding = False
    row._state.db = DEFAULT_DB_ALIAS


@functools.cache
def _insert_into(model: type[models.Model]) -> tuple[str, list[models.Field[Any, Any]]]:
    if model._meta.parents or isinstance(model._meta.pk, models.AutoField):
        raise TypeError(f"rows of {model._meta.label} are not inserted by one statement alone")
    quote = connections[DEFAULT_DB_ALIAS].ops.quote_name
    fields = list(model._meta.local_concrete_fields)
    columns = ", ".join(quote(str(field.column)) for field in fields)
    places = ", ".join(["%s"] * len(fields))
    return f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES ({places})", fields  # noqa: S608  # names
