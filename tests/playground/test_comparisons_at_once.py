"""The same call twice at the same moment: one comparison, and what failed is run again once."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import User
from inference_client.models import Run, RunStatus
from playground import services
from playground.models import Comparison, Prompt, VersionRun
from playground.services import SavedVersion
from playground.services.comparisons import Column

pytestmark = pytest.mark.django_db(transaction=True)
Save = Callable[..., SavedVersion]
CALLS = 4


def together(act: Callable[[], object]) -> list[object]:
    """What `act` returned or raised in threads that start at once."""
    barrier, out = threading.Barrier(CALLS), list[object]()

    def one() -> None:
        barrier.wait()
        try:
            out.append(act())
        except Exception as error:  # noqa: BLE001  # the test looks at it
            out.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=one) for _ in range(CALLS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return out


@pytest.fixture
def start(owner: User, prompt: Prompt, save: Save) -> Callable[[], Comparison]:
    version = save("Greet.").version
    columns = [Column(version=version, model=None, parameters={"temperature": value}) for value in (0, 1)]
    return lambda: services.start_comparison(
        account=owner, prompt=prompt, columns=columns, values={}, repetitions=3, idempotency_key="one wish"
    )


def test_one_wish_makes_one_comparison_however_often_it_arrives(start: Callable[[], Comparison]) -> None:
    made = together(start)
    assert len({getattr(each, "pk", each) for each in made}) == 1
    assert (Comparison.objects.count(), Run.objects.count(), VersionRun.objects.count()) == (1, 6, 6)


def test_what_failed_is_run_again_once_however_many_ask(start: Callable[[], Comparison]) -> None:
    comparison = start()
    broken = VersionRun.objects.filter(comparison=comparison, repetition=1).values("run_id")
    Run.objects.filter(pk__in=broken).update(status=RunStatus.FAILED, error_code="timeout", finished_at=timezone.now())
    counts = together(lambda: services.retry_comparison(comparison=comparison))
    assert sorted(map(str, counts)) == ["0"] * (CALLS - 1) + ["2"]
    attempts = VersionRun.objects.filter(comparison=comparison, attempt=2).values_list("column", "repetition")
    assert sorted(attempts) == [(0, 1), (1, 1)]
