"""Where a passage of one text is in another: carried, only suggested, or outdated. Pure, on UTF-8 bytes.

A passage is *carried* where its exact words stand and nothing speaks for another place; words that are merely similar
are *suggested* and wait for a person; else it is *outdated*. Nothing guessed is ever shown as fact: text is full of
sentences that look alike, and a comment that silently moved to another one says something its author never said.

Every step is a handful of searches over the text, whose results are capped: time grows with the length of both texts
and with nothing else, and memory not at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from review.likeness import most_alike
from review.neighbours import MOST_PLACES, Site, is_doubtful, is_vouched_for
from review.passages import Passage, code_points_in, cuts_a_letter, occurrences, points_back, points_forth

State = Literal["carried", "suggested", "outdated"]
#: How it was found: `same_text` the text did not change; `in_place` nothing before (or behind) it did; `context` its
#: words between the same neighbours; `beside` its words, there once then and now, next to one of them; `unique` its
#: words among new neighbours. `similar` and `elsewhere` (its words, at a place that nothing vouches for) are guesses.
Method = Literal["same_text", "in_place", "context", "beside", "unique", "similar", "elsewhere", "none"]

#: Code points kept on either side of a passage.
CONTEXT = 32
#: Words that stand alone (other neighbours) must be this long, with what is left of their neighbours, in code points.
ENOUGH = 32
#: A neighbour that is shorter says nothing.
LEAST_CONTEXT = 8
#: In bytes: so much on either side tells a place apart without more ado.
WIDE = 16 * 1024
_STEP = 64 * 1024


@dataclass(frozen=True, kw_only=True)
class Quote:
    """A passage with up to CONTEXT code points on either side; fewer where the text begins or ends."""

    exact: bytes
    prefix: bytes
    suffix: bytes
    starts_text: bool
    ends_text: bool

    @property
    def whole(self) -> bytes:
        return self.prefix + self.exact + self.suffix


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """`passage` is None when outdated. `confidence`: 1 for what is carried, else how alike the words are, 0 to 1."""

    state: State
    passage: Passage | None
    method: Method
    confidence: float


OUTDATED = Outcome(state="outdated", passage=None, method="none", confidence=0.0)


def quote_at(text: bytes, passage: Passage) -> Quote:
    first = points_back(text, passage.start, CONTEXT)
    last = points_forth(text, passage.end, CONTEXT)
    return Quote(
        exact=text[passage.start : passage.end],
        prefix=text[first : passage.start],
        suffix=text[passage.end : last],
        starts_text=first == 0,
        ends_text=last == len(text),
    )


@dataclass(frozen=True)
class Change:
    """Two texts, and what both begin and end with: worked out once for all passages of the older one."""

    old: bytes
    new: bytes

    @cached_property
    def head(self) -> int:
        """Bytes that both begin with."""
        return _common(self.old, self.new)

    @cached_property
    def tail(self) -> int:
        """Bytes that both end with, not counting the head twice."""
        most = min(len(self.old), len(self.new)) - self.head
        return _common_end(self.old, self.new, most)

    def carry(self, passage: Passage) -> Outcome:
        """Where `passage` of the older text is in the newer one."""
        if self.old == self.new:
            return _carried(passage, "same_text")
        if placed := self._in_place(passage) or self._in_wide_context(passage):
            return _carried(placed, "in_place")
        quote = quote_at(self.old, passage)
        found = self._by_context(quote)
        if found is not None and self._is_believed(passage, quote, found):
            return _carried(found, "context")
        found = self._by_its_words(quote)
        if found is not None and self._is_believed(passage, quote, found):
            return _carried(found, "beside" if any(_kept_sides(self.new, found, quote)) else "unique")
        return self.suggest(quote, passage)

    def suggest(self, quote: Quote, passage: Passage) -> Outcome:
        """The likeliest place, for a person to confirm; outdated if there is none."""
        exact = occurrences(self.new, quote.exact, most=MOST_PLACES)
        if exact:
            best = max(exact, key=lambda each: _kept_context(self.new, each, quote))
            return Outcome(state="suggested", passage=best, method="elsewhere", confidence=0.99)
        found = most_alike(self.new, quote.exact, quote.prefix, quote.suffix, near=passage.start)
        if found is None:
            return OUTDATED
        return Outcome(state="suggested", passage=found.passage, method="similar", confidence=found.likeness)

    def _in_place(self, passage: Passage) -> Passage | None:
        """If all before it, and CONTEXT behind it, is unchanged; or the other way round.

        Without the CONTEXT, a sentence that begins like the deleted one before it would be taken for that one.
        """
        behind = points_forth(self.old, passage.end, CONTEXT)
        if behind <= self.head and code_points_in(self.old[passage.end : behind]) == CONTEXT:
            return passage
        before = points_back(self.old, passage.start, CONTEXT)
        kept = before >= len(self.old) - self.tail
        if kept and code_points_in(self.old[before : passage.start]) == CONTEXT:
            moved = len(self.new) - len(self.old)
            return Passage(start=passage.start + moved, end=passage.end + moved)
        return None

    def _in_wide_context(self, passage: Passage) -> Passage | None:
        """In long texts: if WIDE bytes on either side are unchanged, and all that is there once then and now.

        Two searches for something long are quick, and spare a dozen for something short.
        """
        first, last = passage.start - WIDE, passage.end + WIDE
        if first < 0 or last > len(self.old):
            return None
        whole = self.old[first:last]
        at = self.new.find(whole)
        if at < 0 or self.new.find(whole, at + 1) >= 0 or self.old.find(whole) != first:
            return None
        if self.old.find(whole, first + 1) >= 0:
            return None
        return Passage(start=at + WIDE, end=at + WIDE + passage.length)

    def _by_context(self, quote: Quote) -> Passage | None:
        """The words between the same neighbours: once in the older text, and once in the newer."""
        before, after = _in_context(self.old, quote), _in_context(self.new, quote)
        return after[0] if len(before) == 1 and len(after) == 1 else None

    def _by_its_words(self, quote: Quote) -> Passage | None:
        """The words between other neighbours: there once then and now, and long enough to mean one place."""
        after = occurrences(self.new, quote.exact, most=2)
        if len(after) != 1 or len(occurrences(self.old, quote.exact, most=2)) != 1:
            return None
        enough = code_points_in(quote.exact.strip()) + _kept_context(self.new, after[0], quote) >= ENOUGH
        return after[0] if enough and not cuts_a_letter(self.new, after[0]) else None

    def _is_believed(self, passage: Passage, quote: Quote, found: Passage) -> bool:
        was, there = Site(text=self.old, passage=passage), Site(text=self.new, passage=found)
        if is_doubtful(was, there):
            return False
        return any(_kept_sides(self.new, found, quote)) or is_vouched_for(was, there)


def _carried(passage: Passage, method: Method) -> Outcome:
    return Outcome(state="carried", passage=passage, method=method, confidence=1.0)


def _in_context(text: bytes, quote: Quote) -> list[Passage]:
    """Up to two places of the words between the same neighbours.

    The beginning and the end of a text are neighbours as well, unless there is enough of others.
    """
    edges_matter = code_points_in(quote.prefix + quote.suffix) < CONTEXT
    found: list[Passage] = []
    for whole in occurrences(text, quote.whole, most=MOST_PLACES):
        at_edges = (not quote.starts_text or whole.start == 0) and (not quote.ends_text or whole.end == len(text))
        if at_edges or not edges_matter:
            start = whole.start + len(quote.prefix)
            found.append(Passage(start=start, end=start + len(quote.exact)))
    return found[:2]


def _kept_sides(text: bytes, passage: Passage, quote: Quote) -> tuple[bool, bool]:
    """Whether what stood before the passage still stands there, whole; and what stood behind it."""
    here = quote_at(text, passage)
    before = here.prefix.endswith(quote.prefix) and (here.starts_text >= quote.starts_text or _says(quote.prefix))
    after = here.suffix.startswith(quote.suffix) and (here.ends_text >= quote.ends_text or _says(quote.suffix))
    return before, after


def _says(neighbour: bytes) -> bool:
    """Whether a neighbour that is cut short by the end of its text is long enough to tell a place apart."""
    return code_points_in(neighbour.strip()) >= LEAST_CONTEXT


def _kept_context(text: bytes, passage: Passage, quote: Quote) -> int:
    """How many code points of the neighbours still stand beside `passage` of `text`."""
    here = quote_at(text, passage)
    before = _common_end(quote.prefix, here.prefix, min(len(quote.prefix), len(here.prefix)))
    after = _common(quote.suffix, here.suffix)
    return code_points_in(quote.prefix[len(quote.prefix) - before :]) + code_points_in(quote.suffix[:after])


def _common(a: bytes, b: bytes) -> int:
    """How many bytes both begin with."""
    most = min(len(a), len(b))
    at = 0
    while at < most and a[at : at + _STEP] == b[at : at + _STEP] and at + _STEP <= most:
        at += _STEP
    low, high = at, min(at + _STEP, most)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[at:middle] == b[at:middle] else (low, middle - 1)
    return low


def _common_end(a: bytes, b: bytes, most: int) -> int:
    """How many bytes both end with, `most` at most."""
    done = 0
    while done + _STEP <= most and _from_end(a, done, done + _STEP) == _from_end(b, done, done + _STEP):
        done += _STEP
    low, high = done, min(done + _STEP, most)
    while low < high:
        middle = (low + high + 1) // 2
        same = _from_end(a, done, middle) == _from_end(b, done, middle)
        low, high = (middle, high) if same else (low, middle - 1)
    return low


def _from_end(text: bytes, first: int, last: int) -> bytes:
    return text[len(text) - last : len(text) - first]
