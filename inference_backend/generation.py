"""One answer: sized, given to the replicas of its model, and stopped at stop sequences."""

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing

from inference_backend.continuation import Way
from inference_backend.engines.protocol import EngineEvent, GenerationRequest, Stopped, TextDelta, ToolJson, Usage
from inference_backend.errors import EngineError
from inference_backend.failover import Failover, Origin
from inference_backend.fleet.model import Model
from inference_backend.prompt_size import PromptSize
from inference_backend.stop_sequences import StopMatcher


class Generation:
    """Made for one request and used once. After `events`: what happened to it on the way.

    `replaced`: replicas lost before anything was passed on. `continued`: replicas lost after that; `continued_by` says
    in which way the answer went on. `replica`: the last that worked on it.
    """

    def __init__(
        self,
        model: Model,
        request: GenerationRequest,
        origin: Origin,
        *,
        stop_sequences: Sequence[str],
        on_failure: Callable[[EngineError], None],
    ) -> None:
        self._model = model
        self._request = request
        self._origin = origin
        self._size = PromptSize(model, request, on_failure=on_failure)
        self._has_stops = bool(stop_sequences)
        self._matcher = StopMatcher(stop_sequences)
        self._on_failure = on_failure
        self._failover: Failover | None = None
        self._output_tokens: int | None = None
        self._is_cut_to_context = False

    @property
    def replaced(self) -> int:
        return self._failover.replaced if self._failover else 0

    @property
    def continued(self) -> int:
        return self._failover.continued if self._failover else 0

    @property
    def continued_by(self) -> Way | None:
        return self._failover.continued_by if self._failover else None

    @property
    def replica(self) -> str | None:
        replica = self._failover.replica if self._failover else None
        return replica.key if replica else None

    @property
    def version(self) -> str | None:
        """The digest of the weights that answered, where it is known."""
        return (self._failover.version or None) if self._failover else None

    async def events(self) -> AsyncGenerator[EngineEvent]:
        """Raises OverloadedError before the first text, EngineError at any time."""
        sized = await self._size.fit()
        self._is_cut_to_context = sized.is_cut_to_context
        self._failover = Failover(self._model, sized, self._origin, on_failure=self._on_failure)
        async with aclosing(self._failover.events()) as events:
            async for event in events:
                if isinstance(event, TextDelta | Usage) and event.output_tokens is not None:
                    self._output_tokens = event.output_tokens
                for each in self._passed_on(event):
                    yield each
                    if isinstance(each, Stopped):
                        # Leaving the loop closes the connection, which frees the slot of the engine.
                        return

    async def count_prompt(self) -> int:
        """Tokens of the prompt alone. Raises EngineError, EngineRefusedError where the engine cannot count."""
        return await self._size.count()

    def _passed_on(self, event: EngineEvent) -> Iterable[EngineEvent]:
        if isinstance(event, TextDelta):
            return self._cut(event) if self._has_stops else (event,)
        if isinstance(event, Stopped):
            event = self._explain(event)
        if isinstance(event, Stopped | ToolJson) and (held := self._matcher.flush()):
            return (TextDelta(text=held), event)
        return (event,)

    def _cut(self, delta: TextDelta) -> Iterator[EngineEvent]:
        """What of it may be seen already; Stopped where a stop sequence is complete."""
        match = self._matcher.feed(delta.text)
        if match.text:
            yield TextDelta(text=match.text, output_tokens=delta.output_tokens)
        elif delta.output_tokens is not None:
            yield Usage(output_tokens=delta.output_tokens)
        if match.sequence is not None:
            yield Stopped(reason="stop_sequence", sequence=match.sequence)

    def _explain(self, stopped: Stopped) -> Stopped:
        """Engines say "length" for two things: max_tokens reached, and no room left in the context."""
        if stopped.reason != "length":
            return stopped
        stopped_early = self._output_tokens is not None and self._output_tokens < self._request.max_tokens
        return Stopped(reason="context") if self._is_cut_to_context or stopped_early else stopped
