"""The parts that live as long as the process, and the checks that every call of the API starts with."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from inference_backend.admission import InFlightLimit
from inference_backend.configuration_file import ConfigurationFile
from inference_backend.dialect.versions import ApiVersion, read_version
from inference_backend.embeddings.models import EmbeddingModels, open_embeddings
from inference_backend.errors import ForbiddenError
from inference_backend.fleet.fleet import Fleet, build_fleet
from inference_backend.fleet.model import Model
from inference_backend.keys import KeyRegistry, read_key_file
from inference_backend.metrics import Metrics
from inference_backend.record import RequestRecord
from inference_backend.settings import Settings
from inference_backend.tiers import read_tier


@dataclass(frozen=True, kw_only=True, slots=True)
class Service:
    keys: KeyRegistry
    file: ConfigurationFile | None
    fleet: Fleet
    metrics: Metrics
    in_flight: InFlightLimit
    embeddings: EmbeddingModels

    async def greet(self, headers: Mapping[str, str], record: RequestRecord) -> ApiVersion:
        """Version and key, before anything is read of the body. Raises RequestError or KeyStoreError."""
        caller = await self.keys.identify(headers)
        record.account, record.tier = caller.account, caller.tier
        return read_version(headers.get("anthropic-version"))

    def find_model(self, name: str, record: RequestRecord) -> Model:
        """Raises NotFoundError, ForbiddenError for a tier that may not use it."""
        model = self.fleet.find(name)
        if read_tier(record.tier or "") not in model.tiers:
            raise ForbiddenError(f"{model.id} is not available to the tier {record.tier}.")
        return model

    async def watch(self) -> None:
        """Keep the fleet and its configuration up to date, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.fleet.watch())
            if self.file is not None:
                tasks.create_task(self.file.watch())

    async def aclose(self) -> None:
        await self.embeddings.aclose()
        await self.fleet.aclose()
        await self.keys.aclose()


def build_service(settings: Settings) -> Service:
    """Raises SettingsError for a configuration or key file that cannot be read."""
    metrics = Metrics()
    file = ConfigurationFile(settings.config_file) if settings.config_file else None
    return Service(
        keys=KeyRegistry(
            redis_url=settings.redis_url,
            service_key_digest=settings.service_key_digest,
            static_keys=read_key_file(settings.key_file) if settings.key_file else {},
        ),
        file=file,
        fleet=build_fleet(settings, file),
        metrics=metrics,
        in_flight=InFlightLimit(settings.max_in_flight, metrics.in_flight),
        embeddings=open_embeddings(settings, on_call=metrics.batch.observe),
    )
