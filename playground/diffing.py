"""What changed between two texts, as hunks of lines with the changed characters marked. Pure, and bounded in time.

Positions are code points. Lines end at LF only: a form feed or U+2028 inside a line stays inside it, as in the browser.
Line ends that changed everywhere (LF against CRLF) are said once and not shown as every line changed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import fast_diff_match_patch

CONTEXT_LINES = 3
#: Above this both texts together are not compared line by line at all.
MAX_CHARACTERS = 48_000_000
BUDGET_S = 2.0
#: Up to this many lines the shortest diff is found, whatever it costs; it costs little.
EXACT_LINES = 4000
#: A longer line is shown as the stretch that changed, with some characters around it.
LONG_LINE = 5000
AROUND_CHANGE = 120
MAX_SHOWN = 4000
MAX_HUNKS = 2000
#: A difference is sent up to this much, and then said to be cut.
MAX_LINES = 20_000
MAX_SENT = 4_000_000

Op = Literal["=", "-", "+"]
LineEnds = Literal["none", "lf", "crlf", "mixed"]
_WORDS = re.compile(r"\w+|\s|.", re.DOTALL)
_CRLF = re.compile(r"\r\n")


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of a hunk, without its LF. `spans`: what changed inside it, [start, end) in `text`.

    `column`: where `text` starts in the line; more than 0, or `cut`, for a long line of which only a stretch is shown.
    `ends`: whether an LF follows.
    """

    op: Op
    text: str
    spans: tuple[tuple[int, int], ...] = ()
    column: int = 0
    cut: bool = False
    ends: bool = True


@dataclass(frozen=True, kw_only=True)
class Hunk:
    """Neighbouring changes with their context. Line numbers start at 1."""

    from_line: int
    to_line: int
    lines: tuple[Line, ...]


@dataclass(frozen=True, kw_only=True)
class TextDiff:
    """`state`: equal, changed, line_ends (nothing else changed), too_large (not compared in the time there is)."""

    state: Literal["equal", "changed", "line_ends", "too_large"]
    hunks: tuple[Hunk, ...] = ()
    added: int = 0
    removed: int = 0
    line_ends: tuple[LineEnds, LineEnds] | None = field(default=None)
    whitespace_only: bool = False
    truncated: bool = False


def line_ends(text: str) -> LineEnds:
    crlf, lf = text.count("\r\n"), text.count("\n")
    if not lf:
        return "none"
    return "crlf" if crlf == lf else "mixed" if crlf else "lf"


def compare(before: str, after: str, *, clock: Callable[[], float] = time.monotonic) -> TextDiff:
    """The difference of two texts, in at most about twice BUDGET_S."""
    if before == after:
        return TextDiff(state="equal")
    if len(before) + len(after) > MAX_CHARACTERS:
        return TextDiff(state="too_large")
    ends = (line_ends(before), line_ends(after))
    changed_ends = ends if ends[0] != ends[1] and "none" not in ends else None
    if changed_ends:
        before, after = _CRLF.sub("\n", before), _CRLF.sub("\n", after)
        if before == after:
            return TextDiff(state="line_ends", line_ends=changed_ends)
    return _compare_lines(before, after, changed_ends, clock)


def _compare_lines(
    before: str, after: str, ends: tuple[LineEnds, LineEnds] | None, clock: Callable[[], float]
) -> TextDiff:
    started = clock()
    old, new = before.split("\n"), after.split("\n")
    ops = line_ops(old, new)
    if ops is None or clock() - started > 2 * BUDGET_S + 1:
        return TextDiff(state="too_large", line_ends=ends)
    hunks = list(_hunks(old, new, ops))
    kept = list(_fitting(hunks))
    return TextDiff(
        state="changed",
        hunks=tuple(kept),
        added=sum(count for op, count in ops if op == "+"),
        removed=sum(count for op, count in ops if op == "-"),
        line_ends=ends,
        whitespace_only="".join(before.split()) == "".join(after.split()),
        truncated=sum(len(hunk.lines) for hunk in kept) < sum(len(hunk.lines) for hunk in hunks),
    )


def _fitting(hunks: Sequence[Hunk]) -> Iterable[Hunk]:
    """The hunks that are sent, the last one perhaps cut."""
    lines, characters = MAX_LINES, MAX_SENT
    for hunk in hunks[:MAX_HUNKS]:
        count = 0
        for line in hunk.lines:
            if count >= lines or characters <= 0:
                break
            count += 1
            characters -= len(line.text)
        if count:
            yield replace(hunk, lines=hunk.lines[:count])
        lines -= count
        if count < len(hunk.lines):
            return


def line_ops(old: Sequence[str], new: Sequence[str]) -> list[tuple[Op, int]] | None:
    """The steps (op, number of lines) from `old` to `new`; None if they were not found in time.

    Each distinct line becomes one character, and the shortest edit script over characters is found (Myers 1986).
    """
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    left, right = old[start : len(old) - end], new[start : len(new) - end]
    middle = _coded_ops(left, right)
    if middle is None:
        return None
    ops: list[tuple[Op, int]] = [("=", start), *middle, ("=", end)]
    return [(op, count) for op, count in ops if count]


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    count = 0
    for left, right in zip(old, new, strict=False):
        if left != right:
            break
        count += 1
    return count


def _coded_ops(left: Sequence[str], right: Sequence[str]) -> list[tuple[Op, int]] | None:
    if not left or not right:
        return [("-", len(left)), ("+", len(right))]
    codes: dict[str, str] = {}
    a, b = _coded(left, codes), _coded(right, codes)
    if a is None or b is None:
        return None
    exact = len(left) + len(right) <= EXACT_LINES
    limit = 0 if exact else BUDGET_S
    started = time.monotonic(), time.process_time()
    ops = fast_diff_match_patch.diff(a, b, timelimit=limit, checklines=False, cleanup="No")
    # Out of time the library gives what it has: right, but how far from the shortest depends on the machine's load.
    # Its limit is of the process's CPU time, to which other threads add.
    spent_s = max(time.monotonic() - started[0], time.process_time() - started[1])
    return None if not exact and spent_s >= BUDGET_S else list(ops)


#: The code points that stand for lines: all but the surrogates, which the library cannot take.
_FIRST_CODES, _SURROGATES, _AFTER = 0xD800 - 1, 0x800, 0x10FFFF


def _coded(lines: Iterable[str], codes: dict[str, str]) -> str | None:
    out = []
    for line in lines:
        code = codes.get(line)
        if code is None:
            number = len(codes) + 1
            number += _SURROGATES if number > _FIRST_CODES else 0
            if number > _AFTER:
                return None
            code = codes[line] = chr(number)
        out.append(code)
    return "".join(out)


def _hunks(old: Sequence[str], new: Sequence[str], ops: Sequence[tuple[Op, int]]) -> Iterable[Hunk]:
    """Groups the changes, with CONTEXT_LINES around each; nearer ones share a hunk."""
    lines: list[Line] = []
    at, to = 0, 0
    begin = (0, 0)
    pending: list[Line] = []
    for (op, count), following in zip(ops, [*ops[1:], None], strict=True):
        if op == "=":
            keep = count if lines and following and count <= 2 * CONTEXT_LINES else CONTEXT_LINES
            if lines:
                lines += _plain(old, at, min(count, keep))
            if not lines or keep < count or not following:
                if lines:
                    yield Hunk(from_line=begin[0] + 1, to_line=begin[1] + 1, lines=tuple(lines))
                skipped = max(0, count - CONTEXT_LINES)
                lines = []
                pending = _plain(old, at + skipped, count - skipped)
                begin = (at + skipped, to + skipped)
            at, to = at + count, to + count
            continue
        lines, pending = [*lines, *pending], []
        removed = op == "-"
        source, position = (old, at) if removed else (new, to)
        lines += [Line(op=op, text=source[i], ends=i < len(source) - 1) for i in range(position, position + count)]
        at, to = at + (count if removed else 0), to + (0 if removed else count)
    if lines:
        yield Hunk(from_line=begin[0] + 1, to_line=begin[1] + 1, lines=tuple(lines))


def _plain(source: Sequence[str], start: int, count: int) -> list[Line]:
    return [shown(Line(op="=", text=source[i], ends=i < len(source) - 1)) for i in range(start, start + count)]


def shown(line: Line) -> Line:
    """The line as it is sent: a long one cut to its beginning."""
    if len(line.text) <= LONG_LINE:
        return line
    return Line(op=line.op, text=line.text[: 2 * AROUND_CHANGE], cut=True, ends=line.ends)


def with_spans(hunk: Hunk) -> Hunk:
    """The hunk with the changed characters of each removed line and the added line in its place marked."""
    out: list[Line] = []
    lines = list(hunk.lines)
    while lines:
        removed = _take(lines, "-")
        added = _take(lines, "+")
        if not removed and not added:
            out.append(lines.pop(0))
            continue
        pairs = min(len(removed), len(added))
        marked = [mark_pair(removed[i], added[i]) for i in range(pairs)]
        out += [old for old, _ in marked] + [shown(line) for line in removed[pairs:]]
        out += [new for _, new in marked] + [shown(line) for line in added[pairs:]]
    return Hunk(from_line=hunk.from_line, to_line=hunk.to_line, lines=tuple(out))


def _take(lines: list[Line], op: Op) -> list[Line]:
    taken = []
    while lines and lines[0].op == op:
        taken.append(lines.pop(0))
    return taken


def mark_pair(old: Line, new: Line) -> tuple[Line, Line]:
    """Both lines with the words that differ marked; long ones cut to the stretch around the change."""
    start = _common(old.text, new.text)
    end = _common(old.text[start:][::-1], new.text[start:][::-1])
    if max(len(old.text), len(new.text)) > LONG_LINE:
        return _stretch(old, start, end), _stretch(new, start, end)
    left, right = _WORDS.findall(old.text), _WORDS.findall(new.text)
    ops = _coded_ops(left, right) or []
    return _marked(old, left, ops, "-"), _marked(new, right, ops, "+")


def _marked(line: Line, words: Sequence[str], ops: Sequence[tuple[Op, int]], mine: Op) -> Line:
    spans: list[tuple[int, int]] = []
    word, position = 0, 0
    for op, count in ops:
        if op not in ("=", mine):
            continue
        length = sum(map(len, words[word : word + count]))
        if op == mine and length:
            spans.append((position, position + length))
        word, position = word + count, position + length
    return Line(op=line.op, text=line.text, spans=tuple(spans), ends=line.ends)


def _stretch(line: Line, start: int, end: int) -> Line:
    stop = len(line.text) - end
    left = max(0, start - AROUND_CHANGE)
    right = min(len(line.text), stop + AROUND_CHANGE, left + MAX_SHOWN)
    span = ((start - left, min(stop, right) - left),) if stop > start else ()
    return Line(
        op=line.op, text=line.text[left:right], spans=span, column=left, cut=right < len(line.text), ends=line.ends
    )
