"""The policy file: what is looked at, for whom, and what happens when it cannot be looked at.

Without a file nothing is inspected: it is for the operator to decide what people may not ask. docs/safety.md explains
every key.
"""

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, model_validator

from inference_backend.fleet.configuration import Count, Name, Table
from inference_backend.safety.rules import RuleSet
from inference_backend.settings import SettingsError, read_engine_url
from inference_backend.tiers import TIERS, Tier

Side = Literal["input", "output"]
WhenDown = Literal["closed", "open"]

MAX_BYTES = 1024 * 1024
DIGEST_LENGTH = 12
#: From a second on the head of a stream goes out before the verdict, which then cannot be in it.
LONGEST_BUDGET_MS = 10_000
# Whoever pays nothing is not answered unchecked; for the others the operator decides, and an outage is logged.
WHEN_DOWN: Mapping[Tier, WhenDown] = {"free": "closed", "pro": "open", "internal": "open"}


class Rule(Table):
    """`[[rules]]`. `pattern` is in RE2's syntax: no look-around, and no text takes longer than its length."""

    name: Name
    pattern: Annotated[str, Field(min_length=1, max_length=10_000)]
    category: Name
    explanation: Annotated[str, Field(max_length=1000)] = "This is not allowed here."
    on: Annotated[tuple[Side, ...], Field(min_length=1)] = ("input", "output")


class Classifier(Table):
    """`[classifier]`. `toxicity`: a linear model in a process of its own. `llama_guard`: a model on a chat server.

    `budget_ms`: how long a verdict may take, the wait for a place in a call included.
    """

    engine: Literal["toxicity", "llama_guard"] = "toxicity"
    workers: Annotated[int, Field(ge=1, le=64)] = 1
    max_size: Annotated[int, Field(ge=1, le=1024)] = 64
    call_ms: Annotated[float, Field(gt=0, le=60_000)] = 5.0
    budget_ms: Annotated[float, Field(gt=0, le=LONGEST_BUDGET_MS)] = 300.0
    url: str = ""
    model: Name = "llama-guard"
    api_key_env: Name | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.engine == "llama_guard":
            read_engine_url(self.url, place="classifier.url")
        if self.budget_ms <= self.call_ms:
            raise ValueError("budget_ms must be above call_ms")
        return self


class Windows(Table):
    """`[windows]`: an answer is held back until `target_chars` or the end of a sentence, and judged with the
    `overlap_chars` before it."""

    target_chars: Annotated[int, Field(ge=20, le=4000)] = 160
    overlap_chars: Annotated[int, Field(ge=0, le=4000)] = 80


class TierPolicy(Table):
    """`[tiers.<tier>]`. A category without a threshold is scored, and never refused."""

    rules: bool = True
    input_classifier: bool = True
    output_classifier: bool = True
    thresholds: dict[Name, Annotated[float, Field(gt=0, le=1)]] = {}
    when_down: WhenDown | None = None
    max_input_bytes: Count | None = None


class Document(Table):
    rules: tuple[Rule, ...] = ()
    classifier: Classifier | None = None
    windows: Windows = Windows()
    tiers: dict[Tier, TierPolicy] = {}


class Policy:
    """A policy file that was read; `digest` names its exact content in answers and logs."""

    def __init__(self, content: bytes) -> None:
        """Raises SettingsError."""
        self.digest = hashlib.sha256(content).hexdigest()[:DIGEST_LENGTH]
        document = _parse(content)
        self.classifier = document.classifier
        self.windows = document.windows
        self._tiers = {tier: document.tiers.get(tier, TierPolicy()) for tier in TIERS}
        self.rules: Mapping[Side, RuleSet] = {
            side: _compile([rule for rule in document.rules if side in rule.on]) for side in ("input", "output")
        }

    def tier(self, tier: Tier) -> TierPolicy:
        return self._tiers[tier]

    def when_down(self, tier: Tier) -> WhenDown:
        return self._tiers[tier].when_down or WHEN_DOWN[tier]


def read_policy(path: Path) -> Policy:
    """Raises SettingsError naming place and reason."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SettingsError(f"the safety policy {path} cannot be read: {error.strerror}") from error
    if len(content) > MAX_BYTES:
        raise SettingsError(f"the safety policy {path} is larger than {MAX_BYTES} bytes")
    return Policy(content)


def _parse(content: bytes) -> Document:
    try:
        return Document.model_validate(tomllib.loads(content.decode()))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"the safety policy is no TOML: {error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise SettingsError(f"safety policy, {place}: {first['msg'].removeprefix('Value error, ')}") from None


def _compile(rules: Sequence[Rule]) -> RuleSet:
    rule_set = RuleSet()
    for rule in rules:
        rule_set.add(rule.pattern, name=rule.name, category=rule.category, explanation=rule.explanation)
    return rule_set.compile()
