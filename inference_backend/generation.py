"""One answer from the engine: sized, timed, retried while nothing was seen of it, and stopped at stop sequences."""

import asyncio
import dataclasses
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from inference_backend.engines.protocol import (
    EngineEvent,
    GenerationRequest,
    Stopped,
    TextDelta,
    ToolJson,
    Usage,
)
from inference_backend.errors import (
    EngineConnectionError,
    EngineCutError,
    EngineError,
    EngineTimeoutError,
    EngineUnavailableError,
    PromptTooLongError,
)
from inference_backend.replicas import Replica
from inference_backend.settings import Timeouts
from inference_backend.stop_sequences import StopMatcher

ATTEMPTS = 2
# More than any chat template in use puts around one message.
TEMPLATE_TOKENS_PER_TURN = 32
TEMPLATE_TOKENS = 128
# Vocabularies in use have tokens of up to 128 characters (runs of blanks and the like).
LONGEST_TOKEN_BYTES = 512


class Generation:
    """Made for one request and used once."""

    def __init__(
        self,
        replica: Replica,
        request: GenerationRequest,
        *,
        timeouts: Timeouts,
        stop_sequences: Sequence[str],
        on_failure: Callable[[EngineError], None],
    ) -> None:
        self._replica = replica
        self._request = request
        self._timeouts = timeouts
        self._matcher = StopMatcher(stop_sequences)
        self._on_failure = on_failure
        self._output_tokens: int | None = None
        self._is_cut_to_context = False

    async def events(self) -> AsyncGenerator[EngineEvent]:
        """Raises EngineUnavailableError before the first text, EngineError after it."""
        request = await self._fit()
        async with aclosing(self._attempts(request)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    match = self._matcher.feed(event.text)
                    if match.text:
                        yield TextDelta(text=match.text)
                    if match.sequence is not None:
                        # Leaving the loop closes the connection, which frees the slot of the engine.
                        yield Stopped(reason="stop_sequence", sequence=match.sequence)
                        return
                elif isinstance(event, Stopped):
                    if held := self._matcher.flush():
                        yield TextDelta(text=held)
                    yield self._explain(event)
                else:
                    yield event

    async def count_prompt(self) -> int:
        """Tokens of the prompt alone. Raises EngineError, EngineRefusedError where the engine cannot count."""
        return await self._count(self._request)

    async def _fit(self) -> GenerationRequest:
        """The request with max_tokens cut to what the context leaves. Raises PromptTooLongError.

        A token is at least one byte, so most requests are known to fit without asking the engine to count.
        """
        context = self._replica.ready_model().context
        request = self._request
        if context is None:
            return request
        size = _text_bytes(request)
        if size > context * LONGEST_TOKEN_BYTES:
            # Engines take many seconds to count megabytes, only to refuse them.
            raise PromptTooLongError(tokens=size // LONGEST_TOKEN_BYTES, context=context, is_bound=True)
        # What forced tools add to the prompt is not part of that size.
        if not request.tools and size + _template_tokens(request) + request.max_tokens <= context:
            return request
        if not self._replica.engine.capabilities.count_tokens:
            return request
        tokens = await self._count(request)
        if tokens >= context:
            raise PromptTooLongError(tokens=tokens, context=context)
        self._is_cut_to_context = tokens + request.max_tokens > context
        return dataclasses.replace(request, max_tokens=min(request.max_tokens, context - tokens))

    async def _count(self, request: GenerationRequest) -> int:
        try:
            return await self._replica.engine.count_tokens(request)
        except (EngineConnectionError, EngineCutError) as error:
            self._note(error)
        try:
            return await self._replica.engine.count_tokens(request)
        except (EngineConnectionError, EngineCutError) as error:
            raise EngineUnavailableError("The engine cannot be reached; try again shortly.") from error

    async def _attempts(self, request: GenerationRequest) -> AsyncGenerator[EngineEvent]:
        """A second attempt only while nothing of the first was passed on: nobody can tell the difference then."""
        deadline = asyncio.get_running_loop().time() + self._timeouts.total_s
        for attempt in range(1, ATTEMPTS + 1):
            seen = False
            try:
                async with aclosing(self._phases(request, deadline)) as events:
                    async for event in events:
                        seen = seen or isinstance(event, TextDelta | ToolJson | Stopped)
                        if isinstance(event, Usage) and event.output_tokens is not None:
                            self._output_tokens = event.output_tokens
                        yield event
                return
            except (EngineConnectionError, EngineCutError) as error:
                self._note(error)
                if seen:
                    raise
                if attempt == ATTEMPTS:
                    raise EngineUnavailableError("The engine cannot be reached; try again shortly.") from error
            except EngineError as error:
                self._note(error)
                raise

    async def _phases(self, request: GenerationRequest, deadline: float) -> AsyncGenerator[EngineEvent]:
        loop = asyncio.get_running_loop()
        patience, waiting_for = self._timeouts.first_token_s, "start its answer"
        due = loop.time() + patience
        async with aclosing(self._replica.engine.generate(request)) as events:
            while True:
                try:
                    async with asyncio.timeout_at(min(due, deadline)):
                        event = await anext(events)
                except StopAsyncIteration:
                    return
                except TimeoutError as error:
                    raise EngineTimeoutError(f"The engine did not {waiting_for} in time.") from error
                self._replica.note_sign_of_life()
                if isinstance(event, TextDelta | ToolJson):
                    patience, waiting_for = self._timeouts.between_tokens_s, "continue its answer"
                due = loop.time() + patience
                yield event

    def _note(self, error: EngineError) -> None:
        self._on_failure(error)
        if isinstance(error, EngineConnectionError | EngineCutError | EngineTimeoutError):
            self._replica.suspect()

    def _explain(self, stopped: Stopped) -> Stopped:
        """Engines say "length" for two things: max_tokens reached, and no room left in the context."""
        if stopped.reason != "length":
            return stopped
        stopped_early = self._output_tokens is not None and self._output_tokens < self._request.max_tokens
        return Stopped(reason="context") if self._is_cut_to_context or stopped_early else stopped


def _text_bytes(request: GenerationRequest) -> int:
    return len((request.system or "").encode()) + sum(len(turn.text.encode()) for turn in request.turns)


def _template_tokens(request: GenerationRequest) -> int:
    return TEMPLATE_TOKENS + TEMPLATE_TOKENS_PER_TURN * (len(request.turns) + 1)
