"""All models of the service."""

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from inference_backend.configuration_file import ConfigurationFile, Document
from inference_backend.errors import NotFoundError
from inference_backend.fleet.configuration import ModelConfiguration, read_models, single_model
from inference_backend.fleet.discovery import Resolve, resolve_addresses
from inference_backend.fleet.engine_kinds import KINDS
from inference_backend.fleet.model import Model
from inference_backend.pools.token_pool import TokenPool
from inference_backend.settings import Settings, Timeouts

MakePool = Callable[[ModelConfiguration], TokenPool]


def make_plain_pool(model: ModelConfiguration) -> TokenPool:
    return TokenPool(model.id, policy=model.scheduling.policy())


class Fleet:
    def __init__(
        self,
        configurations: Iterable[ModelConfiguration],
        *,
        timeouts: Timeouts,
        make_pool: MakePool = make_plain_pool,
        resolve: Resolve = resolve_addresses,
    ) -> None:
        self._timeouts = timeouts
        self._make_pool = make_pool
        self._resolve = resolve
        self._is_running = False
        self._retiring: set[asyncio.Task[None]] = set()
        self.models: Mapping[str, Model] = {one.id: self._make(one) for one in configurations}

    def find(self, name: str) -> Model:
        """Raises NotFoundError."""
        model = self.models.get(name)
        if model is None:
            raise NotFoundError(f"model: {name[:200]}")
        return model

    def reconfigure(self, configurations: Iterable[ModelConfiguration]) -> None:
        """Models that stay keep their queue and their replicas; what is gone finishes what it has begun."""
        before, now = self.models, {}
        for configuration in configurations:
            known = before.get(configuration.id)
            if known is not None:
                known.reconfigure(configuration)
            now[configuration.id] = known or self._make(configuration)
            if known is None and self._is_running:
                now[configuration.id].start()
        self.models = now
        for gone in before.keys() - now.keys():
            self._retire(before[gone])

    async def watch(self) -> None:
        """Start everything and keep it going, until cancelled."""
        self._is_running = True
        for model in self.models.values():
            model.start()
        await asyncio.Event().wait()

    async def aclose(self) -> None:
        self._is_running = False
        retiring = list(self._retiring)
        for task in retiring:
            task.cancel()
        await asyncio.gather(*retiring, *(model.aclose() for model in self.models.values()), return_exceptions=True)

    def report(self) -> list[dict[str, Any]]:
        return [row for model in self.models.values() for row in model.report()]

    def _make(self, configuration: ModelConfiguration) -> Model:
        return Model(
            configuration,
            pool=self._make_pool(configuration),
            default_timeouts=self._timeouts,
            resolve=self._resolve,
        )

    def _retire(self, model: Model) -> None:
        async def finish() -> None:
            try:
                await model.retire()
            finally:
                await model.aclose()

        if self._is_running:
            task = asyncio.create_task(finish(), name=f"retire {model.id}")
            self._retiring.add(task)
            task.add_done_callback(self._retiring.discard)


def build_fleet(
    settings: Settings,
    file: ConfigurationFile | None,
    *,
    environment: Mapping[str, str] = os.environ,
    make_pool: MakePool = make_plain_pool,
) -> Fleet:
    """From the configuration file, and following it; without one, from the environment. Raises SettingsError."""
    if file is None:
        return Fleet([single_model(settings)], timeouts=settings.timeouts, make_pool=make_pool)

    def read(document: Document) -> tuple[ModelConfiguration, ...]:
        models = read_models(document, environment)
        _try_options(models)
        return models

    fleet = Fleet(read(file.document), timeouts=settings.timeouts, make_pool=make_pool)
    file.add_section(read, fleet.reconfigure)
    return fleet


def _try_options(models: Iterable[ModelConfiguration]) -> None:
    """Only the engines of this process understand their options; made here, a mistake is found in time."""
    for model in models:
        for replica in model.replicas:
            if not replica.is_remote:
                KINDS[replica.engine].open(replica, model=model.id, connect_s=1.0)
