"""What a stage found, and what there is to look at."""

from collections.abc import Mapping
from dataclasses import dataclass

#: Of a category, how sure the classifier is, 0 to 1.
Scores = Mapping[str, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """Why something is refused. `explanation` goes to the caller; neither holds any of the text."""

    category: str
    explanation: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """A piece of text to judge. `prompt` and `answer` are what it belongs to, for a classifier that can use them."""

    text: str
    prompt: str
    answer: str | None = None
