"""An engine without a model: answers, delays and failures are written in the configuration.

For tests, and for planning a deployment before its models are there. Same prompt, same answer, same time.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from inference_backend.engines.protocol import (
    Capabilities,
    EngineEvent,
    GenerationRequest,
    ServedModel,
    Started,
    Stopped,
    StopReason,
    TextDelta,
    ToolJson,
    Usage,
)
from inference_backend.errors import (
    EngineConnectionError,
    EngineCutError,
    EngineFailedError,
    EngineProtocolError,
    EngineRefusedError,
)
from inference_backend.settings import SettingsError

Ending = Literal["stop", "length", "refusal", "cut", "fail", "garbage", "hang", "refuse", "vanish"]
ENDINGS: tuple[Ending, ...] = get_args(Ending)
DEFAULT_CONTEXT = 4096
_WORD = re.compile(r"\s*\S+|\s+$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Script:
    """What happens to a prompt that contains `when`; the first script that fits is played.

    One word of `answer` is one token, sent `token_gap_s` after the one before it, the first after `first_token_s`.
    After `after_tokens` of them (None: all) comes `ending`: a normal end is "stop", "length" or "refusal"; "cut",
    "fail", "garbage" and "hang" are faults; "refuse" and "vanish" happen before any token.
    """

    when: str = ""
    answer: str = "Hello there"
    first_token_s: float = 0.0
    token_gap_s: float = 0.0
    ending: Ending = "stop"
    after_tokens: int | None = None
    #: Reported to the caller; None reports what was counted.
    input_tokens: int | None = None
    output_tokens: int | None = None


class ScriptedEngine:
    capabilities = Capabilities(prefill=True, top_k=True, count_tokens=True)

    def __init__(self, *, model: str, options: Mapping[str, Any]) -> None:
        """`options`: `context` in tokens, and `scripts`, an array of tables. Raises SettingsError."""
        context = options.get("context", DEFAULT_CONTEXT)
        if not isinstance(context, int) or isinstance(context, bool) or context < 1:
            raise SettingsError(f"{model}: context must be a whole number above 0, not {context!r}")
        entries = options.get("scripts", [])
        if not isinstance(entries, list):
            raise SettingsError(f"{model}: scripts must be an array of tables")
        read = [_read_script(entry, f"{model}: scripts[{index}]") for index, entry in enumerate(entries)]
        self._scripts = (*read, Script())
        self._context = context

    async def check_health(self) -> None:
        return

    async def describe(self) -> ServedModel:
        return ServedModel(context=self._context)

    async def count_tokens(self, request: GenerationRequest) -> int:
        return _count_words(request)

    async def aclose(self) -> None:
        return

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[EngineEvent]:
        script = self._find(request)
        await _fail_early(script)
        input_tokens = _count_words(request) if script.input_tokens is None else script.input_tokens
        yield Started(input_tokens=input_tokens)
        words = _WORD.findall(script.answer)
        shown = words[: min(_limit(script, words), request.max_tokens)]
        for index, word in enumerate(shown):
            await asyncio.sleep(script.token_gap_s if index else script.first_token_s)
            yield ToolJson(name=request.tools[0].name, json=word) if request.tools else TextDelta(text=word)
            yield Usage(output_tokens=index + 1)
        if script.output_tokens is not None:
            yield Usage(output_tokens=script.output_tokens)
        is_cut_to_size = len(shown) == request.max_tokens < _limit(script, words)
        yield Stopped(reason="length" if is_cut_to_size else await _end(script, is_tool=bool(request.tools)))

    def _find(self, request: GenerationRequest) -> Script:
        prompt = request.turns[-1].text
        return next(script for script in self._scripts if script.when in prompt)


async def _fail_early(script: Script) -> None:
    if script.ending == "refuse":
        raise EngineRefusedError("The engine refused the request: its script says so.")
    if script.ending == "vanish":
        raise EngineConnectionError("The engine cannot be reached.")


async def _end(script: Script, *, is_tool: bool) -> StopReason:
    match script.ending:
        case "cut":
            raise EngineCutError("The connection to the engine broke during the answer.")
        case "fail":
            raise EngineFailedError("The engine failed during the answer.")
        case "garbage":
            raise EngineProtocolError("The engine sent something that is not JSON.")
        case "hang":
            await asyncio.Event().wait()
        case "length" | "refusal":
            return script.ending
    return "tool" if is_tool else "end"


def _limit(script: Script, words: list[str]) -> int:
    return len(words) if script.after_tokens is None else min(script.after_tokens, len(words))


def _count_words(request: GenerationRequest) -> int:
    return len((request.system or "").split()) + sum(len(turn.text.split()) for turn in request.turns)


_TEXTS = ("when", "answer")
_SECONDS = ("first_token_s", "token_gap_s")
_COUNTS = ("after_tokens", "input_tokens", "output_tokens")


def _read_script(entry: object, place: str) -> Script:
    if not isinstance(entry, dict):
        raise SettingsError(f"{place} must be a table")
    for name, value in entry.items():
        if not _is_right(name, value):
            raise SettingsError(f"{place}.{name}: {value!r} is not understood")
    return Script(**entry)


def _is_right(name: str, value: object) -> bool:
    if name in _TEXTS:
        return isinstance(value, str)
    if name == "ending":
        return value in ENDINGS
    if isinstance(value, bool):
        return False
    if name in _SECONDS:
        return isinstance(value, int | float) and value >= 0
    return name in _COUNTS and isinstance(value, int) and value >= 0
