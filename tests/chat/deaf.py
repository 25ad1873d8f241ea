"""The application with the repair of gaps switched off: no test of losses may pass on it. For `config.server`."""

from __future__ import annotations

from config.asgi import application  # isort: skip  # sets Django up, before any model is imported
from chat.drain import Delivery

Delivery.repairs_gaps = False

__all__ = ["application"]
