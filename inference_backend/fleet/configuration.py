"""Models and replicas as the configuration file declares them; docs/inference-configuration.md explains every key.

An operator's mistake is refused with the place and the reason, never corrected in silence.
"""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from inference_backend.engines.protocol import Capabilities
from inference_backend.fleet.engine_kinds import KINDS
from inference_backend.scheduling.token import TokenPolicy
from inference_backend.settings import Settings, SettingsError, Timeouts, read_engine_url
from inference_backend.tiers import TIERS, Tier

Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\s\x00-\x1f]+$")]
Digest = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
Seconds = Annotated[float, Field(gt=0, lt=86_400)]
# A name that no file can have as a key: a secret in the file is refused like any other unknown key.
Secret = Annotated[str | None, Field(repr=False, validation_alias="\0")]
SHOWN_ERRORS = 3


class Table(BaseModel):
    """A key that is not known is most often a known one misspelt, so it is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class EngineTable(Table):
    """What replicas of one kind have in common, declared one by one or found by DNS.

    `slots`: answers at a time. `kv_tokens`: tokens of prompt and answer that all of them may hold together.
    `ready_in_s`: how long a start takes, shown to callers while nothing is ready. `tools`: "auto" where the server
    calls tools as its model was taught, "forced" where calls are forced by schema; left out, what is usual of the kind.
    """

    engine: str
    slots: Count | None = None
    kv_tokens: Count | None = None
    digest: Digest | None = None
    api_key_env: Name | None = None
    ready_in_s: Seconds | None = None
    tools: Literal["auto", "forced"] | None = None
    options: dict[str, Any] = {}

    @model_validator(mode="after")
    def _check_engine(self) -> Self:
        if self.engine not in KINDS:
            raise ValueError(f"engine must be one of {', '.join(KINDS)}, not {self.engine!r}")
        if self.tools == "auto" and not self.is_remote:
            raise ValueError(f"an engine of the kind {self.engine} cannot decide by itself whether to call a tool")
        return self

    @property
    def capabilities(self) -> Capabilities:
        usual = KINDS[self.engine].capabilities
        return usual if self.tools is None else dataclasses.replace(usual, own_tools=self.tools == "auto")

    @property
    def is_remote(self) -> bool:
        return KINDS[self.engine].is_remote


class ReplicaConfiguration(EngineTable):
    """`[[models.replicas]]`. `api_key` is not a key of the file: secrets come from the variable that it names."""

    name: Name
    url: str = ""
    api_key: Secret = None

    @model_validator(mode="after")
    def _check_url(self) -> Self:
        if self.is_remote:
            read_engine_url(self.url, place="url")
        elif self.url:
            raise ValueError(f"an engine of the kind {self.engine} has no url")
        return self


class DnsConfiguration(EngineTable):
    """`[[models.dns]]`: every address of `host` is a replica. Names in certificates fit no addresses, so: http."""

    host: Name
    port: Annotated[int, Field(ge=1, le=65_535)]
    every_s: Seconds = 10.0
    api_key: Secret = None

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        if not self.is_remote:
            raise ValueError(f"an engine of the kind {self.engine} has no address")
        return self

    def replica_at(self, address: str) -> ReplicaConfiguration:
        literal = f"[{address}]" if ":" in address else address
        return ReplicaConfiguration(
            name=f"{self.host}/{address}",
            url=f"http://{literal}:{self.port}",
            engine=self.engine,
            slots=self.slots,
            kv_tokens=self.kv_tokens,
            digest=self.digest,
            api_key_env=self.api_key_env,
            ready_in_s=self.ready_in_s,
            tools=self.tools,
            options=self.options,
        ).model_copy(update={"api_key": self.api_key})


class TimeoutsTable(Table):
    """`[models.timeouts]`, in seconds; what is left out is as in the environment."""

    connect_s: Seconds | None = None
    queue_s: Seconds | None = None
    first_token_s: Seconds | None = None
    between_tokens_s: Seconds | None = None
    total_s: Seconds | None = None


class SchedulingTable(Table):
    """`[models.scheduling]`: TokenPolicy, as far as it is an operator's business. In force for a queue that is made."""

    prefill_portion: Count = TokenPolicy().prefill_portion
    headroom: dict[Tier, Annotated[float, Field(ge=0, lt=1)]] = dict(TokenPolicy().headroom)
    age_s: dict[Tier, Seconds] = dict(TokenPolicy().age_s)

    def policy(self) -> TokenPolicy:
        return TokenPolicy(prefill_portion=self.prefill_portion, headroom=self.headroom, age_s=self.age_s)


class ModelConfiguration(Table):
    """`[[models]]`.

    `digest`: the version that callers get. `golden`: the known answer to the golden question, or one for each digest.
    `switch_replicas`: how many replicas of a new version must be verified before it takes over; None means all.
    `replay_s`: an answer whose replica is lost is written again elsewhere and compared, if that takes no longer by the
    speed that is measured; else it is continued from its text. `replay_tokens`: by its length instead.
    `continue_sampled`: whether an answer that was sampled may be continued elsewhere, with other words than it would
    have had. `drain_s`: how long a replica that is taken out may finish what it has begun.
    """

    id: Name
    digest: Digest | None = None
    notice: str = ""
    tiers: tuple[Tier, ...] = TIERS
    golden: str | dict[Digest, str] = {}
    switch_replicas: Count | None = None
    replay_s: Seconds = 10.0
    replay_tokens: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    continue_sampled: bool = False
    drain_s: Seconds = 900.0
    timeouts: TimeoutsTable = TimeoutsTable()
    scheduling: SchedulingTable = SchedulingTable()
    replicas: tuple[ReplicaConfiguration, ...] = ()
    dns: tuple[DnsConfiguration, ...] = ()

    @model_validator(mode="after")
    def _check_replicas(self) -> Self:
        if not (self.replicas or self.dns):
            raise ValueError("a model needs [[models.replicas]] or [[models.dns]]")
        for what, names in (("replicas", [one.name for one in self.replicas]), ("dns", [one.host for one in self.dns])):
            if twice := _first_twice(names):
                raise ValueError(f"{what} has two entries named {twice!r}")
        if not self.tiers:
            raise ValueError("tiers must name at least one tier")
        return self

    def golden_for(self, digest: str | None) -> str | None:
        if isinstance(self.golden, str):
            return self.golden
        return self.golden.get(digest) if digest else None

    def timeouts_over(self, defaults: Timeouts) -> Timeouts:
        given = self.timeouts.model_dump(exclude_none=True)
        return Timeouts(**({name: getattr(defaults, name) for name in TimeoutsTable.model_fields} | given))

    def engine_tables(self) -> tuple[EngineTable, ...]:
        return (*self.replicas, *self.dns)


class _Document(BaseModel):
    """The other sections belong to other parts of the service."""

    models: tuple[ModelConfiguration, ...] = ()


def read_models(document: Mapping[str, Any], environment: Mapping[str, str]) -> tuple[ModelConfiguration, ...]:
    """From the loaded configuration file. Raises SettingsError naming place and reason."""
    try:
        models = _Document.model_validate(document).models
    except ValidationError as error:
        raise SettingsError("; ".join(_describe(error)[:SHOWN_ERRORS])) from None
    if not models and not document.get("embeddings"):
        raise SettingsError("[[models]] is missing: there is nothing to serve")
    if twice := _first_twice([model.id for model in models]):
        raise SettingsError(f"models has two entries with the id {twice!r}")
    return tuple(_with_keys(model, environment) for model in models)


def single_model(settings: Settings) -> ModelConfiguration:
    """What the environment variables alone describe: one model on one engine. Raises SettingsError."""
    try:
        return ModelConfiguration(
            id=settings.engine_model,
            notice=settings.engine_notice,
            replicas=(
                ReplicaConfiguration(
                    name="engine",
                    engine=settings.engine_kind,
                    url=settings.engine_url,
                    tools=settings.engine_tools,
                ).model_copy(update={"api_key": settings.engine_api_key}),
            ),
        )
    except ValidationError as error:
        raise SettingsError(f"INFERENCE_ENGINE_*: {'; '.join(_describe(error))}") from None


def _with_keys(model: ModelConfiguration, environment: Mapping[str, str]) -> ModelConfiguration:
    def read(entry: EngineTable, place: str) -> dict[str, str | None]:
        value = environment.get(entry.api_key_env) if entry.api_key_env else None
        if entry.api_key_env and not value:
            raise SettingsError(f"models {model.id}: {place}: the variable {entry.api_key_env} is not set")
        return {"api_key": value}

    return model.model_copy(
        update={
            "replicas": tuple(one.model_copy(update=read(one, one.name)) for one in model.replicas),
            "dns": tuple(one.model_copy(update=read(one, one.host)) for one in model.dns),
        }
    )


def _describe(error: ValidationError) -> list[str]:
    lines = []
    for detail in error.errors(include_url=False, include_input=False, include_context=False):
        place = ".".join(str(part) for part in detail["loc"])
        lines.append(f"{place}: {detail['msg'].removeprefix('Value error, ')}")
    return lines


def _first_twice(names: Sequence[str]) -> str | None:
    return next((name for name, count in Counter(names).items() if count > 1), None)
