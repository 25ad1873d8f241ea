"""Configuration files for tests: written whole, replaced in one step as a careful operator does."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2

from inference_backend.settings import Settings
from tests.inference_backend.running import SERVICE_KEY, running_backend
from tests.inference_backend.scripted_engine import MODEL, ScriptedEngine
from tests.waiting import wait_until

HEADERS = {"x-api-key": SERVICE_KEY, "anthropic-version": "2023-06-01"}
#: Shorter than in production, so that a test of silence takes no minutes.
TIMEOUTS = {"connect_s": 1.0, "queue_s": 4.0, "first_token_s": 2.0, "between_tokens_s": 0.6, "total_s": 20.0}


class Declared:
    """One model with replicas by name; `write` makes the file say so."""

    def __init__(self, path: Path, **keys: Any) -> None:
        self.path = path
        self.keys: dict[str, Any] = {"id": MODEL, "timeouts": TIMEOUTS, **keys}
        self.replicas: dict[str, dict[str, Any]] = {}

    def add(self, name: str, engine: ScriptedEngine | str, **keys: Any) -> "Declared":
        url = engine if isinstance(engine, str) else engine.url
        self.replicas[name] = {"name": name, "engine": "llama_cpp", "url": url, **keys}
        return self

    def write(self) -> "Declared":
        replicas = "".join(f"[[models.replicas]]\n{_lines(keys)}" for keys in self.replicas.values())
        self.write_text(f"[[models]]\n{_lines(self.keys)}{replicas}")
        return self

    def write_text(self, content: str) -> None:
        draft = self.path.with_suffix(".new")
        draft.write_text(content)
        draft.replace(self.path)

    @property
    def settings(self) -> Settings:
        return Settings.from_environment({"INFERENCE_CONFIG": str(self.path), "INFERENCE_SERVICE_KEY": SERVICE_KEY})

    @contextlib.contextmanager
    def served(self, *, ready: int | None = None) -> Iterator[str]:
        """Yields the address once `ready` replicas take traffic; None: all that are declared."""
        with running_backend(self.settings, wait_for_ready=False) as address:
            wait_until(lambda: len(in_state(address, "ready")) == (len(self.replicas) if ready is None else ready))
            yield address


@contextlib.contextmanager
def scripted_engines(count: int, **fields: Any) -> Iterator[list[ScriptedEngine]]:
    """Running, and sharing their scripts: nobody knows which of them a request goes to."""
    engines = [ScriptedEngine(**fields) for _ in range(count)]
    for engine in engines:
        engine.start()
        engines[0].share_scripts_with(engine)
    try:
        yield engines
    finally:
        for engine in engines:
            engine.stop()


def replicas(address: str) -> dict[str, dict[str, Any]]:
    rows = httpx2.get(f"{address}/readyz", trust_env=False, timeout=30).json()["replicas"]
    return {row["replica"]: row for row in rows}


def in_state(address: str, state: str) -> set[str]:
    return {name for name, row in replicas(address).items() if row["state"] == state}


def metric(address: str, line: str) -> float:
    """The value of a metric, named as it is printed; 0 where it is not printed."""
    text = httpx2.get(f"{address}/metrics", trust_env=False, timeout=30).text
    return next((float(row.rsplit(" ", 1)[1]) for row in text.splitlines() if row.rsplit(" ", 1)[0] == line), 0.0)


def _lines(keys: dict[str, Any]) -> str:
    return "".join(f"{name} = {_toml(value)}\n" for name, value in keys.items())


def _toml(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case dict():
            return "{" + ", ".join(f'"{name}" = {_toml(inner)}' for name, inner in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(_toml, value)) + "]"
        case str():
            escaped = value.replace("\\", "\\\\").replace('"', '\\"')
            return f'"{escaped}"'
        case _:
            return str(value)
