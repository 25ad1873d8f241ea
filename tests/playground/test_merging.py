"""Three-way merge: one-sided changes are taken, nothing is lost, and what both changed is a conflict."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from playground.merging import merge_specs, merge_text

BASE: dict[str, Any] = {
    "model": "m",
    "max_tokens": 5,
    "system": "one\ntwo\nthree\nfour\nfive\n",
    "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],
}


def side(**changes: Any) -> dict[str, Any]:
    return {name: value for name, value in {**BASE, **changes}.items() if value is not None}


def test_fields_that_one_side_changed_are_taken() -> None:
    merged = merge_specs(BASE, side(temperature=0.5), side(max_tokens=9, system=None))
    assert merged.conflicts == ()
    expected = {**BASE, "temperature": 0.5, "max_tokens": 9}
    del expected["system"]
    assert merged.spec == expected


def test_a_field_both_changed_is_a_conflict_and_holds_ours() -> None:
    merged = merge_specs(BASE, side(max_tokens=6), side(max_tokens=7))
    conflict = merged.conflicts[0]
    assert (conflict.place, conflict.base, conflict.ours, conflict.theirs) == ("max_tokens", 5, 6, 7)
    assert merged.spec["max_tokens"] == 6


def test_the_same_change_on_both_sides_is_no_conflict() -> None:
    assert merge_specs(BASE, side(max_tokens=6), side(max_tokens=6)).conflicts == ()


def test_different_lines_of_one_text_merge() -> None:
    merged = merge_specs(
        BASE, side(system="ONE\ntwo\nthree\nfour\nfive\n"), side(system="one\ntwo\nthree\nfour\nFIVE\n")
    )
    assert merged.conflicts == ()
    assert merged.spec["system"] == "ONE\ntwo\nthree\nfour\nFIVE\n"


def test_the_same_line_changed_twice_is_a_conflict_with_all_three() -> None:
    merged = merge_specs(
        BASE, side(system="one\nOURS\nthree\nfour\nfive\n"), side(system="one\nTHEIRS\nthree\nfour\nfive\n")
    )
    conflict = merged.conflicts[0]
    assert (conflict.place, conflict.kind) == ("system", "text")
    assert [(c.text, c.base, c.theirs) for c in conflict.chunks if c.is_conflict] == [("OURS\n", "two\n", "THEIRS\n")]


def test_messages_inserted_on_both_sides_are_all_kept() -> None:
    new = {"role": "user", "content": "ours"}
    other = {"role": "user", "content": "theirs"}
    merged = merge_specs(BASE, side(messages=[*BASE["messages"], new]), side(messages=[other, *BASE["messages"]]))
    assert merged.conflicts == ()
    assert [message["content"] for message in merged.spec["messages"]] == ["theirs", "a", "b", "ours"]


def test_a_message_removed_here_and_changed_there_is_a_conflict_and_is_kept() -> None:
    changed = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "changed"}]
    merged = merge_specs(BASE, side(messages=BASE["messages"][:1]), side(messages=changed))
    assert [(c.place, c.kind) for c in merged.conflicts] == [("messages.1", "message")]
    assert merged.spec["messages"] == changed


lines = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\r\n", "é\n"]), max_size=8).map("".join)


@given(lines, lines)
def test_a_side_that_changed_nothing_changes_nothing(base: str, changed: str) -> None:
    for ours, theirs in ((changed, base), (base, changed), (changed, changed)):
        chunks = merge_text(base, ours, theirs)
        assert not any(chunk.is_conflict for chunk in chunks)
        assert "".join(chunk.text for chunk in chunks) == changed


@given(lines, lines, lines)
def test_both_sides_see_the_same_conflicts(base: str, ours: str, theirs: str) -> None:
    here = [(chunk.text, chunk.theirs) for chunk in merge_text(base, ours, theirs) if chunk.is_conflict]
    there = [(chunk.theirs, chunk.text) for chunk in merge_text(base, theirs, ours) if chunk.is_conflict]
    assert here == there
