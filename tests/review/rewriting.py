"""Texts full of sentences that look alike, and edits of them that remember which sentence is which.

A sentence keeps its identity when it is edited or moved. A copy remembers what it is a verbatim copy of. So it is known
of each place in the new text whose it is, whatever it reads like.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

_SUBJECTS = ("invoice", "order", "customer", "refund", "address", "total", "ticket", "receipt")
_VERBS = ("Check", "Compare", "Quote", "Repeat", "Translate", "Summarise")
_WAYS = ("before you answer", "in one sentence", "twice", "without guessing", "and say so", "in the same language")
_TAILS = ("", " Never invent one.", " If it is missing, ask.", " 🙂", " Keep the name n̄ as it is.", " שלום.")


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """`identity`: which sentence this is, through edits and moves; `copy_of`: whose words these are, to the letter."""

    identity: int
    text: str
    copy_of: int | None = None


@dataclass
class Rewriter:
    """Edits a list of sentences, each time by one of insert, delete, edit, move and duplicate."""

    random: random.Random
    made: int = 0

    def sentence(self) -> Sentence:
        pick = self.random.choice
        self.made += 1
        number = self.random.randrange(1, 13)
        text = f"{pick(_VERBS)} the {pick(_SUBJECTS)} {number} with the {pick(_SUBJECTS)} {pick(_WAYS)}.{pick(_TAILS)}"
        return Sentence(identity=self.made, text=text)

    def text(self, count: int) -> list[Sentence]:
        return [self.sentence() for _ in range(count)]

    def rewrite(self, sentences: list[Sentence], edits: int) -> list[Sentence]:
        now = list(sentences)
        for _ in range(edits):
            step: Callable[[list[Sentence]], None] = self.random.choice(
                [self._insert, self._delete, self._edit, self._move, self._duplicate]
            )
            step(now)
        return now

    def _at(self, sentences: list[Sentence]) -> int:
        return self.random.randrange(len(sentences))

    def _insert(self, now: list[Sentence]) -> None:
        now.insert(self._at(now), self.sentence())

    def _delete(self, now: list[Sentence]) -> None:
        if len(now) > 2:
            now.pop(self._at(now))

    def _edit(self, now: list[Sentence]) -> None:
        at = self._at(now)
        words = now[at].text.split(" ")
        word = self.random.randrange(len(words))
        words[word] = self.random.choice([*_SUBJECTS, *_VERBS, "", "really", "7"])
        text = " ".join(words)
        now[at] = replace(now[at], text=text, copy_of=now[at].copy_of if text == now[at].text else None)

    def _move(self, now: list[Sentence]) -> None:
        now.insert(self._at(now), now.pop(self._at(now)))

    def _duplicate(self, now: list[Sentence]) -> None:
        source = now[self._at(now)]
        self.made += 1
        origin = source.identity if source.copy_of is None else source.copy_of
        now.insert(self._at(now), Sentence(identity=self.made, text=source.text, copy_of=origin))


def joined(sentences: list[Sentence], gap: str = " ") -> bytes:
    return gap.join(each.text for each in sentences).encode("utf-8")


def spans(sentences: list[Sentence], gap: str = " ") -> list[tuple[int, int]]:
    """Bytes [start, end) of each sentence of the joined text."""
    found, at = [], 0
    for each in sentences:
        size = len(each.text.encode("utf-8"))
        found.append((at, at + size))
        at += size + len(gap.encode("utf-8"))
    return found
