"""A service whose accounts have limits, and the short requests that meet them."""

import json
from pathlib import Path
from typing import Any

import httpx2

from inference_backend.settings import Settings
from tests.inference_backend.running import SERVICE_KEY
from tests.inference_backend.scripted_engine import MODEL, ScriptedEngine

BODY: dict[str, Any] = {"model": MODEL, "max_tokens": 20, "messages": [{"role": "user", "content": "hello"}]}


def limited(folder: Path, engine: ScriptedEngine, redis_url: str | None, **changes: object) -> Settings:
    """`free` has the limits in `changes`; the other tiers have the defaults. INFERENCE_* in `changes` are variables."""
    variables = {name: str(value) for name, value in changes.items() if name.startswith("INFERENCE_")}
    limits = {name: value for name, value in changes.items() if name not in variables}
    path = folder / "inference.toml"
    path.write_text(
        f'[[models]]\nid = "{MODEL}"\n[[models.replicas]]\nname = "one"\nengine = "llama_cpp"\nurl = "{engine.url}"\n'
        "[tiers.free]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in limits.items())
    )
    environment = {"INFERENCE_CONFIG": str(path), "INFERENCE_SERVICE_KEY": SERVICE_KEY, **variables}
    return Settings.from_environment(environment | ({"REDIS_URL": redis_url} if redis_url else {}))


def headers_of(account: str, *, tier: str = "free", key: str | None = None) -> dict[str, str]:
    return {
        "x-api-key": SERVICE_KEY,
        "anthropic-version": "2023-06-01",
        "x-playground-account": account,
        "x-playground-tier": tier,
    } | ({"idempotency-key": key} if key else {})


def ask(address: str, account: str, *, key: str | None = None, **changes: object) -> httpx2.Response:
    return httpx2.post(
        f"{address}/v1/messages",
        json=BODY | changes,
        headers=headers_of(account, key=key),
        trust_env=False,
        timeout=30,
    )
