"""The embedding models of the service, each with its pool."""

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from inference_backend.configuration_file import ConfigurationFile
from inference_backend.embeddings.configuration import EmbeddingConfiguration, read_embeddings, static_model
from inference_backend.engines.embedding import Embedding
from inference_backend.engines.embeddings import EmbeddingsServer, static_table
from inference_backend.engines.simulated_call import SimulatedCall
from inference_backend.errors import ForbiddenError, InvalidRequestError, NotFoundError
from inference_backend.pools.batch_pool import BatchPool, Submission, Ticket
from inference_backend.pools.batch_worker import BatchWorker
from inference_backend.scheduling.batch import BatchScheduler
from inference_backend.scheduling.delay_gate import DelayGate
from inference_backend.settings import Settings
from inference_backend.tiers import Tier

CONNECT_S = 2.0

#: Called with the model, inputs, seconds and the outcome of each call.
CallObserver = Callable[[str, int, float, str], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class EmbeddingModel:
    configuration: EmbeddingConfiguration
    pool: BatchPool[str, Embedding]

    @property
    def id(self) -> str:
        return self.configuration.id

    def enter(self, texts: Sequence[str], *, tier: Tier) -> Submission[str, Embedding]:
        """Raises what BatchPool.enter raises."""
        return self.pool.enter(texts, tier=tier, deadline_s=self.configuration.queue_s)

    def check(self, texts: Sequence[str], *, dimensions: int | None, tier: Tier) -> None:
        """Raises InvalidRequestError for what this model does not do, ForbiddenError for a tier it is not for."""
        if tier not in self.configuration.tiers:
            raise ForbiddenError(f"{self.id} is not available to the tier {tier}.")
        if dimensions is not None and dimensions != self.configuration.dimensions:
            raise InvalidRequestError(
                f"{self.id} has {self.configuration.dimensions or 'a fixed number of'} dimensions and no others",
                field="dimensions",
            )
        limit = self.configuration.max_input_bytes
        for index, text in enumerate(texts):
            # A character is at most four bytes: most texts are known to fit without being encoded.
            if 4 * len(text) > limit and (size := len(text.encode())) > limit:
                raise InvalidRequestError(f"is {size} bytes long; the limit is {limit}", field=f"input.{index}")


class EmbeddingModels:
    """Raises nothing at the start: a model whose workers are not well answers 529 until they are."""

    def __init__(self, models: Mapping[str, EmbeddingModel]) -> None:
        self._models = models

    def find(self, name: str) -> EmbeddingModel:
        """Raises NotFoundError."""
        model = self._models.get(name)
        if model is None:
            raise NotFoundError(f"model: {name[:200]}")
        return model

    def all(self) -> Sequence[EmbeddingModel]:
        return tuple(self._models.values())

    def start(self) -> None:
        for model in self._models.values():
            # A static table starts with the first text: until then it would only take time from the application.
            model.pool.start(verified=model.configuration.engine != "openai")

    async def aclose(self) -> None:
        await asyncio.gather(*(model.pool.aclose() for model in self._models.values()))


def open_embeddings(
    settings: Settings, *, on_call: CallObserver, environment: Mapping[str, str] = os.environ
) -> EmbeddingModels:
    """Raises SettingsError."""
    configurations: Sequence[EmbeddingConfiguration] = ()
    if settings.config_file:
        configurations = read_embeddings(ConfigurationFile(settings.config_file).document, environment)
    if settings.embeds_by_table:
        configurations = [*configurations, static_model()]
    return open_models(configurations, on_call=on_call)


def open_models(configurations: Sequence[EmbeddingConfiguration], *, on_call: CallObserver) -> EmbeddingModels:
    return EmbeddingModels(
        {one.id: EmbeddingModel(configuration=one, pool=_pool(one, on_call)) for one in configurations}
    )


def _pool(one: EmbeddingConfiguration, on_call: CallObserver) -> BatchPool[str, Embedding]:
    scheduler: BatchScheduler[Ticket[str, Embedding]] = BatchScheduler(
        max_size=one.max_size,
        call_s=one.call_ms / 1000,
        watchdog_factor=1000 * one.timeout_s / one.call_ms,
        gate=None if one.engine == "static" else DelayGate(one.bands()),
        reserved_free=one.reserved_free,
    )
    return BatchPool(
        scheduler,
        dict(_workers(one)),
        watchdog_s=one.timeout_s,
        name=one.id,
        max_waiting=one.max_waiting,
        on_call=lambda inputs, seconds, outcome: on_call(one.id, inputs, seconds, outcome),
    )


def _workers(one: EmbeddingConfiguration) -> Iterator[tuple[str, BatchWorker[str, Embedding]]]:
    for number in range(one.workers):
        match one.engine:
            case "static":
                yield f"static-{number}", static_table()
            case "simulated":
                device = SimulatedCall(call_s=one.call_ms / 1000, max_size=one.max_size, faults=one.script())
                yield f"simulated-{number}", device
            case "openai":
                for url in one.addresses:
                    server = EmbeddingsServer(
                        url=url, model=one.model or one.id, api_key=one.api_key, connect_s=CONNECT_S
                    )
                    yield f"{url} {number}", server
