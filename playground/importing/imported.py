from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.errors import InvalidInput
from playground import template

Json = Any  # the edge: what other programs wrote

DEFAULT_MAX_TOKENS = 1024
MAX_NAME_LENGTH = 200


@dataclass(kw_only=True)
class Imported:
    """A prompt as it was read: a raw spec, and sentences about what could not be carried over."""

    kind: str
    name: str = ""
    spec: dict[str, Json] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)

    def warn(self, sentence: str) -> None:
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    def warn_left_out(self, names: Iterable[object]) -> None:
        """Only names are told: a value may be a secret."""
        left = ", ".join(sorted(str(name)[:60] for name in names))
        if left:
            self.warn(f"Left out, because there is no place for it: {left}.")


def refuse(message: str) -> InvalidInput:
    return InvalidInput(message, code="not_importable", field="text")


def bounded_number(found: Imported, source: Mapping[str, Json], name: str, *, low: float, high: float) -> None:
    """Copy a number that fits, and say so of one that does not."""
    value = source.get(name)
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        found.warn(f"{name} is not a number from {low:g} to {high:g} and was left out.")
    else:
        found.spec[name] = value


def sampling(found: Imported, source: Mapping[str, Json]) -> None:
    bounded_number(found, source, "temperature", low=0, high=1)
    bounded_number(found, source, "top_p", low=0, high=1)


def whole_number(value: Json) -> int | None:
    """1 or more, also if it was written as a text or as 1.0."""
    try:
        number = int(value) if not isinstance(value, bool) else 0
    except (ValueError, TypeError, OverflowError):
        return None
    return number if 1 <= number <= 1_000_000 else None


def max_tokens(found: Imported, *candidates: Json) -> None:
    number = next((number for value in candidates if (number := whole_number(value))), None)
    if number is not None:
        found.spec["max_tokens"] = number


def stop_sequences(found: Imported, value: Json) -> None:
    given = [value] if isinstance(value, str) else value
    if isinstance(given, list) and all(isinstance(each, str) for each in given):
        kept = [each for each in given if each]
        if kept:
            found.spec["stop_sequences"] = kept
    elif value is not None:
        found.warn("The stop sequences are not texts and were left out.")


def complete(found: Imported, *, default_model: str) -> Imported:
    """Fill in what a spec must have and the source did not say."""
    found.name = found.name.replace("\0", " ").strip()[:MAX_NAME_LENGTH].strip()
    if not found.spec.get("model"):
        found.spec["model"] = default_model
        found.warn(f"It names no model: {default_model} was filled in.")
    if not found.spec.get("max_tokens"):
        found.spec["max_tokens"] = DEFAULT_MAX_TOKENS
        found.warn(f"It has no limit of tokens: {DEFAULT_MAX_TOKENS} was filled in.")
    _one_card_each(found)
    if not found.spec.get("messages"):
        found.spec["messages"] = [{"role": "user", "content": "{{input}}"}]
        found.warn("It has no message of a user: {{input}} was put in its place.")
    return found


def _one_card_each(found: Imported) -> None:
    """Names that differ in their form only are one name here; of its cards the last stays, as a later line would."""
    given = found.spec.get("variables")
    cards = [{"name": name, "card": card} for name, card in given.items()] if isinstance(given, dict) else given
    if not isinstance(cards, list) or not all(isinstance(card, dict) for card in cards):
        return
    last = {_normal(card.get("name")): index for index, card in enumerate(cards)}
    kept = [card for index, card in enumerate(cards) if last[_normal(card.get("name"))] == index]
    if len(kept) == len(cards):
        return
    found.spec["variables"] = {each["name"]: each["card"] for each in kept} if isinstance(given, dict) else kept
    found.warn("Some variables came twice under one name; the last of them stays.")


def _normal(name: Json) -> str:
    return template.normal_name(name) or name if isinstance(name, str) else repr(name)
