"""The policy file while the service runs: read again whenever it changes."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from inference_backend.safety.policy import Classifier, Policy, read_policy
from inference_backend.safety.stages import Pool, SafetyStages
from inference_backend.settings import SettingsError

logger = logging.getLogger(__name__)

# The content is compared, not the time of change: mounted configuration is replaced by renaming folders.
POLL_S = 1.0
# A new classifier loads its model beside the old one, which judges until then.
READY_WITHIN_S = 60.0
READY_LOOK_S = 0.1


class PolicyFile:
    """`open_pool` makes the pool of a classifier, not yet started. Raises SettingsError."""

    def __init__(self, path: Path, stages: SafetyStages, open_pool: Callable[[Classifier], Pool]) -> None:
        self._path = path
        self._stages = stages
        self._open_pool = open_pool
        self._refused: str | None = None

    async def watch(self) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(POLL_S)
            try:
                await self._look()
            except SettingsError as error:
                self._say_refused(str(error))
            except Exception:
                # A bug at one file must not end the watch over the next one.
                logger.exception("safety policy refused; the old one stays")

    async def _look(self) -> None:
        policy = await asyncio.to_thread(read_policy, self._path)
        if policy.digest == self._stages.policy.digest:
            self._refused = None
            return
        pool = await self._pool_for(policy)
        self._stages.replace(policy, pool)
        self._refused = None
        logger.info("safety policy read again", extra={"file": self._path.name, "policy": policy.digest})

    async def _pool_for(self, policy: Policy) -> Pool | None:
        """Raises SettingsError where its classifier does not get ready."""
        if policy.classifier is None or policy.classifier == self._stages.policy.classifier:
            return self._stages.pool if policy.classifier else None
        pool = self._open_pool(policy.classifier)
        try:
            pool.start()
            async with asyncio.timeout(READY_WITHIN_S):
                while not pool.is_ready:  # noqa: ASYNC110 - the states of a pool are not events
                    await asyncio.sleep(READY_LOOK_S)
        except BaseException as error:
            await pool.aclose()
            if isinstance(error, TimeoutError):
                raise SettingsError("the new classifier did not get ready") from error
            raise
        return pool

    def _say_refused(self, reason: str) -> None:
        """Once for each reason: the file is looked at every second."""
        if reason != self._refused:
            self._refused = reason
            logger.warning("safety policy refused; the old one stays", extra={"reason": reason})
