from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from sharing import bound, checks


def test_thirty_seconds_are_five_and_twenty_and_five() -> None:
    assert bound.derive(30.0) == bound.Lifetimes(reuse=5, presigned=20, skew=5, recheck=10, jitter=2)


@given(st.floats(0, 30))
def test_the_arithmetic_of_every_bound_holds(bound_s: float) -> None:
    assert list(bound.problems(bound_s, bound.derive(bound_s))) == []


def test_a_bound_of_nothing_reuses_nothing_and_signs_nothing() -> None:
    assert bound.derive(0.0) == bound.Lifetimes(reuse=0, presigned=0, skew=0, recheck=0, jitter=0)


@pytest.mark.parametrize(
    ("name", "value"),
    [("PRESIGNED", 21.0), ("REUSE", 6.0), ("SKEW", 6.0), ("RECHECK", 24.0), ("JITTER", 16.0), ("RECHECK", -1.0)],
)
def test_a_part_that_breaks_the_promise_is_refused_at_start(settings: Settings, name: str, value: float) -> None:
    setattr(settings, f"SHARING_{name}_S", value)
    assert [problem.id for problem in checks.check_bound(app_configs=None)] == ["playground.E008"]
    with pytest.raises(ImproperlyConfigured):
        checks.refuse_wrong_bound()


@pytest.mark.parametrize("bound_s", [-1.0, 31.0])
def test_a_bound_is_never_more_than_promised(settings: Settings, bound_s: float) -> None:
    settings.SHARING_BOUND_S = bound_s
    assert checks.check_bound(app_configs=None)


def test_a_lower_bound_is_said_in_words(settings: Settings) -> None:
    assert bound.in_words() == "Open tabs stop within 30 seconds; what was already copied stays copied."
    settings.SHARING_BOUND_S = 0
    assert bound.in_words().startswith("Open tabs stop at once")
