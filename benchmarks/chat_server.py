"""The application as benchmarks run it: the same, but one sender may send as fast as it can. `uvicorn` imports it."""

from __future__ import annotations

from config.asgi import application  # isort: skip  # sets Django up, before any model is imported
from chat.services.messages import SENDS

SENDS.widen(capacity=1e9)

__all__ = ["application"]
