"""docs/inference-metrics.md lists what is measured, no more and no less."""

import re
from pathlib import Path

from inference_backend.metrics import Metrics

ROW = re.compile(r"^\| `(inference_\w+)` \| ([^|]*) \|", re.MULTILINE)
VALUES = re.compile(r"\([^)]*\)")


def documented() -> dict[str, tuple[str, ...]]:
    text = (Path(__file__).parents[2] / "docs" / "inference-metrics.md").read_text(encoding="utf-8")
    # Values of a label may follow it in brackets.
    return {name: tuple(re.findall(r"`(\w+)`", VALUES.sub("", labels))) for name, labels in ROW.findall(text)}


def test_every_metric_is_documented_with_its_labels() -> None:
    assert {name: set(labels) for name, labels in documented().items()} == {
        name: set(labels) for name, labels in Metrics().names().items()
    }


def test_no_metric_is_documented_twice() -> None:
    text = (Path(__file__).parents[2] / "docs" / "inference-metrics.md").read_text(encoding="utf-8")
    names = [name for name, _ in ROW.findall(text)]
    assert len(names) == len(set(names))
