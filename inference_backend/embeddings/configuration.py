"""`[[embeddings]]` of the configuration file; docs/inference-configuration.md explains every key."""

import itertools
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, ValidationError, model_validator

from inference_backend.engines.simulated_call import Faults
from inference_backend.fleet.configuration import Count, Name, Seconds, Table
from inference_backend.scheduling.delay_gate import BATCH_CALL_BANDS, Band
from inference_backend.settings import SettingsError, read_engine_url
from inference_backend.tiers import TIERS, Tier

Kind = Literal["static", "openai", "simulated"]

STATIC_MODEL = "wordllama-l2-supercat-256"


class EmbeddingConfiguration(Table):
    """One model. `workers`: calls at a time, on each of the `urls` where there are several servers. `call_ms`: what
    one call takes; `timeout_ms`: when it is taken for lost.

    `delay_ms`: for each tier, the expected wait up to which everybody and from which nobody is admitted. A model of
    the kind `static` has no such gate: its calls take no time worth refusing anybody for. `queue_s` must leave time for
    the gate, or those who pay run out of it together with those who do not.
    """

    id: Name
    engine: Kind
    url: str = ""
    urls: tuple[str, ...] = ()
    model: Name | None = None
    api_key_env: Name | None = None
    api_key: str | None = Field(default=None, repr=False)
    workers: Annotated[int, Field(ge=1, le=1024)] = 1
    max_size: Annotated[int, Field(ge=1, le=2048)] = 50
    call_ms: Annotated[float, Field(gt=0, le=600_000)] = 200.0
    timeout_ms: Annotated[float, Field(gt=0, le=600_000)] | None = None
    reserved_free: Annotated[float, Field(ge=0)] = 3
    queue_s: Seconds = 30.0
    max_waiting: Count = 4096
    max_input_bytes: Count = 32 * 1024
    dimensions: Count | None = None
    tiers: tuple[Tier, ...] = TIERS
    delay_ms: dict[Tier, tuple[float, float]] = {}
    faults: dict[str, Any] = {}

    @model_validator(mode="after")
    def _check(self) -> Self:
        self._check_addresses()
        if self.faults and self.engine != "simulated":
            raise ValueError("only a simulated engine has faults")
        if self.timeout_ms is not None and self.timeout_ms <= self.call_ms:
            raise ValueError("timeout_ms must be above call_ms")
        if self.queue_s * 1000 <= self.call_ms:
            raise ValueError("queue_s must be above call_ms: nothing could be answered in time")
        if self.engine != "static":
            self._check_order_of_shedding()
        self.script()
        return self

    def _check_order_of_shedding(self) -> None:
        """The lower tiers must be turned away by delay before a higher one is, and before anybody runs out of time."""
        bands = self.bands()
        present = [tier for tier in TIERS if tier in self.tiers]
        for lower, higher in itertools.pairwise(present):
            high_ms, next_ms = 1000 * bands[lower].high_s, 1000 * bands[higher].high_s
            if high_ms > next_ms:
                raise ValueError(
                    f"delay_ms ends at {high_ms:g} for {lower} and at {next_ms:g} for {higher}, "
                    f"who would be turned away first; {lower} must not end above {higher}"
                )
            if self.queue_s * 1000 < self.call_ms + high_ms:
                raise ValueError(
                    f"queue_s is too short: all tiers would run out of time before {lower} is turned away by delay; "
                    f"it must be at least call_ms and the end of delay_ms for {lower}, "
                    f"together {(self.call_ms + high_ms) / 1000:g} s"
                )

    def _check_addresses(self) -> None:
        if self.engine != "openai" and self.addresses:
            raise ValueError(f"an engine of the kind {self.engine} has no url")
        if self.engine == "openai" and not self.addresses:
            raise ValueError("an engine of the kind openai needs url or urls")
        if len(set(self.addresses)) != len(self.addresses):
            raise ValueError("urls has an address twice")

    @property
    def addresses(self) -> tuple[str, ...]:
        """Without the suffix of an API. Raises SettingsError."""
        given = ((self.url,) if self.url else ()) + self.urls
        return tuple(read_engine_url(url, place="url") for url in given)

    @property
    def timeout_s(self) -> float:
        return (self.timeout_ms or 1.25 * self.call_ms) / 1000

    def bands(self) -> dict[Tier, Band]:
        return {
            tier: Band(low_s=self.delay_ms[tier][0] / 1000, high_s=self.delay_ms[tier][1] / 1000)
            if tier in self.delay_ms
            else BATCH_CALL_BANDS[tier]
            for tier in TIERS
        }

    def script(self) -> Faults:
        return Faults.from_table(self.faults)


class _Document(BaseModel):
    """The other sections belong to other parts of the service."""

    embeddings: tuple[EmbeddingConfiguration, ...] = ()


def read_embeddings(document: Mapping[str, Any], environment: Mapping[str, str]) -> tuple[EmbeddingConfiguration, ...]:
    """From the loaded configuration file. Raises SettingsError naming place and reason."""
    try:
        models = _Document.model_validate(document).embeddings
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise SettingsError(f"{place}: {first['msg'].removeprefix('Value error, ')}") from None
    ids = [model.id for model in models]
    if len(set(ids)) != len(ids):
        raise SettingsError("embeddings has two entries with the same id")
    return tuple(_with_key(model, environment) for model in models)


def static_model() -> EmbeddingConfiguration:
    """What is served without a configuration file: vectors in well under a millisecond, in one process."""
    return EmbeddingConfiguration(id=STATIC_MODEL, engine="static", call_ms=2, timeout_ms=15_000, dimensions=256)


def _with_key(model: EmbeddingConfiguration, environment: Mapping[str, str]) -> EmbeddingConfiguration:
    if model.api_key_env is None:
        return model
    key = environment.get(model.api_key_env)
    if not key:
        raise SettingsError(f"embeddings {model.id}: the variable {model.api_key_env} is not set")
    return model.model_copy(update={"api_key": key})
