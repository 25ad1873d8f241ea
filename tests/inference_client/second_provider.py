"""Anthropic for tests: our own inference backend, in a process of its own, that knows one key and one model."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path

from tests.inference_backend.running import ServiceProcess, answers
from tests.waiting import wait_until

KEY = "sk-ant-api03-the-key-of-olive-WXYZ"
OPERATORS_KEY = "sk-ant-api03-the-key-of-the-operator-OPER"
MODEL = "claude-sonnet-5"
ANSWER = "Good morning from far away"

_DECLARED = f"""
[[models]]
id = "{MODEL}"

[[models.replicas]]
name = "only"
engine = "scripted"
options = {{ context = 1000, scripts = [{{ when = "", answer = "{ANSWER}" }}] }}

[[models]]
id = "both-have-it"

[[models.replicas]]
name = "other"
engine = "scripted"
options = {{ scripts = [{{ when = "", answer = "{ANSWER}" }}] }}
"""


@contextlib.contextmanager
def second_provider(folder: Path) -> Iterator[ServiceProcess]:
    """Takes KEY and OPERATORS_KEY, and nobody else's; its `address` is the provider's."""
    models, keys = folder / "models.toml", folder / "keys"
    models.write_text(_DECLARED)
    known = {"olive": KEY, "operator": OPERATORS_KEY}
    lines = [f"{hashlib.sha256(key.encode()).hexdigest()} {name} free inference" for name, key in known.items()]
    keys.write_text("\n".join(lines))
    process = ServiceProcess(
        folder / "provider.log", {"INFERENCE_CONFIG": str(models), "INFERENCE_KEY_FILE": str(keys)}
    )
    try:
        wait_until(lambda: answers(f"{process.address}/readyz"))
        yield process
    finally:
        if process.running.poll() is None:
            process.kill()
