"""The snapshot tree's rule: budgets are never exceeded by a placement, hops never by a chain."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from playground.bodies import placement
from playground.bodies.placement import Base

lengths = st.integers(0, 70_000_000)


def base(depth: int, stored: int = 1000, used: int = 0, cost_us: float = 0) -> Base[str]:
    return Base(key=f"b{depth}", depth=depth, cost_us=cost_us, stored_length=stored, used=used)


@given(lengths)
def test_hops_shrink_as_texts_grow_and_stay_in_bounds(length: int) -> None:
    assert 4 <= placement.hop_cap(length) <= 32
    assert placement.hop_cap(length) >= placement.hop_cap(length + 1_000_000)


def test_hops_at_the_sizes_people_have() -> None:
    assert [placement.hop_cap(size) for size in (10_000, 1_000_000, 2**20, 4 * 2**20, 20_000_000)] == [32, 16, 16, 4, 4]


@given(st.lists(st.integers(0, 2000), max_size=40), lengths, st.integers(1, 3000))
def test_few_deltas_are_measured_and_none_too_deep(used: list[int], length: int, delta: int) -> None:
    path = [base(depth, used=used_there) for depth, used_there in enumerate(used)]
    measured: list[Base[str]] = []

    def measure(at: Base[str]) -> int:
        measured.append(at)
        return delta

    placed = placement.place(path, length, measure=measure)
    assert len(measured) <= placement.MOST_TRIES
    assert all(each.depth < placement.hop_cap(length) for each in measured)
    if placed:
        assert placed.base == measured[-1]
        assert placement.fits(placed.base, delta, whole_length=path[0].stored_length)


@given(st.lists(st.integers(0, 2000), min_size=1, max_size=placement.MOST_HOPS), st.integers(1, 3000))
def test_passing_over_full_bases_decides_as_trying_level_by_level_does(used: list[int], delta: int) -> None:
    path = [base(depth, used=used_there) for depth, used_there in enumerate(used)]
    fitting = [each for each in path if placement.fits(each, delta, whole_length=1000)]
    placed = placement.place(path, 1000, measure=lambda at: delta)
    assert (placed.base if placed else None) == (fitting[-1] if fitting else None)


def test_what_was_refused_further_down_is_a_base_where_it_ends_up() -> None:
    path = [base(0), base(1, stored=600, used=1790)]
    placed = placement.place(path, 1000, measure=lambda at: 100)
    assert placed is not None
    assert (placed.base.depth, placed.serves) == (0, True)


@given(st.integers(0, 10_000_000), st.integers(0, 10_000_000), st.integers(0, 10_000_000), st.integers(0, 10_000_000))
def test_what_fits_stays_inside_the_budget(stored: int, used: int, delta: int, whole: int) -> None:
    at = base(1, stored, used)
    if placement.fits(at, delta, whole_length=whole):
        assert used + delta <= 3 * max(stored, 512, whole // 512)


@given(
    st.lists(st.floats(0, 12_000), min_size=1, max_size=placement.MOST_HOPS).map(sorted),
    st.integers(0, placement.HOP_BYTES // placement.MOST_HOPS),
    st.integers(1, 3000),
)
def test_what_is_placed_is_read_within_the_limit(costs: list[float], length: int, delta: int) -> None:
    path = [base(depth, cost_us=cost) for depth, cost in enumerate(costs)]
    placed = placement.place(path, length, measure=lambda at: delta)
    in_time = [each for each in path if placement.is_quick(each, byte_length=length, delta_length=delta)]
    fitting = [each for each in in_time if placement.fits(each, delta, whole_length=1000)]
    assert (placed.base if placed else None) == (fitting[-1] if fitting else None)


def test_a_fetched_rewrite_costs_what_many_small_edits_do() -> None:
    small = placement.step_us(byte_length=1_000_000, stored_length=200)
    rewrite = placement.step_us(byte_length=1_000_000, stored_length=150_000)
    assert 5 < rewrite / small < 20


def test_a_rewrite_is_stored_whole() -> None:
    assert not placement.fits(base(0, 1000), 751, whole_length=1000)
    assert placement.fits(base(0, 1000), 750, whole_length=1000)


def test_a_small_edit_is_a_leaf_and_a_larger_one_a_base() -> None:
    assert not placement.is_base(delta_length=128, whole_length=1000, moved_up=False)
    assert placement.is_base(delta_length=129, whole_length=1000, moved_up=False)
    assert placement.is_base(delta_length=1, whole_length=1000, moved_up=True)
