"""The engine behind the service, and whether it may be given work."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable
from typing import Literal, TypeVar

from inference_backend.engines.protocol import (
    Engine,
    GenerationRequest,
    ServedModel,
    TextDelta,
    Turn,
)
from inference_backend.errors import (
    BackendError,
    EngineFailedError,
    EngineTimeoutError,
    EngineUnavailableError,
)

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")
State = Literal["down", "verifying", "ready"]

READY_POLL_S = 1.0
DOWN_POLL_S = 0.25
HEALTH_TIMEOUT_S = 5.0
GOLDEN_TIMEOUT_S = 60.0
SILENCE_S = 15.0
# Whether an engine answers "healthy" says little: some do while loading, or with a broken device. So it has to speak.
GOLDEN = GenerationRequest(
    turns=(Turn(role="user", text="What is the capital of France?"),), max_tokens=8, temperature=0.0
)


class Replica:
    """One engine and what is known of it. Only a verified one is `ready` and takes requests."""

    def __init__(self, engine: Engine, *, model: str, notice: str = "") -> None:
        self.engine = engine
        self.model = model
        self.notice = notice
        self.state: State = "down"
        self.reason = "not verified yet"
        self.served: ServedModel | None = None
        self._check_now = asyncio.Event()
        self._alive_at = float("-inf")

    def ready_model(self) -> ServedModel:
        """What the engine serves. Raises EngineUnavailableError unless it is ready."""
        if self.state != "ready" or self.served is None:
            raise EngineUnavailableError(f"The engine of {self.model} is not ready; try again shortly.")
        return self.served

    def report(self) -> dict[str, object]:
        return {"model": self.model, "state": self.state, "reason": self.reason}

    def suspect(self) -> None:
        """A request saw it fail: look now instead of at the next poll."""
        self._check_now.set()

    def note_sign_of_life(self) -> None:
        """A request heard from it: then a slow health check means that it is busy, not that it is gone."""
        self._alive_at = time.monotonic()

    async def watch(self) -> None:
        """Verify, watch, verify again after every absence; until cancelled."""
        while True:
            if self.state == "ready":
                await self._recheck()
            else:
                await self._verify()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(READY_POLL_S if self.state == "ready" else DOWN_POLL_S):
                    await self._check_now.wait()
            self._check_now.clear()

    async def _recheck(self) -> None:
        try:
            await _within(HEALTH_TIMEOUT_S, self.engine.check_health())
        except EngineTimeoutError as error:
            if time.monotonic() - self._alive_at > SILENCE_S:
                self._enter("down", error.message)
        except BackendError as error:
            self._enter("down", error.message)

    async def _verify(self) -> None:
        try:
            await _within(HEALTH_TIMEOUT_S, self.engine.check_health())
            self._enter("verifying", "health is good; asking for a known answer")
            self.served = await _within(HEALTH_TIMEOUT_S, self.engine.describe())
            await _within(GOLDEN_TIMEOUT_S, self._speak())
        except BackendError as error:
            self._enter("down", error.message)
        else:
            self._enter("ready", "verified")

    async def _speak(self) -> None:
        said = ""
        async with contextlib.aclosing(self.engine.generate(GOLDEN)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    said += event.text
        if not said.strip():
            raise EngineFailedError("The engine gave an empty answer to a simple question.")

    def _enter(self, state: State, reason: str) -> None:
        if state != self.state or reason != self.reason:
            logger.info("replica state", extra={"model": self.model, "state": state, "reason": reason})
        self.state, self.reason = state, reason


async def _within(seconds: float, work: Awaitable[Answer]) -> Answer:
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError as error:
        raise EngineTimeoutError("The engine did not answer in time.") from error
