"""The snapshot tree's rule: budgets are never exceeded by a placement, hops never by a chain."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from playground.bodies import placement
from playground.bodies.placement import Base

lengths = st.integers(0, 70_000_000)


def base(depth: int, stored: int = 1000, used: int = 0) -> Base[str]:
    return Base(key=f"b{depth}", depth=depth, stored_length=stored, used=used)


@given(lengths)
def test_hops_shrink_as_texts_grow_and_stay_in_bounds(length: int) -> None:
    assert 4 <= placement.hop_cap(length) <= 32
    assert placement.hop_cap(length) >= placement.hop_cap(length + 1_000_000)


def test_hops_at_the_sizes_people_have() -> None:
    assert [placement.hop_cap(size) for size in (10_000, 1_000_000, 2**20, 4 * 2**20, 20_000_000)] == [32, 32, 32, 8, 4]


@given(st.integers(0, 40), lengths)
def test_at_most_three_bases_are_tried_and_none_too_deep(count: int, length: int) -> None:
    path = [base(depth) for depth in range(count)]
    tried = placement.tries(path, length)
    assert len(tried) <= 3
    assert len(set(tried)) == len(tried)
    assert all(each.depth < placement.hop_cap(length) for each in tried)
    if path:
        assert tried[-1].depth == 0 or len(tried) == 1


@given(st.integers(0, 10_000_000), st.integers(0, 10_000_000), st.integers(0, 10_000_000), st.integers(0, 10_000_000))
def test_what_fits_stays_inside_the_budget(stored: int, used: int, delta: int, whole: int) -> None:
    at = base(1, stored, used)
    if placement.fits(at, delta, whole_length=whole):
        assert used + delta <= 3 * max(stored, 512, whole // 512)


def test_a_rewrite_is_stored_whole() -> None:
    assert not placement.fits(base(0, 1000), 751, whole_length=1000)
    assert placement.fits(base(0, 1000), 750, whole_length=1000)


def test_a_small_edit_is_a_leaf_and_a_larger_one_a_base() -> None:
    assert not placement.is_base(delta_length=128, whole_length=1000, moved_up=False)
    assert placement.is_base(delta_length=129, whole_length=1000, moved_up=False)
    assert placement.is_base(delta_length=1, whole_length=1000, moved_up=True)
