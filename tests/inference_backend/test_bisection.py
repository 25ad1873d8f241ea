"""One bad input fails alone: the search for it, without any calls being made."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference_backend.scheduling.bisection import Bisection


def isolate(
    items: list[int], is_poison: set[int], *, accidents: frozenset[int] = frozenset()
) -> tuple[set[int], Bisection[int]]:
    """Plays the calls. `accidents` are numbers of calls that fail whatever is in them."""
    search, answered, blamed = Bisection(items), list[int](), list[int]()
    while (part := search.next_part()) is not None:
        if is_poison & set(part) or search.calls in accidents:
            if (item := search.failed()) is not None:
                blamed.append(item)
        else:
            answered += part
            search.passed()
    assert sorted(answered + blamed) == sorted(items), "each input is decided exactly once"
    return set(blamed), search


@st.composite
def batches(draw: st.DrawFn) -> tuple[list[int], set[int]]:
    size = draw(st.integers(1, 256))
    return list(range(size)), draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=size))


@given(batches())
def test_each_poison_is_blamed_and_nobody_else(batch: tuple[list[int], set[int]]) -> None:
    items, poison = batch
    blamed, _ = isolate(items, poison)
    assert blamed == poison


@given(batches())
def test_the_calls_are_bounded(batch: tuple[list[int], set[int]]) -> None:
    items, poison = batch
    _, search = isolate(items, poison)
    assert search.calls <= 2 * len(poison) * (math.ceil(math.log2(len(items))) + 1)


def test_one_poison_in_fifty_costs_at_most_twelve_calls() -> None:
    assert max(isolate(list(range(50)), {poison})[1].calls for poison in range(50)) <= 12


@given(batches(), st.frozensets(st.integers(1, 20)))
def test_an_accident_blames_nobody_who_was_not_tried_alone(
    batch: tuple[list[int], set[int]], accidents: frozenset[int]
) -> None:
    items, poison = batch
    blamed, _ = isolate(items, poison, accidents=accidents)
    assert poison <= blamed


def test_a_batch_of_one_is_tried_once_more_on_its_own() -> None:
    blamed, search = isolate([7], set())
    assert (blamed, search.calls) == (set(), 1)


def test_reports_and_questions_take_turns() -> None:
    search = Bisection([1, 2])
    with pytest.raises(RuntimeError):
        search.passed()
    search.next_part()
    with pytest.raises(RuntimeError):
        search.next_part()
