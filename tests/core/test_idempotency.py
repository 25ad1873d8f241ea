from __future__ import annotations

import threading
import uuid
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from core import idempotency
from core.errors import IdempotencyKeyReused, InvalidInput
from core.idempotency import IdempotencyKey, fingerprint
from core.ids import new_id

ACCOUNT = uuid.UUID(int=1)


def create(
    key: str | None, request: bytes = b"r" * 32, account: uuid.UUID = ACCOUNT, scope: str = "thing"
) -> tuple[str, uuid.UUID]:
    def make() -> tuple[tuple[str, uuid.UUID], uuid.UUID]:
        object_id = new_id()
        return ("made", object_id), object_id

    return idempotency.once(
        account_id=account, scope=scope, key=key, request=request, make=make, find=lambda known: ("found", known)
    )


@pytest.mark.django_db
def test_the_same_key_finds_what_it_made() -> None:
    _, first = create("k")

    assert create("k") == ("found", first)
    assert create("k") == ("found", first)


@pytest.mark.django_db
def test_what_was_deleted_since_is_not_made_again() -> None:
    def find(known: uuid.UUID) -> tuple[str, uuid.UUID]:
        raise IdempotencyKey.DoesNotExist(known)

    create("k")
    with pytest.raises(idempotency.MadeAndDeleted):
        idempotency.once(
            account_id=ACCOUNT,
            scope="thing",
            key="k",
            request=b"r" * 32,
            make=lambda: (create(None), new_id()),
            find=find,
        )


@pytest.mark.django_db
def test_without_a_key_every_call_makes() -> None:
    assert create(None)[0] == create(None)[0] == "made"


@pytest.mark.django_db
def test_a_key_of_another_account_or_scope_is_another_key() -> None:
    create("k")

    assert create("k", account=uuid.UUID(int=2))[0] == "made"
    assert create("k", scope="other")[0] == "made"


@pytest.mark.django_db
def test_a_key_stands_for_one_request() -> None:
    create("k")

    with pytest.raises(IdempotencyKeyReused):
        create("k", request=b"x" * 32)


@pytest.mark.django_db
@pytest.mark.parametrize("key", ["", "k" * 256, "a\x00b", "a\nb"])
def test_a_bad_key_is_refused(key: str) -> None:
    with pytest.raises(InvalidInput) as error:
        create(key)

    assert error.value.field == "Idempotency-Key"


@pytest.mark.django_db
def test_a_call_that_fails_leaves_the_key_free() -> None:
    def make() -> tuple[str, uuid.UUID]:
        raise InvalidInput

    with pytest.raises(InvalidInput):
        idempotency.once(account_id=ACCOUNT, scope="thing", key="k", request=b"r", make=make, find=str)

    assert create("k")[0] == "made"


@pytest.mark.django_db(transaction=True)
def test_of_calls_at_the_same_time_one_makes_and_all_agree() -> None:
    barrier = threading.Barrier(6)
    answers: list[tuple[str, uuid.UUID]] = []

    def call() -> None:
        barrier.wait()
        try:
            answers.append(create("k"))
        finally:
            connection.close()

    threads = [threading.Thread(target=call) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({object_id for _, object_id in answers}) == 1
    assert sorted(word for word, _ in answers) == ["found"] * 5 + ["made"]


@pytest.mark.django_db
def test_old_keys_are_forgotten_and_young_ones_kept() -> None:
    create("old")
    IdempotencyKey.objects.update(created_at=timezone.now() - idempotency.REMEMBERED_FOR - timedelta(seconds=1))
    _, young = create("young")

    assert idempotency.forget_old() == 1
    assert create("young") == ("found", young)


def test_fingerprints_tell_requests_apart_and_ignore_the_order_of_names() -> None:
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    assert fingerprint("ab", "c") != fingerprint("a", "bc")
    assert fingerprint("1") != fingerprint(1)
