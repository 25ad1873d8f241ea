"""The kinds of engines, by the name that the configuration uses. Each is imported when it is first used."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from inference_backend.engines.protocol import Capabilities, Engine
from inference_backend.settings import read_engine_url

if TYPE_CHECKING:
    from inference_backend.fleet.configuration import ReplicaConfiguration


@dataclass(frozen=True, slots=True)
class EngineKind:
    """`slots` is assumed where neither the operator nor the engine says how many answers it generates at once."""

    module: str
    name: str
    slots: int
    is_remote: bool = True

    @property
    def capabilities(self) -> Capabilities:
        return cast("Capabilities", self._engine_class.capabilities)

    def open(self, replica: "ReplicaConfiguration", *, model: str, connect_s: float) -> Engine:
        """Connects to nothing yet. Raises SettingsError for options that the engine does not know."""
        made = self._engine_class
        if not self.is_remote:
            return cast("Engine", made(model=model, options=replica.options))
        url = read_engine_url(replica.url, place=replica.name)
        return cast("Engine", made(url=url, model=model, api_key=replica.api_key, connect_s=connect_s))

    @property
    def _engine_class(self) -> Any:
        return getattr(importlib.import_module(f"inference_backend.engines.{self.module}"), self.name)


KINDS: Mapping[str, EngineKind] = {
    "llama_cpp": EngineKind("llama_cpp", "LlamaCppEngine", slots=1),
    # vLLM's own default for the number of sequences in a step.
    "vllm": EngineKind("vllm", "VllmEngine", slots=256),
    "openai": EngineKind("chat_completions", "ChatCompletionsEngine", slots=64),
    "messages": EngineKind("messages", "MessagesEngine", slots=64),
    "simulated": EngineKind("simulated", "SimulatedEngine", slots=8, is_remote=False),
    "scripted": EngineKind("scripted", "ScriptedEngine", slots=64, is_remote=False),
}
