"""The classifiers that a policy can name, as workers of a pool."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any

from inference_backend.engines.chat_completions import ChatCompletionsEngine
from inference_backend.engines.protocol import GenerationRequest, TextDelta, Turn
from inference_backend.engines.time_limit import within
from inference_backend.errors import EngineError, EngineProtocolError
from inference_backend.pools.process_worker import ProcessWorker
from inference_backend.safety.finding import Passage, Scores

GOLDEN = Passage(text="What is the capital of France?", prompt="What is the capital of France?")
TOXICITY = "toxicity"
VERDICT_TOKENS = 32
# A server that was stopped keeps its connections, and says nothing on them.
PROBE_S = 10.0
_CODE = re.compile(r"S\d{1,2}")


def toxicity() -> ProcessWorker[Passage, Scores]:
    return ProcessWorker(
        "inference_backend.safety.toxicity:Toxicity",
        golden=GOLDEN,
        write=lambda passage: passage.text,
        read=_read_probability,
    )


def _read_probability(answer: Any) -> Scores:
    return {TOXICITY: float(answer)}


class LlamaGuard:
    """Llama Guard, or a model with its form of answer, on a server with chat completions.

    It is shown the exchange and says `safe`, or `unsafe` and the codes of its categories: `S1`, `S2` ... Those codes
    are the categories of the policy, each with a score of 1.
    """

    def __init__(self, *, url: str, model: str, api_key: str | None) -> None:
        self._engine = ChatCompletionsEngine(url=url, model=model, api_key=api_key, connect_s=2.0)

    async def call(self, items: Sequence[Passage]) -> Sequence[Scores | Exception]:
        """All at once: such a server makes its own batches."""
        return await asyncio.gather(*(self._judge(item) for item in items))

    async def probe(self) -> None:
        answer = await within(PROBE_S, self._judge(GOLDEN))
        if isinstance(answer, Exception):
            raise answer

    async def aclose(self) -> None:
        await self._engine.aclose()

    async def _judge(self, passage: Passage) -> Scores | Exception:
        turns = [Turn(role="user", text=passage.prompt)]
        if passage.answer is not None:
            turns.append(Turn(role="assistant", text=passage.answer))
        said = ""
        try:
            request = GenerationRequest(turns=tuple(turns), max_tokens=VERDICT_TOKENS, temperature=0.0)
            async for event in self._engine.generate(request):
                if isinstance(event, TextDelta):
                    said += event.text
            return _read_verdict(said)
        except EngineError as error:
            return error


def _read_verdict(said: str) -> Scores:
    """Raises EngineProtocolError for anything that is not a verdict: a model that chats is no classifier."""
    first, _, rest = said.strip().partition("\n")
    if first.strip() == "safe":
        return {}
    codes = _CODE.findall(rest)
    if first.strip() != "unsafe" or not codes:
        raise EngineProtocolError("The classifier gave no verdict.")
    return dict.fromkeys(codes, 1.0)
