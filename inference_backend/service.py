"""The parts that live as long as the process, and the checks that every call of the API starts with."""

import asyncio
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from inference_backend.admission import InFlightLimit
from inference_backend.bytes_in_hand import BytesInHand
from inference_backend.configuration_file import ConfigurationFile
from inference_backend.dialect.versions import ApiVersion, read_version
from inference_backend.embeddings.models import EmbeddingModels, open_embeddings
from inference_backend.errors import ForbiddenError
from inference_backend.fleet.configuration import ModelConfiguration
from inference_backend.fleet.fleet import Fleet, MakePool, build_fleet
from inference_backend.fleet.model import Model
from inference_backend.idempotency.journal import LocalJournal, SharedJournal
from inference_backend.idempotency.once import OncePerKey
from inference_backend.keys import Caller, KeyRegistry, read_key_file
from inference_backend.limits.configuration import TierLimits, read_tier_limits
from inference_backend.limits.quota import Limits
from inference_backend.metrics import Metrics
from inference_backend.pools.batch_pool import BatchPool
from inference_backend.pools.token_pool import TokenPool
from inference_backend.record import RequestRecord
from inference_backend.safety.policy_file import PolicyFile
from inference_backend.safety.service import open_safety, policy_file, policy_path
from inference_backend.safety.stages import SafetyStages
from inference_backend.scheduling.delay_gate import Band
from inference_backend.scheduling.token import token_gate
from inference_backend.settings import Settings
from inference_backend.store import SharedStore
from inference_backend.tiers import TIERS, Tier

MIB = 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Service:
    keys: KeyRegistry
    file: ConfigurationFile | None
    fleet: Fleet
    metrics: Metrics
    in_flight: InFlightLimit
    bytes_in_hand: BytesInHand
    store: SharedStore | None
    limits: Limits
    once: OncePerKey
    embeddings: EmbeddingModels
    #: None where no policy is given: then nothing is inspected.
    safety: SafetyStages | None
    safety_policy: PolicyFile | None
    stalled_caller_s: float

    async def greet(self, headers: Mapping[str, str], record: RequestRecord) -> tuple[Caller, ApiVersion]:
        """Version and key, before anything is read of the body. Raises RequestError or KeyStoreError."""
        caller = await self.keys.identify(headers)
        record.account, record.tier = caller.account, caller.tier
        record.quota = partial(self.limits.headers, caller.account, caller.tier)
        return caller, read_version(headers.get("anthropic-version"))

    def find_model(self, name: str, tier: Tier) -> Model:
        """Raises NotFoundError, ForbiddenError for a tier that may not use it."""
        model = self.fleet.find(name)
        if tier not in model.tiers:
            raise ForbiddenError(f"{model.id} is not available to the tier {tier}.")
        return model

    def batch_pools(self) -> Iterator[tuple[str, BatchPool[Any, Any]]]:
        for model in self.embeddings.all():
            yield model.id, model.pool
        if self.safety and self.safety.pool:
            yield self.safety.pool.name, self.safety.pool

    async def watch(self) -> None:
        """Keep the fleet, its configuration and the limits up to date, until cancelled."""
        if self.safety:
            self.safety.start()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.limits.watch())
            tasks.create_task(self.fleet.watch())
            if self.safety_policy is not None:
                tasks.create_task(self.safety_policy.watch())
            if self.file is not None:
                tasks.create_task(self.file.watch())

    async def aclose(self) -> None:
        await self.once.aclose()
        await self.limits.aclose()
        await self.embeddings.aclose()
        if self.safety:
            await self.safety.aclose()
        await self.fleet.aclose()
        await self.keys.aclose()
        if self.store:
            await self.store.aclose()


def build_service(settings: Settings) -> Service:
    """Raises SettingsError for a configuration or key file that cannot be read."""
    metrics = Metrics()
    file = ConfigurationFile(settings.config_file) if settings.config_file else None
    store = SharedStore(settings.redis_url) if settings.redis_url else None
    # Of every start anew: what an earlier process held is not this one's.
    process = secrets.token_hex(8)
    policy = policy_path(settings, file)
    safety = open_safety(policy, metrics=metrics.safety, on_call=metrics.batch.observe)
    return Service(
        keys=KeyRegistry(
            redis_url=settings.redis_url,
            service_key_digest=settings.service_key_digest,
            static_keys=read_key_file(settings.key_file) if settings.key_file else {},
        ),
        file=file,
        fleet=build_fleet(settings, file, make_pool=_pool_maker(file, metrics)),
        metrics=metrics,
        in_flight=InFlightLimit(settings.max_in_flight, metrics.in_flight),
        bytes_in_hand=BytesInHand(settings.max_bodies_mib * MIB, metrics.body_bytes),
        store=store,
        limits=_build_limits(file, store, process, metrics),
        once=OncePerKey(
            SharedJournal(store) if store else LocalJournal(), process=process, count=metrics.count_idempotency
        ),
        embeddings=open_embeddings(settings, file, on_call=metrics.batch.observe),
        stalled_caller_s=settings.stalled_caller_s,
        safety=safety,
        safety_policy=policy_file(policy, safety, on_call=metrics.batch.observe) if policy and safety else None,
    )


def _build_limits(file: ConfigurationFile | None, store: SharedStore | None, process: str, metrics: Metrics) -> Limits:
    def apply(tiers: Mapping[Tier, TierLimits]) -> None:
        limits.tiers = tiers

    tiers = read_tier_limits(file.document if file else {})
    limits = Limits(tiers=tiers, store=store, process=process, on_refusal=metrics.count_limited)
    if file:
        file.add_section(read_tier_limits, apply)
    return limits


def _pool_maker(file: ConfigurationFile | None, metrics: Metrics) -> MakePool:
    """The queue of a model that is added later has the bands of then; the others keep theirs."""

    def make(model: ModelConfiguration) -> TokenPool:
        tiers = read_tier_limits(file.document if file else {})
        bands = {tier: Band(low_s=tiers[tier].tightening.low_s, high_s=tiers[tier].tightening.high_s) for tier in TIERS}
        return TokenPool(
            model.id,
            gate=token_gate(bands),
            policy=model.scheduling.policy(),
            observer=metrics.pools.observer(model.id),
        )

    return make
