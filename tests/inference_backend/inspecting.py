"""Policies and answers for the tests of the safety stages."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from prometheus_client import CollectorRegistry

from inference_backend.engines.protocol import EngineEvent, GenerationRequest, Started, Stopped, TextDelta, Turn, Usage
from inference_backend.safety.metrics import SafetyMetrics
from inference_backend.safety.service import open_safety
from inference_backend.safety.stages import SafetyStages

CLASSIFIER = """
[classifier]
engine = "toxicity"
budget_ms = 10000
"""
TIERS = """
[tiers.free]
thresholds = { toxicity = 0.9 }
[tiers.pro]
thresholds = { toxicity = 0.99 }
"""
RULES = """
[[rules]]
name = "private-key"
pattern = '-----BEGIN [A-Z ]*PRIVATE KEY-----'
category = "secrets"
explanation = "Private keys stay out of prompts and answers."
[[rules]]
name = "codeword"
pattern = '(?i)\\bxyzzy\\b'
category = "codewords"
on = ["output"]
"""


@asynccontextmanager
async def stages_for(folder: Path, policy: str, *, wait: bool = True) -> AsyncIterator[SafetyStages]:
    path = folder / "safety.toml"
    path.write_text(policy, encoding="utf-8")
    registry = CollectorRegistry()
    stages = open_safety(path, metrics=SafetyMetrics(registry), on_call=lambda *_: None)
    assert stages is not None
    stages.start()
    try:
        if wait and stages.pool:
            async with asyncio.timeout(60):
                while not stages.pool.is_ready:  # noqa: ASYNC110 - the states of a pool are not events
                    await asyncio.sleep(0.01)
        yield stages
    finally:
        await stages.aclose()


def ask(text: str, **changes: object) -> GenerationRequest:
    return GenerationRequest(turns=(Turn(role="user", text=text),), max_tokens=100, **changes)  # type: ignore[arg-type]


class Answer:
    """An engine's events; remembers whether it was stopped early and how far it came."""

    def __init__(self, pieces: Iterable[str], *, failure: Exception | None = None) -> None:
        self._pieces = list(pieces)
        self._failure = failure
        self.given = 0
        self.is_stopped = False

    async def events(self) -> AsyncGenerator[EngineEvent]:
        try:
            yield Started(input_tokens=3)
            for piece in self._pieces:
                self.given += 1
                yield TextDelta(text=piece)
            if self._failure:
                raise self._failure
            yield Usage(output_tokens=len(self._pieces))
            yield Stopped(reason="end")
        finally:
            self.is_stopped = True


def words(text: str) -> list[str]:
    return [f"{word} " for word in text.split(" ")]


def text_of(events: Iterable[EngineEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))
