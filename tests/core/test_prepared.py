"""Queries that are compiled once: the same rows as Django's own, for whatever values."""

from __future__ import annotations

import datetime as dt
import os
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import ApiKey, Scope, User
from core.prepared import Prepared, PreparedValues

pytestmark = pytest.mark.django_db


def key_of(person: User, name: str) -> ApiKey:
    return ApiKey.objects.create(
        account=person, name=name, digest=os.urandom(32), prefix="pk_12345", scopes=[Scope.API, Scope.INFERENCE]
    )


def by_digest() -> Prepared[ApiKey]:
    return Prepared(lambda digest: ApiKey.objects.usable().select_related("account").filter(digest=digest))


def test_each_call_finds_the_row_of_its_own_values(owner: User, friend: User) -> None:
    keys = [key_of(owner, "one"), key_of(friend, "two"), key_of(friend, "three")]
    query = by_digest()
    for key in [*keys, *reversed(keys)]:
        found = query.first(digest=key.digest)
        assert found is not None
        assert found == key
        expected = ApiKey.objects.get(pk=key.pk)
        fields = [field.attname for field in ApiKey._meta.concrete_fields]
        assert [getattr(found, name) for name in fields] == [getattr(expected, name) for name in fields]


def test_what_is_related_comes_with_it_in_one_query(owner: User) -> None:
    key = key_of(owner, "one")
    query = by_digest()
    query.first(digest=key.digest)
    with CaptureQueriesContext(
        connection,
    ) as asked:
        found = query.first(digest=key.digest)
        assert found is not None
        assert found.account.email == owner.email
    assert len(asked) == 1


def test_the_conditions_of_the_queryset_hold_at_each_call(owner: User) -> None:
    key = key_of(owner, "one")
    query = by_digest()
    assert query.first(digest=key.digest) == key
    ApiKey.objects.filter(pk=key.pk).update(revoked_at=timezone.now())
    assert query.first(digest=key.digest) is None


def test_nothing_is_found_for_a_value_that_no_row_has(owner: User) -> None:
    key_of(owner, "one")
    assert by_digest().first(digest=os.urandom(32)) is None


def test_a_null_relation_stays_null(owner: User) -> None:
    key = key_of(owner, "one")
    found = Prepared(lambda pk: ApiKey.objects.select_related("made_with").filter(pk=pk)).first(pk=key.pk)
    assert found is not None
    assert found.made_with is None


def test_the_order_of_the_queryset_says_which_is_first(owner: User) -> None:
    names = ["a", "c", "b"]
    for name in names:
        key_of(owner, name)
    last = Prepared(lambda account: ApiKey.objects.filter(account_id=account).order_by("-name"))
    for _ in range(2):
        found = last.first(account=owner.pk)
        assert found is not None
        assert found.name == "c"


@pytest.mark.parametrize("text", ["", "%s", "a'b", "ü🙂", "x" * 10_000])
def test_a_value_is_never_read_as_sql(owner: User, text: str) -> None:
    query = Prepared(lambda name: User.objects.filter(name=name))
    assert query.first(name="nobody") is None
    User.objects.filter(pk=owner.pk).update(name=text[:150])
    assert query.first(name=text[:150]) is not None


def test_one_value_may_stand_in_several_places(owner: User) -> None:
    key = key_of(owner, "one")
    twice: Callable[..., Any] = lambda pk: ApiKey.objects.filter(pk=pk).exclude(made_with_id=pk)  # noqa: E731
    assert Prepared(twice).first(pk=key.pk) == key
    assert Prepared(twice).first(pk=uuid.uuid4()) is None


def test_a_value_that_the_query_ignores_is_told(owner: User) -> None:
    with pytest.raises(TypeError, match="name"):
        Prepared(lambda pk, name: User.objects.filter(pk=pk)).first(pk=owner.pk, name="x")


def with_a_key(person_id: uuid.UUID, now: dt.datetime) -> QuerySet[User, tuple[Any, ...]]:
    made = ApiKey.objects.filter(account=OuterRef("pk"), created_at__lt=now)
    return User.objects.filter(pk=person_id).annotate(has_key=Exists(made)).values_list("email", "has_key", "id")


def test_values_are_those_of_the_queryset_each_time(owner: User, friend: User) -> None:
    key_of(owner, "one")
    query, soon = PreparedValues(with_a_key), timezone.now() + dt.timedelta(seconds=5)
    assert query.first(person_id=owner.pk, now=soon) == (owner.email, True, owner.pk)
    assert query.first(person_id=friend.pk, now=soon) == (friend.email, False, friend.pk)
    assert query.first(person_id=owner.pk, now=soon - dt.timedelta(days=1)) == (owner.email, False, owner.pk)
    assert query.first(person_id=uuid.uuid4(), now=soon) is None


def test_values_that_are_not_filtered_by_are_an_error(owner: User) -> None:
    query = PreparedValues(lambda pk, name: User.objects.filter(pk=pk).values_list("email"))
    with pytest.raises(TypeError, match="name"):
        query.first(pk=owner.pk, name="x")


def executions(text: str) -> dict[str, int]:
    """By its name, of each prepared statement of this connection that holds `text`. They outlive a test."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, statement, generic_plans + custom_plans FROM pg_prepared_statements")
        return {name: times for name, statement, times in cursor.fetchall() if text in statement}


def test_postgresql_plans_it_once_a_connection_and_nothing_of_djangos_own(owner: User) -> None:
    key = key_of(owner, "one")
    query = by_digest()
    query.first(digest=key.digest)
    before = executions("accounts_apikey")
    assert before
    for _ in range(3):
        query.first(digest=os.urandom(32))
        assert ApiKey.objects.filter(pk=key.pk).exists()
    after = executions("accounts_apikey")
    assert after.keys() == before.keys()
    assert sum(after.values()) == sum(before.values()) + 3
