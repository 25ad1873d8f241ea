"""A token engine without a model, in real time: the cost of simulation/token_engine.py, made-up words.

For tests of the service under load and for planning. Word `i` of an answer is a function of the prompt and of `i`, and
of nothing else; an assistant turn at the end counts as the words before it. So an answer that is continued elsewhere
is, word for word, the one that would have been given here.
"""

import asyncio
import dataclasses
import hashlib
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Literal

from inference_backend.engines.protocol import (
    Capabilities,
    EngineEvent,
    GenerationRequest,
    ServedModel,
    Started,
    Stopped,
    TextDelta,
    ToolJson,
    Usage,
)
from inference_backend.errors import EngineConnectionError, EngineCutError
from inference_backend.scheduling.affinity import prefix_chain
from inference_backend.settings import SettingsError
from inference_backend.simulation.token_engine import StepOutcome, TokenCost, TokenEngine

Health = Literal["well", "dead", "hung"]
News = Literal["token", "cut"]

DEFAULT_CONTEXT = 32_768
LEAST_ANSWER = 16
DEFAULT_ANSWER = 128
_COSTS = {field.name: field.type for field in dataclasses.fields(TokenCost)}
_OPTIONS = {"context", "answer_tokens", "speed", "digest", *_COSTS}
# The event loop's own timers are no finer than this, so shorter steps are made up for in the next one.
_TICK_S = 0.0005


class SimulatedEngine:
    """Words are tokens. Structured answers and forced tools come out as an empty object."""

    capabilities = Capabilities(prefill=True, top_k=True, count_tokens=True)

    def __init__(self, *, model: str, options: Mapping[str, Any]) -> None:
        """`options`: those of TokenCost; `context` in tokens; `answer_tokens`, the longest answer; `speed`, how many
        times faster than the cost says; `digest`. Raises SettingsError.
        """
        if unknown := sorted(set(options) - _OPTIONS):
            raise SettingsError(f"{model}: the simulated engine has no option {', '.join(unknown)}")
        cost = {name: _read_number(model, options, name) for name in _COSTS if name in options}
        self._cost = dataclasses.replace(TokenCost(), **cost)
        self._context = int(_read_number(model, options, "context", DEFAULT_CONTEXT))
        self._answer_tokens = int(_read_number(model, options, "answer_tokens", DEFAULT_ANSWER))
        self._speed = float(_read_number(model, options, "speed", 1.0))
        self._digest = str(options["digest"]) if "digest" in options else None
        self._core = TokenEngine(self._cost)
        self._answers: dict[str, asyncio.Queue[News]] = {}
        self._stepping: asyncio.Task[None] | None = None
        self._health: Health = "well"
        self._recovered = asyncio.Event()
        self._next_id = 0
        #: Tokens written so far.
        self.generated = 0

    @property
    def running(self) -> int:
        """Answers inside, waiting ones included."""
        return len(self._core)

    def die(self) -> None:
        """All connections break and no new one is taken, until `revive`."""
        self._stop("dead")
        for queue in self._answers.values():
            queue.put_nowait("cut")

    def hang(self) -> None:
        """Connections stay, nothing comes any more, until `revive`."""
        self._stop("hung")

    def revive(self) -> None:
        """As after a restart: it knows of nothing that it was doing."""
        self._stop("well")
        self._core = TokenEngine(self._cost)
        for queue in self._answers.values():
            queue.put_nowait("cut")
        self._recovered.set()

    async def check_health(self) -> None:
        await self._connect()

    async def describe(self) -> ServedModel:
        await self._connect()
        return ServedModel(context=self._context, slots=self._cost.slots, digest=self._digest)

    async def count_tokens(self, request: GenerationRequest) -> int:
        await self._connect()
        return _count_words(request)

    async def aclose(self) -> None:
        stepping = self._stepping
        self.die()
        if stepping is not None:
            await asyncio.gather(stepping, return_exceptions=True)

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[EngineEvent]:
        await self._connect()
        words = _Words(request, longest=self._answer_tokens)
        answer_id, queue = str(self._next_id), asyncio.Queue[News]()
        self._next_id += 1
        self._answers[answer_id] = queue
        prompt_tokens = _count_words(request)
        self._core.add(
            answer_id,
            prompt_tokens=prompt_tokens,
            output_tokens=min(request.max_tokens, words.left),
            prefix=prefix_chain([request.system or "", *(turn.text for turn in request.turns)]),
        )
        self._start_stepping()
        try:
            yield Started(input_tokens=prompt_tokens)
            written = 0
            while await queue.get() == "token":
                written += 1
                yield words.event(written)
                yield Usage(input_tokens=prompt_tokens, output_tokens=written)
                if written == words.left:
                    yield Stopped(reason=words.ending)
                    return
                if written == request.max_tokens:
                    yield Stopped(reason="length")
                    return
            raise EngineCutError("The connection to the engine broke during the answer.")
        finally:
            del self._answers[answer_id]
            self._core.remove(answer_id)

    async def _connect(self) -> None:
        while self._health == "hung":
            self._recovered.clear()
            await self._recovered.wait()
        if self._health == "dead":
            raise EngineConnectionError("The engine cannot be reached.")

    def _stop(self, health: Health) -> None:
        self._health = health
        if self._stepping is not None:
            self._stepping.cancel()
            self._stepping = None

    def _start_stepping(self) -> None:
        if self._stepping is None or self._stepping.done():
            self._stepping = asyncio.create_task(self._step(self._core), name="simulated engine")

    async def _step(self, core: TokenEngine) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while (seconds := core.begin_step()) is not None:
            due = max(due, loop.time() - _TICK_S) + seconds / self._speed
            await asyncio.sleep(due - loop.time())
            self._tell(core.end_step())

    def _tell(self, outcome: StepOutcome) -> None:
        for answer_id in (*outcome.first, *outcome.more):
            self.generated += 1
            self._answers[answer_id].put_nowait("token")


class _Words:
    """The answer to one request. `left` words of it are still to come."""

    def __init__(self, request: GenerationRequest, *, longest: int) -> None:
        *turns, last = request.turns
        self._said = len(last.text.split()) if last.role == "assistant" else 0
        if last.role != "assistant":
            turns.append(last)
        digest = hashlib.blake2b((request.system or "").encode("utf-8", "surrogatepass"), digest_size=16)
        for turn in turns:
            digest.update(f"\x1e{turn.role}\x1f{turn.text}".encode("utf-8", "surrogatepass"))
        self._seed = digest.digest()
        self._tool = request.tools[0].name if request.tools else None
        self._is_object = bool(request.tools) or request.schema is not None
        least = min(LEAST_ANSWER, longest)
        length = least + int.from_bytes(self._seed[:4], "big") % (longest - least + 1)
        self.left = 1 if self._is_object else max(1, length - self._said)
        self.ending: Literal["tool", "end"] = "tool" if self._tool else "end"

    def event(self, written: int) -> EngineEvent:
        if self._tool is not None:
            return ToolJson(name=self._tool, json="{}")
        return TextDelta(text="{}" if self._is_object else self._word(self._said + written - 1))

    def _word(self, index: int) -> str:
        word = hashlib.blake2b(index.to_bytes(8, "big"), key=self._seed, digest_size=3).hexdigest()
        return f" {word}" if index else word


def _count_words(request: GenerationRequest) -> int:
    return max(1, len((request.system or "").split()) + sum(len(turn.text.split()) for turn in request.turns))


def _read_number(model: str, options: Mapping[str, Any], name: str, default: float = 0) -> Any:
    value = options.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise SettingsError(f"{model}: {name} must be a number above 0, not {value!r}")
    if isinstance(value, float) and _COSTS.get(name, float) is not float and name != "speed":
        raise SettingsError(f"{model}: {name} must be a whole number, not {value!r}")
    return value
