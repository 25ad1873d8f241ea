"""The parts that live as long as the process, and the checks that every call of the API starts with."""

from collections.abc import Mapping
from dataclasses import dataclass

from inference_backend.admission import InFlightLimit
from inference_backend.dialect.versions import ApiVersion, read_version
from inference_backend.embeddings.models import EmbeddingModels, open_embeddings
from inference_backend.engines.chat_completions import ChatCompletionsEngine
from inference_backend.engines.llama_cpp import LlamaCppEngine
from inference_backend.engines.vllm import VllmEngine
from inference_backend.errors import NotFoundError
from inference_backend.keys import KeyRegistry, read_key_file
from inference_backend.metrics import Metrics
from inference_backend.record import RequestRecord
from inference_backend.replicas import Replica
from inference_backend.settings import EngineKind, Settings, Timeouts

_ENGINES: dict[EngineKind, type[ChatCompletionsEngine]] = {
    "llama_cpp": LlamaCppEngine,
    "vllm": VllmEngine,
    "openai": ChatCompletionsEngine,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Service:
    keys: KeyRegistry
    replica: Replica
    metrics: Metrics
    in_flight: InFlightLimit
    timeouts: Timeouts
    embeddings: EmbeddingModels

    async def greet(self, headers: Mapping[str, str], record: RequestRecord) -> ApiVersion:
        """Version and key, before anything is read of the body. Raises RequestError or KeyStoreError."""
        caller = await self.keys.identify(headers)
        record.account, record.tier = caller.account, caller.tier
        return read_version(headers.get("anthropic-version"))

    def find_model(self, name: str) -> Replica:
        """Raises NotFoundError."""
        if name != self.replica.model:
            raise NotFoundError(f"model: {name[:200]}")
        return self.replica

    async def aclose(self) -> None:
        await self.embeddings.aclose()
        await self.replica.engine.aclose()
        await self.keys.aclose()


def build_service(settings: Settings) -> Service:
    """Raises SettingsError for a key file that cannot be read."""
    metrics = Metrics()
    engine = _ENGINES[settings.engine_kind](
        url=settings.engine_url,
        model=settings.engine_model,
        api_key=settings.engine_api_key,
        connect_s=settings.timeouts.connect_s,
    )
    return Service(
        keys=KeyRegistry(
            redis_url=settings.redis_url,
            service_key_digest=settings.service_key_digest,
            static_keys=read_key_file(settings.key_file) if settings.key_file else {},
        ),
        replica=Replica(engine, model=settings.engine_model, notice=settings.engine_notice),
        metrics=metrics,
        in_flight=InFlightLimit(settings.max_in_flight, metrics.in_flight),
        timeouts=settings.timeouts,
        embeddings=open_embeddings(settings, on_call=metrics.batch.observe),
    )
