"""How long one waits for an engine."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from inference_backend.errors import EngineTimeoutError

Answer = TypeVar("Answer")


async def within(seconds: float, work: Awaitable[Answer]) -> Answer:
    """What `work` gives. Raises EngineTimeoutError; `work` is cancelled then."""
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError as error:
        raise EngineTimeoutError("The engine did not answer in time.") from error
