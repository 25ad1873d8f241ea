"""Rows that are inserted by a prepared statement: the same as Django's own."""

from __future__ import annotations

import datetime as dt
import json
import os
from decimal import Decimal

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models.functions import Now
from django.utils import timezone

from accounts.models import User
from core.idempotency import IdempotencyKey
from core.ids import new_id
from core.prepared_insert import insert
from inference_client.models import Run

pytestmark = pytest.mark.django_db


def run_of(person: User, **fields: object) -> Run:
    given = {"model": "m", "api_version": "2023-06-01", "request": "{}", "request_sha256": os.urandom(32)} | fields
    return Run(account=person, **given)


def as_stored(run: Run) -> dict[str, object]:
    found = Run.objects.get(pk=run.pk)
    return {name: getattr(found, name) for name in (field.attname for field in Run._meta.concrete_fields)}


def test_a_row_is_stored_as_django_stores_it(owner: User) -> None:
    fields = {
        "request": json.dumps({"text": "ünï 💡 %s %(id)s"}, ensure_ascii=False),
        "group_id": new_id(),
        "cost_usd": Decimal("0.00001234"),
        "input_tokens": 40_000,
        "queued_at": timezone.now() - dt.timedelta(days=3),
        "next_try_at": timezone.now(),
        "resend_at": timezone.now(),
        "request_sha256": os.urandom(32),
    }
    one, other = run_of(owner, **fields), run_of(owner, **fields)
    insert(one)
    other.save(force_insert=True)
    assert as_stored(one) | {"id": None} == as_stored(other) | {"id": None}
    assert one._state.adding is False
    one.model = "n"
    one.save()
    assert as_stored(one)["model"] == "n"


def test_absent_values_and_present_ones_go_through_the_same_call(owner: User) -> None:
    for fields in ({}, {"input_tokens": 1}, {"input_tokens": 2**31 - 1}, {"group_id": new_id()}, {}):
        run = run_of(owner, **fields)
        insert(run)
        assert as_stored(run) == {name: getattr(run, name) for name in as_stored(run)}


def test_what_the_database_refuses_is_an_integrity_error(owner: User) -> None:
    run = run_of(owner)
    insert(run)
    with pytest.raises(IntegrityError), transaction.atomic():
        insert(run_of(owner, id=run.pk))
    with pytest.raises(IntegrityError), transaction.atomic():
        insert(run_of(owner, status="odd"))


def executions() -> dict[str, int]:
    """By the name of each prepared INSERT of this connection, which outlives a test."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name, generic_plans + custom_plans FROM pg_prepared_statements WHERE statement LIKE 'INSERT INTO%'"
        )
        return dict(cursor.fetchall())


def test_it_is_one_statement_for_all_rows(owner: User) -> None:
    insert(run_of(owner))
    before = executions()
    for _ in range(3):
        insert(run_of(owner))
    after = executions()
    assert after.keys() == before.keys()
    assert sum(after.values()) == sum(before.values()) + 3


def test_a_key_that_the_database_makes_and_an_expression_are_refused(owner: User) -> None:
    with pytest.raises(TypeError, match="one statement"):
        insert(IdempotencyKey(account_id=owner.pk))
    with pytest.raises(TypeError, match="expression"):
        insert(run_of(owner, queued_at=Now()))
