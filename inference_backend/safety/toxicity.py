"""A classifier of insults and obscenities: runs inside a worker process.

A linear model over words (`alt-profanity-check`), right on plain insults and on everyday text, wrong on disguised
spellings, and no judge of harmful requests.
"""

from typing import Any

from profanity_check import predict_prob

from inference_backend.safety.pieces import split_text

# An insult of 54 characters scores 0.99 in a friendly text of 230 characters, 0.5 in one of 530, 0.2 in one of 1000.
PIECE_CHARS = 200


class Toxicity:
    def __init__(self) -> None:
        self.about: dict[str, Any] = {}
        # The first call initialises what the library leaves until then.
        predict_prob(["hello"])

    def compute(self, items: list[str]) -> list[Any]:
        """The highest probability, 0 to 1, of any piece of each text."""
        pieces = [split_text(item, size=PIECE_CHARS) for item in items]
        every = [piece for of_one in pieces for piece in of_one]
        probabilities = iter(predict_prob(every).tolist() if every else [])
        return [max((next(probabilities) for _ in of_one), default=0.0) for of_one in pieces]
