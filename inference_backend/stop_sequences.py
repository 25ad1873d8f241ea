"""Stop sequences, matched on text: whatever the tokens and however the chunks fall."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Match:
    """`text` may still be sent; `sequence` is the stop sequence that ended the answer, if one did."""

    text: str
    sequence: str | None = None


class StopMatcher:
    """Feed it text as it comes; it holds back what may yet turn out to be a stop sequence.

    The sequence that is complete first wins; of two that end at the same character, the longer. So the outcome is
    that of reading the answer character by character, and does not depend on where chunks were cut.
    """

    def __init__(self, sequences: Sequence[str]) -> None:
        self._sequences = tuple(sequences)
        self._longest = max(map(len, self._sequences), default=0)
        self._held = ""

    def feed(self, text: str) -> Match:
        if not self._sequences:
            return Match(text)
        buffer = self._held + text
        found = self._first_in(buffer)
        if found:
            start, sequence = found
            self._held = ""
            return Match(buffer[:start], sequence)
        keep = self._undecided(buffer)
        self._held = buffer[len(buffer) - keep :]
        return Match(buffer[: len(buffer) - keep])

    def flush(self) -> str:
        """The text still held when the answer ends without a match."""
        held, self._held = self._held, ""
        return held

    def _first_in(self, buffer: str) -> tuple[int, str] | None:
        hits = [(buffer.find(sequence), sequence) for sequence in self._sequences]
        complete = [(start + len(sequence), start, sequence) for start, sequence in hits if start >= 0]
        if not complete:
            return None
        _, start, sequence = min(complete)
        return start, sequence

    def _undecided(self, buffer: str) -> int:
        """Length of the longest end of `buffer` with which some sequence begins."""
        for length in range(min(self._longest - 1, len(buffer)), 0, -1):
            tail = buffer[len(buffer) - length :]
            if any(sequence.startswith(tail) for sequence in self._sequences):
                return length
        return 0
