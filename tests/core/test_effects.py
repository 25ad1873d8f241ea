from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction

from core.effects import after_commit, enqueue

pytestmark = pytest.mark.django_db(transaction=True)


class FakeTask:
    """Stands for a Celery task; what Celery does with it is not this module's affair."""

    def __init__(self, error: Exception | None = None) -> None:
        self.sent: list[tuple[Any, dict[str, Any]]] = []
        self.error = error

    def apply_async(self, args: Any = (), kwargs: Any = None, **options: Any) -> None:
        if self.error:
            raise self.error
        self.sent.append((args, options))


def test_a_task_leaves_after_the_commit() -> None:
    task = FakeTask()
    with transaction.atomic():
        enqueue(task, 1, "two", queue="bodies")
        assert task.sent == []

    assert task.sent == [((1, "two"), {"queue": "bodies"})]


def test_a_rolled_back_change_has_no_effect() -> None:
    task = FakeTask()
    with transaction.atomic():
        enqueue(task)
        transaction.set_rollback(True)

    assert task.sent == []


@pytest.mark.parametrize("in_transaction", [True, False])
def test_a_broker_that_is_down_undoes_nothing_and_is_logged(
    caplog: pytest.LogCaptureFixture, in_transaction: bool
) -> None:
    task = FakeTask(ConnectionError("broker down"))
    if in_transaction:
        with transaction.atomic():
            enqueue(task, "private text")
    else:
        enqueue(task, "private text")

    assert "broker down" in caplog.text
    assert "private text" not in caplog.text


def test_any_callable_can_follow_a_commit() -> None:
    seen: list[int] = []
    with transaction.atomic():
        after_commit(seen.append, 1)
        assert seen == []

    assert seen == [1]
