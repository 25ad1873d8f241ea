"""Empties the tables that a test has written to, after each test that commits. A pytest plugin.

Django's flush truncates every table and makes content types and permissions anew: a third of a second on a quiet
machine for each of some four hundred tests. Most of them write to a handful of tables.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest

#: Written by `migrate`, and the same for all tests.
KEPT = {"django_migrations", "django_content_type", "auth_permission", "django_site"}


@functools.cache
def tables() -> tuple[str, ...]:
    from django.db import connection

    found = connection.introspection.django_table_names(only_existing=True, include_views=False)
    return tuple(sorted(set(found) - KEPT))


def empty_tables(test_case: object) -> None:
    from django.db import connection, transaction

    del test_case
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            " UNION ALL ".join(f"SELECT '{each}' WHERE EXISTS (SELECT FROM \"{each}\")" for each in tables())
        )
        written = [name for (name,) in cursor.fetchall()]
        # Neither foreign keys nor triggers have a say in it.
        cursor.execute("SET LOCAL session_replication_role = replica")
        for name in written:
            cursor.execute(f'DELETE FROM "{name}"')


@pytest.fixture(scope="session", autouse=True)
def empty_only_what_was_written() -> Iterator[None]:
    from django.test import TransactionTestCase

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", empty_tables)
        yield
