"""Diffs: applying the steps gives the new text, nothing that changed is hidden, and no input takes for ever."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground import diffing
from playground.diffing import Line, compare, line_ops, with_spans

texts = st.text(alphabet="ab \n\r\té👍\u2028", max_size=60)


@given(texts, texts)
def test_the_steps_lead_from_one_text_to_the_other(before: str, after: str) -> None:
    old, new = before.split("\n"), after.split("\n")
    at = to = 0
    for op, count in line_ops(old, new) or []:
        if op == "=":
            assert old[at : at + count] == new[to : to + count]
        at += count if op != "+" else 0
        to += count if op != "-" else 0
    assert (at, to) == (len(old), len(new))


@given(texts, texts)
def test_the_hunks_hold_every_change_and_true_line_numbers(before: str, after: str) -> None:
    diff = compare(before, after)
    if diff.state != "changed" or diff.line_ends:
        return
    old, new = before.split("\n"), after.split("\n")
    changed = 0
    for hunk in diff.hunks:
        at, to = hunk.from_line - 1, hunk.to_line - 1
        for line in hunk.lines:
            source, position = (new, to) if line.op == "+" else (old, at)
            assert source[position] == line.text
            changed += line.op != "="
            at += line.op != "+"
            to += line.op != "-"
    assert changed == diff.added + diff.removed


@given(texts, texts)
def test_marks_cover_what_differs_between_two_lines(before: str, after: str) -> None:
    a, b = before.replace("\n", ""), after.replace("\n", "")
    old, new = diffing.mark_pair(Line(op="-", text=a), Line(op="+", text=b))

    def unmarked(line: Line) -> str:
        kept, position = "", 0
        for start, end in line.spans:
            kept, position = kept + line.text[position:start], end
        return kept + line.text[position:]

    assert unmarked(old) == unmarked(new)


def changes(before: str, after: str) -> list[tuple[str, str, tuple[tuple[int, int], ...]]]:
    return [
        (line.op, line.text, line.spans)
        for hunk in compare(before, after).hunks
        for line in with_spans(hunk).lines
        if line.op != "="
    ]


def test_one_letter_in_a_paragraph_marks_one_word() -> None:
    assert changes("I must cross the street", "I must cros the street") == [
        ("-", "I must cross the street", ((7, 12),)),
        ("+", "I must cros the street", ((7, 11),)),
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [("a b", "a  b"), ("a", "a "), ("\ta", " a"), ("a b", "a\u00a0b"), ("ab", "a\u200bb"), ("a\n\n", "a\n")],
)
def test_a_change_of_blanks_only_is_shown_and_said(before: str, after: str) -> None:
    diff = compare(before, after)
    assert diff.state == "changed"
    assert diff.hunks
    assert diff.whitespace_only == ("\u200b" not in after)


def test_an_emoji_at_the_end_is_never_cut() -> None:
    assert changes("hi 👩‍👩‍👧", "hi 👩‍👩‍👧!") == [
        ("-", "hi 👩‍👩‍👧", ()),
        ("+", "hi 👩‍👩‍👧!", ((8, 9),)),
    ]


def test_changed_line_ends_are_said_once() -> None:
    diff = compare("a\nb\nc\n", "a\r\nb\r\nc\r\n")
    assert (diff.state, diff.line_ends, diff.hunks) == ("line_ends", ("lf", "crlf"), ())
    mixed = compare("a\nb\nc\n", "a\r\nB\r\nc\r\n")
    assert (mixed.state, mixed.line_ends, mixed.added, mixed.removed) == ("changed", ("lf", "crlf"), 1, 1)


def test_a_lone_changed_line_end_among_others_is_shown() -> None:
    diff = compare("a\r\nb\nc\n", "a\nb\nc\r\n")
    assert diff.state == "changed"
    assert (diff.added, diff.removed) == (2, 2)


def test_a_form_feed_does_not_end_a_line() -> None:
    hunk = compare("a\x0cb\u2028c\u0085d", "a\x0cb\u2028c\u0085e").hunks[0]
    assert len(hunk.lines) == 2


def test_a_missing_last_line_feed_is_told() -> None:
    diff = compare("a\nb", "a\nb\n")
    assert diff.state == "changed"
    assert [(line.op, line.text, line.ends) for line in diff.hunks[0].lines if line.op != "="] == [("+", "", False)]


def test_far_changes_are_separate_hunks_and_near_ones_one() -> None:
    old = [str(i) for i in range(40)]
    near, far = old.copy(), old.copy()
    near[10] = near[15] = "x"
    far[5] = far[30] = "x"
    assert len(compare("\n".join(old), "\n".join(near)).hunks) == 1
    assert [(h.from_line, h.to_line, len(h.lines)) for h in compare("\n".join(old), "\n".join(far)).hunks] == [
        (3, 3, 8),
        (28, 28, 8),
    ]


def test_a_change_in_the_middle_of_one_long_line_is_shown_around_it() -> None:
    before = "x" * 3_000_000
    after = before[:1_000_000] + "CHANGED" + before[1_000_000:]
    started = time.process_time()
    hunk = with_spans(compare(before, after).hunks[0])
    removed, added = hunk.lines
    assert len(added.text) < 5000
    assert added.cut
    assert "CHANGED" in added.text
    assert added.column + added.spans[0][0] <= 1_000_000
    assert removed.column == added.column
    assert time.process_time() - started < 20


def test_two_large_texts_with_nothing_in_common_end_in_time() -> None:
    draw = random.Random(1)
    before, after = ("\n".join(str(draw.random()) for _ in range(100_000)) for _ in range(2))
    diff = compare(before, after)
    assert diff.state in ("changed", "too_large")


def test_texts_beyond_the_limit_are_said_to_be_too_large() -> None:
    assert compare("a" * diffing.MAX_CHARACTERS, "b").state == "too_large"


@pytest.mark.parametrize(("line", "count"), [("short", 30_000), ("x" * 4000, 8000)])
def test_a_large_text_that_is_gone_is_shown_in_part_and_said_to_be_cut(line: str, count: int) -> None:
    diff = diffing.compare(f"{line}\n" * count, "")
    sent = [each for hunk in diff.hunks for each in hunk.lines]
    assert (diff.state, diff.removed, diff.truncated) == ("changed", count, True)
    assert len(sent) <= diffing.MAX_LINES
    assert sum(len(each.text) for each in sent) <= diffing.MAX_SENT + len(line)
