"""Places are shared out by person first, all are used, and nobody gets more than another who wants them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from batches.window import shares

RUNNING = st.lists(st.tuples(st.uuids(), st.sampled_from("abcd")), unique_by=lambda each: each[0], max_size=12)


@given(running=RUNNING, places=st.integers(0, 20))
def test_no_more_places_are_given_than_there_are_and_none_is_left_where_somebody_waits(
    running: list[tuple[object, str]], places: int
) -> None:
    given_out = shares(running, places)
    assert set(given_out) == {batch for batch, _ in running}
    assert sum(given_out.values()) == (places if running else 0)


@given(running=RUNNING, places=st.integers(0, 20))
def test_people_have_alike_however_many_batches_they_started(running: list[tuple[object, str]], places: int) -> None:
    given_out = shares(running, places)
    held: dict[str, int] = {}
    for batch, person in running:
        held[person] = held.get(person, 0) + given_out[batch]
    assert max(held.values(), default=0) - min(held.values(), default=0) <= 1
    for person in held:
        own = [given_out[batch] for batch, who in running if who == person]
        assert max(own) - min(own) <= 1


def test_the_oldest_batches_go_first_where_there_are_more_than_places() -> None:
    assert shares([("first", "a"), ("second", "a"), ("third", "b")], 2) == {"first": 1, "second": 0, "third": 1}
