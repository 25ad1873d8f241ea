"""What the service asks of an engine, and the one stream of events that every engine is turned into.

A generation yields Started at most once, then TextDelta, ToolJson and Usage in any number, then exactly one Stopped.
The sixth kind of event, error, is an EngineError raised out of the iterator: a stream that ends without Stopped and
without raising does not exist.
"""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Role = Literal["user", "assistant"]
StopReason = Literal["end", "length", "context", "stop_sequence", "tool", "refusal"]
JsonObject = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Started:
    """The engine took the request in; the size of the prompt in tokens where it says so."""

    input_tokens: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class TextDelta:
    """`output_tokens`: how many were written with this piece, where the engine says so: Usage beside each piece would
    be twice as many events."""

    text: str
    output_tokens: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolJson:
    """A piece of the arguments, as JSON text, of the tool call with this number in its answer, counted from 0.

    The pieces of a call come one after the other; the first may be empty.
    """

    name: str
    json: str
    call: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Running totals in tokens. None means that the engine did not say, which is not zero."""

    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """Why an answer was refused, in words for the caller."""

    category: str
    explanation: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Stopped:
    reason: StopReason
    sequence: str | None = None
    refusal: Refusal | None = None


EngineEvent = Started | TextDelta | ToolJson | Usage | Stopped


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """A call that an earlier answer made."""

    id: str
    name: str
    arguments: JsonObject


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolResult:
    call_id: str
    text: str
    is_error: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """`blocks`, where the turn has calls or results and the engine knows what these are; `text` says the same."""

    role: Role
    text: str
    blocks: tuple[str | ToolCall | ToolResult, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    name: str
    description: str | None
    schema: JsonObject


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolChoice:
    """`any`: at least one call. `tool`: of the one named. `none`: the tools are only there to explain earlier turns."""

    kind: Literal["auto", "any", "tool", "none"]
    name: str | None = None
    is_parallel: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class GenerationRequest:
    """One answer to generate. Where the last turn is the assistant's, the engine continues that text.

    `tools` are called in the way that the model was taught, by `tool_choice`; where that is None, they force exactly
    one call of one of them, by schema. `schema` excludes calls.
    """

    turns: tuple[Turn, ...]
    max_tokens: int
    system: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    schema: JsonObject | None = None
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice | None = None

    @property
    def continues_assistant(self) -> bool:
        return self.turns[-1].role == "assistant"


@dataclass(frozen=True, kw_only=True, slots=True)
class Capabilities:
    """What an engine can be asked for; the service refuses the rest instead of ignoring it.

    `own_tools`: its model was taught to call tools, and decides by itself whether to; else calls are forced by schema.
    """

    prefill: bool
    top_k: bool
    count_tokens: bool
    own_tools: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedModel:
    """What an engine says of itself; None where it does not say.

    `context`: tokens of prompt and answer together that one request may use. `slots`: answers it generates at once.
    `digest`: the version of the weights, as the engine states it. `fingerprint`: properties of the loaded model that
    tell most versions apart (sizes, quantisation, chat template) but prove none.
    """

    context: int | None
    slots: int | None = None
    digest: str | None = None
    fingerprint: str | None = None


class Engine(Protocol):
    capabilities: Capabilities

    async def check_health(self) -> None:
        """Raises EngineError unless the engine says that it is well."""

    async def describe(self) -> ServedModel:
        """Raises EngineError unless the configured model is among those served."""

    def generate(self, request: GenerationRequest) -> AsyncGenerator[EngineEvent]:
        """Closing the iterator closes the connection, and with it ends the work of the engine."""

    async def count_tokens(self, request: GenerationRequest) -> int: ...

    async def aclose(self) -> None: ...
