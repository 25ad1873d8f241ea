"""A model that decides by itself to call tools: a scripted engine behind our real inference backend."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tests.inference_backend.conftest import settings_for
from tests.inference_backend.running import running_backend
from tests.inference_backend.scripted_engine import MODEL, ScriptedEngine

TOOLS = """[
  {"name": "get_weather", "description": "The weather of a city",
   "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}},
  {"name": "get_time", "input_schema": {"type": "object", "properties": {}}}
]"""


@contextlib.contextmanager
def tool_model() -> Iterator[tuple[ScriptedEngine, str]]:
    """The engine, whose `play` says what comes next, and the address of the backend in front of it."""
    engine = ScriptedEngine()
    engine.start()
    try:
        with running_backend(
            settings_for(engine.url, INFERENCE_ENGINE_MODEL=MODEL, INFERENCE_ENGINE_TOOLS="auto")
        ) as address:
            yield engine, address
    finally:
        engine.stop()
