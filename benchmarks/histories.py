"""Seeded histories of one growing text: prose and code, edited as people edit. The same bytes on every machine."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

_SYLLABLES = [
    "ka",
    "to",
    "mi",
    "re",
    "no",
    "sa",
    "lu",
    "ve",
    "di",
    "po",
    "ran",
    "tes",
    "mon",
    "fer",
    "gil",
    "ous",
    "ent",
    "ing",
    "ion",
    "ble",
]
_CODE = (
    "def {}({}):\n    return {} + {}\n\n",
    "for {} in {}:\n    {}.append({})\n",
    "if {} is None:\n    raise {}({})\n",
)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """`rewrite_every`: half of the text is written anew at each such version, 0 for never."""

    name: str
    versions: int
    length: int
    seed: int
    rewrite_every: int = 0
    branches: int = 0


SHAPES = (
    Shape(name="H1", versions=300, length=1_000_000, seed=11, rewrite_every=100, branches=8),
    Shape(name="H20", versions=40, length=20_000_000, seed=12, rewrite_every=25),
    Shape(name="HR", versions=100, length=1_000_000, seed=13, rewrite_every=5),
    Shape(name="HS", versions=300, length=10_000, seed=14),
)


class Author:
    """Writes words, sentences and code from a seed."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        pick = self.draw
        self.words = ["".join(pick.choices(_SYLLABLES, k=pick.randint(1, 4))) for _ in range(4000)]

    def sentence(self) -> str:
        words = self.draw.choices(self.words, k=self.draw.randint(4, 18))
        return " ".join(words).capitalize() + self.draw.choice((". ", ". ", "? ", ".\n", ".\n\n"))

    def code(self) -> str:
        return self.draw.choice(_CODE).format(*self.draw.choices(self.words, k=4))

    def text(self, length: int) -> str:
        pieces: list[str] = []
        size = 0
        while size < length:
            piece = self.code() if self.draw.random() < 0.2 else self.sentence()
            pieces.append(piece)
            size += len(piece)
        return "".join(pieces)[:length]

    def edit(self, text: str) -> str:
        """One save's worth of change: mostly small splices, at times a paragraph in, out or moved, a word renamed."""
        kind = self.draw.random()
        at = self.draw.randrange(len(text))
        if kind < 0.80:
            for _ in range(self.draw.randint(1, 3)):
                at = self.draw.randrange(len(text))
                text = text[:at] + self.sentence()[: self.draw.randint(1, 40)] + text[at + self.draw.randint(0, 40) :]
            return text
        if kind < 0.88:
            return text[:at] + self.text(self.draw.randint(200, 2000)) + text[at:]
        if kind < 0.93:
            return text[:at] + text[at + self.draw.randint(200, 2000) :]
        if kind < 0.97:
            end = min(len(text), at + self.draw.randint(500, 5000))
            block, rest = text[at:end], text[:at] + text[end:]
            to = self.draw.randrange(len(rest))
            return rest[:to] + block + rest[to:]
        return text.replace(self.draw.choice(self.words), self.draw.choice(self.words), 200)


def history(shape: Shape) -> Iterator[tuple[int | None, str]]:
    """(index of the parent, text) of each version, the first one without a parent."""
    author = Author(shape.seed)
    texts = [author.text(shape.length)]
    yield None, texts[0]
    for number in range(1, shape.versions):
        parent = number - 1
        if shape.branches and number % (shape.versions // shape.branches) == 0:
            parent = max(0, number - author.draw.randint(2, 20))
        base = texts[parent]
        if shape.rewrite_every and number % shape.rewrite_every == 0:
            half = len(base) // 2
            text = base[:half] + author.text(len(base) - half)
        else:
            text = author.edit(base)
        texts.append(text)
        # Only what a later version may start from is kept: 40 texts of 20 MB are 800 MB.
        if number > 24:
            texts[number - 24] = ""
        yield parent, text
