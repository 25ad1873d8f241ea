"""A model of a worker process that writes down what it computed. Inputs are `FILE|word`."""

import os
import time
from pathlib import Path
from typing import Any

CALL_S = 0.4


class Journal:
    def __init__(self) -> None:
        self.about: dict[str, Any] = {"variables": sorted(os.environ)}

    def compute(self, items: list[str]) -> list[Any]:
        time.sleep(CALL_S)
        for item in items:
            path, _, word = item.partition("|")
            if word == "raise":
                raise ValueError(f"the text {word} must not be told")
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(f"{word}\n")
        return [item.rpartition("|")[2].upper() for item in items]


class Unable:
    def __init__(self) -> None:
        raise ImportError("a package is missing")
