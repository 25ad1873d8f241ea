"""The embedding models of the service, each with its pool."""

import asyncio
import contextlib
import os
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inference_backend.configuration_file import ConfigurationFile
from inference_backend.embeddings.configuration import EmbeddingConfiguration, read_embeddings, static_model
from inference_backend.engines.embedding import Embedding
from inference_backend.engines.embeddings import EmbeddingsServer, static_table
from inference_backend.engines.simulated_call import SimulatedCall
from inference_backend.errors import ForbiddenError, InvalidRequestError, NotFoundError
from inference_backend.pools.batch_pool import TICK_S, BatchPool
from inference_backend.pools.batch_worker import BatchWorker
from inference_backend.pools.submission import Submission, Ticket
from inference_backend.scheduling.batch import BatchScheduler
from inference_backend.scheduling.delay_gate import DelayGate
from inference_backend.settings import Settings
from inference_backend.tiers import Tier

CONNECT_S = 2.0
#: How long a changed model may take to be ready before it replaces the old one all the same.
SWITCH_S = 60.0
POLL_S = 0.05

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

    def __init__(self, configurations: Sequence[EmbeddingConfiguration], *, on_call: CallObserver) -> None:
        self._on_call = on_call
        self._models = {one.id: self._open(one) for one in configurations}
        self._changes: set[asyncio.Task[None]] = set()
        self._is_started = False

    def find(self, name: str) -> EmbeddingModel:
        """Raises NotFoundError."""
        model = self._models.get(name)
        if model is None:
            raise NotFoundError(f"model: {name[:200]}")
        return model

    def all(self) -> Sequence[EmbeddingModel]:
        return tuple(self._models.values())

    def start(self) -> None:
        self._is_started = True
        for model in self._models.values():
            _start(model)

    def replace(self, configurations: Sequence[EmbeddingConfiguration]) -> None:
        """Models that are new or different take over when they are ready; those they replace finish what they have."""
        wanted = {one.id: one for one in configurations}
        for name in set(self._models) - set(wanted):
            self._run(_drain(self._models.pop(name)))
        for one in wanted.values():
            present = self._models.get(one.id)
            if present is None or present.configuration != one:
                self._run(self._switch(one))

    async def aclose(self) -> None:
        for change in self._changes:
            change.cancel()
        await asyncio.gather(*self._changes, return_exceptions=True)
        await asyncio.gather(*(model.pool.aclose() for model in self._models.values()))

    def _open(self, one: EmbeddingConfiguration) -> EmbeddingModel:
        return EmbeddingModel(configuration=one, pool=_pool(one, self._on_call))

    async def _switch(self, one: EmbeddingConfiguration) -> None:
        model, taken_over = self._open(one), False
        try:
            if self._is_started:
                _start(model)
                await _until(lambda: model.pool.is_ready, within_s=SWITCH_S)
            before = self._models.get(one.id)
            self._models[one.id], taken_over = model, True
        finally:
            if not taken_over:
                await model.pool.aclose()
        if before:
            await _drain(before)

    def _run(self, change: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(change)
        self._changes.add(task)
        task.add_done_callback(self._changes.discard)


def open_embeddings(
    settings: Settings,
    file: ConfigurationFile | None,
    *,
    on_call: CallObserver,
    environment: Mapping[str, str] = os.environ,
) -> EmbeddingModels:
    """Raises SettingsError."""
    own = (static_model(),) if settings.embeds_by_table else ()

    def read(document: Mapping[str, Any]) -> tuple[EmbeddingConfiguration, ...]:
        return (*read_embeddings(document, environment), *own)

    if file is None:
        return EmbeddingModels(own, on_call=on_call)
    models = EmbeddingModels(read(file.document), on_call=on_call)
    file.add_section(read, models.replace)
    return models


def _start(model: EmbeddingModel) -> None:
    # A static table starts with the first text: until then it would only take time from the application.
    model.pool.start(verified=model.configuration.engine != "openai")


async def _drain(model: EmbeddingModel) -> None:
    try:
        await _until(lambda: model.pool.is_idle, within_s=model.configuration.queue_s)
    finally:
        await model.pool.aclose()


async def _until(holds: Callable[[], bool], *, within_s: float) -> None:
    """Or until the time is up."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            while not holds():  # noqa: ASYNC110 - the states of a pool are not events
                await asyncio.sleep(POLL_S)


def _pool(one: EmbeddingConfiguration, on_call: CallObserver) -> BatchPool[str, Embedding]:
    scheduler: BatchScheduler[Ticket[str, Embedding]] = BatchScheduler(
        max_size=one.max_size,
        call_s=one.call_ms / 1000,
        watchdog_factor=1000 * one.timeout_s / one.call_ms,
        gate=None if one.engine == "static" else DelayGate(one.bands()),
        reserved_free=one.reserved_free,
        tick_s=TICK_S,
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
