"""How many tokens a request takes: bounds from its bytes, and the engine's own count where that is not enough."""

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass

from inference_backend.engines.protocol import GenerationRequest
from inference_backend.engines.time_limit import within
from inference_backend.errors import (
    EngineConnectionError,
    EngineCutError,
    EngineError,
    EngineTimeoutError,
    EngineUnavailableError,
    PromptTooLongError,
)
from inference_backend.fleet.model import Model
from inference_backend.fleet.replica import Replica

# More than any chat template in use puts around one message.
TEMPLATE_TOKENS_PER_TURN = 32
TEMPLATE_TOKENS = 128
# Vocabularies in use have tokens of up to 128 characters (runs of blanks and the like).
LONGEST_TOKEN_BYTES = 512
# English prose; only ever used to plan, never to refuse.
BYTES_PER_TOKEN = 4
COUNT_ATTEMPTS = 2
# Milliseconds for a usual prompt, a few seconds for the longest on a busy machine. Beyond it another replica is asked.
COUNT_TIMEOUT_S = 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Sized:
    """`request` fits the context. `prompt_tokens` is an estimate unless the engine was asked."""

    request: GenerationRequest
    prompt_tokens: int
    is_cut_to_context: bool = False


def estimate_prompt_tokens(request: GenerationRequest) -> int:
    return _text_bytes(request) // BYTES_PER_TOKEN + _template_tokens(request) // 2


class PromptSize:
    """The size of one request for one model. `on_failure` hears of engines that could not count."""

    def __init__(self, model: Model, request: GenerationRequest, *, on_failure: Callable[[EngineError], None]) -> None:
        self._model = model
        self._request = request
        self._on_failure = on_failure

    async def fit(self) -> Sized:
        """The request with max_tokens cut to what the context leaves. Raises PromptTooLongError.

        A token is at least one byte, so most requests are known to fit without asking an engine to count.
        """
        request, context = self._request, self._model.context
        size = _text_bytes(request)
        estimate = Sized(request=request, prompt_tokens=estimate_prompt_tokens(request))
        if context is None:
            return estimate
        if size > context * LONGEST_TOKEN_BYTES:
            # Engines take many seconds to count megabytes, only to refuse them.
            raise PromptTooLongError(tokens=size // LONGEST_TOKEN_BYTES, context=context, is_bound=True)
        # What templates put around tools is not part of that size.
        if not request.tools and size + _template_tokens(request) + request.max_tokens <= context:
            return estimate
        if not self._model.capabilities.count_tokens:
            return estimate
        tokens = await self.count()
        if tokens >= context:
            raise PromptTooLongError(tokens=tokens, context=context)
        return Sized(
            request=dataclasses.replace(request, max_tokens=min(request.max_tokens, context - tokens)),
            prompt_tokens=tokens,
            is_cut_to_context=tokens + request.max_tokens > context,
        )

    async def count(self) -> int:
        """Tokens of the prompt alone. Raises EngineError, EngineRefusedError where the engine cannot count."""
        failed: set[str] = set()
        for _ in range(COUNT_ATTEMPTS):
            ready = self._model.ready_replicas(avoid=failed) or self._model.ready_replicas()
            if not ready:
                break
            replica = min(ready, key=lambda one: one.running)
            try:
                return await self._count_on(replica)
            except (EngineConnectionError, EngineCutError, EngineTimeoutError) as error:
                self._on_failure(error)
                failed.add(replica.key)
                replica.doubt()
        raise EngineUnavailableError("The engine cannot be reached; try again shortly.")

    async def _count_on(self, replica: Replica) -> int:
        with replica.in_use(_nobody_waits):
            seconds = min(COUNT_TIMEOUT_S, self._model.timeouts.first_token_s)
            return await within(seconds, replica.engine.count_tokens(self._request))


def _nobody_waits() -> None:
    """Counting has its own short timeout."""


def _text_bytes(request: GenerationRequest) -> int:
    texts = len((request.system or "").encode()) + sum(len(turn.text.encode()) for turn in request.turns)
    return texts + sum(len(json.dumps(tool.schema)) + len(tool.description or "") for tool in request.tools)


def _template_tokens(request: GenerationRequest) -> int:
    return TEMPLATE_TOKENS + TEMPLATE_TOKENS_PER_TURN * (len(request.turns) + 1)
