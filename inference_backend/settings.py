"""Configuration from the environment. A wrong value stops the start and names its variable."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args
from urllib.parse import urlsplit

EngineKind = Literal["llama_cpp", "vllm", "openai", "messages"]
ENGINE_KINDS: tuple[EngineKind, ...] = get_args(EngineKind)


class SettingsError(ValueError):
    """Names the variable and what it should hold."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeouts:
    """Seconds, one per phase of an answer. `queue_s`: until a replica takes it. `total_s`: from there to its end."""

    connect_s: float = 2.0
    queue_s: float = 60.0
    first_token_s: float = 120.0
    between_tokens_s: float = 30.0
    total_s: float = 900.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    #: Empty where a configuration file names the models.
    engine_url: str = ""
    config_file: Path | None = None
    engine_kind: EngineKind = "llama_cpp"
    engine_model: str = "smollm2-135m-instruct"
    engine_tools: Literal["auto", "forced"] | None = None
    engine_api_key: str | None = field(default=None, repr=False)
    #: What people should know about the model before they judge it; shown where it is picked.
    engine_notice: str = ""
    redis_url: str | None = field(default=None, repr=False)
    service_key_digest: str | None = field(default=None, repr=False)
    key_file: Path | None = None
    timeouts: Timeouts = field(default_factory=Timeouts)
    max_in_flight: int = 2048
    #: Of the bodies of all requests that are being read or answered.
    max_bodies_mib: int = 512
    #: How long what runs may take when the process is told to end.
    shutdown_s: float = 8.0
    #: How long new requests are refused with 503 before an idle process closes its sockets.
    linger_s: float = 0.0
    #: How long a caller may leave a stream unread.
    stalled_caller_s: float = 60.0
    #: Serve embeddings from the table in the `wordllama` wheel, beside those of a configuration file.
    embeds_by_table: bool = False
    safety_policy: Path | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Settings":
        """Raises SettingsError. The service key is kept as its SHA-256 only."""
        service_key = environment.get("INFERENCE_SERVICE_KEY")
        key_file = environment.get("INFERENCE_KEY_FILE")
        redis_url = environment.get("REDIS_URL") or None
        if not (service_key or key_file or redis_url):
            raise SettingsError(
                "set REDIS_URL, INFERENCE_KEY_FILE or INFERENCE_SERVICE_KEY: without one of them no key can be checked"
            )
        config_file = environment.get("INFERENCE_CONFIG")
        defaults = Timeouts()
        return cls(
            config_file=Path(config_file) if config_file else None,
            engine_url=""
            if config_file
            else read_engine_url(environment.get("INFERENCE_ENGINE_URL", ""), place="INFERENCE_ENGINE_URL"),
            engine_kind=_read_kind(environment.get("INFERENCE_ENGINE_KIND", "llama_cpp")),
            engine_model=environment.get("INFERENCE_ENGINE_MODEL") or "smollm2-135m-instruct",
            engine_tools=_read_tools(environment),
            engine_api_key=environment.get("INFERENCE_ENGINE_API_KEY") or None,
            engine_notice=environment.get("INFERENCE_ENGINE_NOTICE", ""),
            redis_url=redis_url,
            service_key_digest=hashlib.sha256(service_key.encode()).hexdigest() if service_key else None,
            key_file=Path(key_file) if key_file else None,
            timeouts=Timeouts(
                connect_s=_read_seconds(environment, "INFERENCE_CONNECT_TIMEOUT_S", defaults.connect_s),
                queue_s=_read_seconds(environment, "INFERENCE_QUEUE_TIMEOUT_S", defaults.queue_s),
                first_token_s=_read_seconds(environment, "INFERENCE_FIRST_TOKEN_TIMEOUT_S", defaults.first_token_s),
                between_tokens_s=_read_seconds(environment, "INFERENCE_TOKEN_GAP_TIMEOUT_S", defaults.between_tokens_s),
                total_s=_read_seconds(environment, "INFERENCE_TOTAL_TIMEOUT_S", defaults.total_s),
            ),
            max_in_flight=_read_count(environment, "INFERENCE_MAX_IN_FLIGHT", 2048),
            max_bodies_mib=_read_count(environment, "INFERENCE_MAX_BODIES_MIB", 512),
            shutdown_s=_read_seconds(environment, "INFERENCE_SHUTDOWN_S", 8.0),
            linger_s=_read_seconds(environment, "INFERENCE_LINGER_S", 0.0)
            if "INFERENCE_LINGER_S" in environment
            else 0.0,
            stalled_caller_s=_read_seconds(environment, "INFERENCE_STALLED_CALLER_S", 60.0),
            safety_policy=Path(environment["INFERENCE_SAFETY_POLICY"])
            if environment.get("INFERENCE_SAFETY_POLICY")
            else None,
            embeds_by_table=_read_choice(environment, "INFERENCE_EMBEDDINGS", ("", "static")) == "static",
        )


def read_engine_url(value: str, *, place: str) -> str:
    """The address without the suffix of an API. Raises SettingsError naming `place`."""
    if not _is_address(value):
        raise SettingsError(f"{place} must be an http(s) address such as http://127.0.0.1:8081, not {value!r}")
    # Operators paste the address with the suffix that OpenAI clients want; the paths here bring their own.
    return value.rstrip("/").removesuffix("/v1")


def _is_address(value: str) -> bool:
    try:
        parts = urlsplit(value)
        # The port is looked at only when it is asked for.
        is_complete = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and is_complete and value.isprintable() and " " not in value


def _read_kind(value: str) -> EngineKind:
    kind = next((known for known in ENGINE_KINDS if known == value), None)
    if kind is None:
        raise SettingsError(f"INFERENCE_ENGINE_KIND must be one of {', '.join(ENGINE_KINDS)}, not {value!r}")
    return kind


def _read_choice(environment: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    value = environment.get(name, choices[0])
    if value not in choices:
        raise SettingsError(f"{name} must be one of {', '.join(filter(None, choices))} or empty, not {value!r}")
    return value


def _read_tools(environment: Mapping[str, str]) -> Literal["auto", "forced"] | None:
    match _read_choice(environment, "INFERENCE_ENGINE_TOOLS", ("", "auto", "forced")):
        case "auto":
            return "auto"
        case "forced":
            return "forced"
        case _:
            return None


def _read_seconds(environment: Mapping[str, str], name: str, default: float) -> float:
    value = environment.get(name)
    try:
        seconds = float(value) if value else default
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 86_400:
        raise SettingsError(f"{name} must be a number of seconds above 0, not {value!r}")
    return seconds


def _read_count(environment: Mapping[str, str], name: str, default: int) -> int:
    value = environment.get(name)
    if value and not (value.isascii() and value.isdigit() and int(value) > 0):
        raise SettingsError(f"{name} must be a whole number above 0, not {value!r}")
    return int(value) if value else default
