"""One model: its replicas of all versions, which version has the traffic, and the pool that hands the traffic out."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from inference_backend.engines.protocol import Capabilities
from inference_backend.errors import EngineUnavailableError
from inference_backend.fleet.configuration import ModelConfiguration, ReplicaConfiguration
from inference_backend.fleet.discovery import Discovery, Resolve, resolve_addresses
from inference_backend.fleet.engine_kinds import KINDS
from inference_backend.fleet.replica import STARTING, Replica
from inference_backend.fleet.verification import Evidence, compare
from inference_backend.pools.token_pool import TokenPool
from inference_backend.settings import Timeouts
from inference_backend.tiers import Tier

logger = logging.getLogger(__name__)

#: A start that takes this many times as long as expected is no longer announced: it may never end.
LATE_FACTOR = 2.0
LEAST_ETA_S = 1.0


class Model:
    """Callers name it by `id` and get the version that is `serving`.

    The version that the configuration wants takes over when enough of its replicas are verified, in one step: no
    moment passes in which neither version takes work, and what the old one has begun it finishes.
    """

    def __init__(
        self,
        configuration: ModelConfiguration,
        *,
        pool: TokenPool,
        default_timeouts: Timeouts,
        resolve: Resolve = resolve_addresses,
    ) -> None:
        self._default_timeouts = default_timeouts
        self._take(configuration)
        self.pool = pool
        self.serving: str | None = None
        self.replicas: dict[str, Replica] = {}
        self._discovery = Discovery(resolve, on_change=self._reconcile)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._is_running = False
        self._start_took_s: float | None = None

    # --- what callers see ---

    @property
    def id(self) -> str:
        return self.configuration.id

    @property
    def notice(self) -> str:
        return self.configuration.notice

    @property
    def tiers(self) -> tuple[Tier, ...]:
        return self.configuration.tiers

    @property
    def context(self) -> int | None:
        """Tokens of prompt and answer together that every ready replica takes; None where unknown."""
        known = [replica.evidence.served.context for replica in self._verified_first() if replica.evidence]
        return min((context for context in known if context is not None), default=None)

    @property
    def ready(self) -> bool:
        return any(replica.is_open for replica in self.replicas.values())

    def replica(self, key: str) -> Replica:
        """The one that the pool calls so. Raises KeyError."""
        return self.replicas[key]

    def ready_replicas(self, *, version: str | None = None, avoid: Iterable[str] = ()) -> list[Replica]:
        """Those that take traffic; of one version, where it is given."""
        avoided = set(avoid)
        return [
            replica
            for replica in self.replicas.values()
            if replica.is_open and replica.key not in avoided and version in {None, replica.version}
        ]

    async def wait_for_verdict(self, within_s: float) -> bool:
        """Whether a replica takes traffic, once none of them is suspect any more or the time is over."""
        try:
            async with asyncio.timeout(within_s):
                while not self.ready:
                    suspects = [one for one in self.replicas.values() if one.phase == "suspect" and not one.is_leaving]
                    if not suspects:
                        break
                    await _any(suspects)
        except TimeoutError:
            pass
        return self.ready

    def unavailable(self) -> EngineUnavailableError:
        return EngineUnavailableError(f"No engine of {self.id} is ready; try again shortly.")

    def report(self) -> list[dict[str, Any]]:
        return [{"model": self.id, "serving": self.serving or None, **one.report()} for one in self.replicas.values()]

    # --- its life ---

    def start(self) -> None:
        self._is_running = True
        self._discovery.watch(self.configuration.dns)
        self._reconcile()

    def reconfigure(self, configuration: ModelConfiguration) -> None:
        """Takes effect at once for what is new, and without loss for what goes."""
        before = self.configuration
        self._take(configuration)
        if before.digest is None and configuration.digest is not None:
            # Until now every version had traffic. The largest keeps it until the wanted one is ready.
            self.serving = self._commonest_version()
        if self._is_running:
            self._discovery.watch(configuration.dns)
            self._reconcile()

    def _take(self, configuration: ModelConfiguration) -> None:
        self.configuration = configuration
        self.timeouts = configuration.timeouts_over(self._default_timeouts)
        offered = [table.capabilities for table in configuration.engine_tables()]
        # A request may go to any engine of the model, so what one of them cannot do is not offered.
        self.capabilities = Capabilities(
            prefill=all(each.prefill for each in offered),
            top_k=all(each.top_k for each in offered),
            count_tokens=all(each.count_tokens for each in offered),
            own_tools=all(each.own_tools for each in offered),
        )

    async def aclose(self) -> None:
        """At once: what runs is cut. Draining before it is the business of whoever stops the service."""
        self._is_running = False
        tasks = [*self._tasks.values(), *self._leaving]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, self._discovery.aclose(), return_exceptions=True)
        for replica in list(self.replicas.values()):
            await replica.engine.aclose()

    async def retire(self) -> None:
        """The model itself is in the configuration no more: its replicas finish what they have begun."""
        await self._discovery.aclose()
        for replica in list(self.replicas.values()):
            self._begin_leaving(replica)
        self.settle()
        self.pool.turn_away()
        await asyncio.gather(*self._leaving, return_exceptions=True)

    def judge(self, replica: Replica, evidence: Evidence) -> None:
        """Raises EngineFailedError. A version that is not the wanted one stands by; that is no fault."""
        others = [one for one in self.replicas.values() if one is not replica and one.phase == "verified"]
        compare(
            evidence,
            known_golden=self.configuration.golden_for(evidence.version),
            peers=[one.evidence for one in sorted(others, key=lambda one: one.verified_at) if one.evidence],
        )

    def settle(self) -> None:
        """Give traffic to whom it is due. New replicas open before old ones close, within one step of the loop."""
        self._choose_version()
        for replica in self.replicas.values():
            if self._is_due(replica) and not replica.is_open:
                replica.is_open = True
                self.pool.replica_ready(replica.key, slots=replica.slots, kv_tokens=replica.configuration.kv_tokens)
        for replica in self.replicas.values():
            if replica.is_open and not self._is_due(replica):
                replica.is_open = False
                self.pool.replica_draining(replica.key)
            if replica.phase == "dead":
                self.pool.replica_gone(replica.key)
        self._retire_replaced()
        self._announce_starts()

    # --- versions ---

    def _is_due(self, replica: Replica) -> bool:
        if replica.phase != "verified" or replica.is_leaving:
            return False
        return self.configuration.digest is None or replica.version == self.serving

    def _choose_version(self) -> None:
        wanted = self.configuration.digest
        if wanted is None or wanted == self.serving:
            return
        verified = [one for one in self.replicas.values() if one.phase == "verified" and not one.is_leaving]
        new = sum(one.version == wanted for one in verified)
        is_old_left = any(one.version == self.serving for one in verified)
        if new and (not is_old_left or new >= self._replicas_to_switch()):
            logger.info("model version", extra={"model": self.id, "was": self.serving, "serving": wanted})
            self.serving = wanted

    def _replicas_to_switch(self) -> int:
        """As configured; without it, all of that version but the dead, which must not stand in the way back."""
        if self.configuration.switch_replicas is not None:
            return self.configuration.switch_replicas
        wanted = self.configuration.digest
        return sum(
            (one.version if one.evidence else one.configuration.digest) == wanted
            for one in self.replicas.values()
            if not one.is_leaving and one.phase != "dead"
        )

    def _commonest_version(self) -> str | None:
        versions = Counter(replica.version for replica in self.replicas.values() if replica.is_open)
        return max(versions, key=lambda version: versions[version], default=None)

    # --- replicas ---

    def _reconcile(self) -> None:
        """Make the replicas those of the configuration and the name server."""
        wanted = self._wanted_replicas()
        staying = [replica for replica in self.replicas.values() if not replica.is_leaving]
        for replica in staying:
            if replica.configuration.name not in wanted:
                self._begin_leaving(replica)
        # Of two with one name the later is the successor of the other.
        current = {replica.configuration.name: replica for replica in staying}
        for name, configuration in wanted.items():
            old = current.get(name)
            if old is None or old.configuration != configuration:
                self._add(configuration, replaces=old)
        self.settle()

    def _wanted_replicas(self) -> Mapping[str, ReplicaConfiguration]:
        found = {
            one.name: one
            for dns in self.configuration.dns
            for one in map(dns.replica_at, self._discovery.addresses(dns.host))
        }
        return found | {one.name: one for one in self.configuration.replicas}

    def _add(self, configuration: ReplicaConfiguration, *, replaces: Replica | None) -> None:
        engine = KINDS[configuration.engine].open(configuration, model=self.id, connect_s=self.timeouts.connect_s)
        replica = Replica(configuration, engine, self, key=self._free_key(configuration.name))
        if replaces is not None:
            replaces.successor = replica
        self.replicas[replica.key] = replica
        self._tasks[replica.key] = asyncio.create_task(replica.watch(), name=f"watch {replica.key}")

    def _free_key(self, name: str) -> str:
        number = 1
        while (key := name if number == 1 else f"{name}~{number}") in self.replicas:
            number += 1
        return key

    def _retire_replaced(self) -> None:
        """One whose entry was changed works on until its successor is verified."""
        for replica in list(self.replicas.values()):
            successor = replica.successor
            if successor is not None and (successor.phase == "verified" or successor.is_leaving):
                self._begin_leaving(replica)

    def _begin_leaving(self, replica: Replica) -> None:
        if replica.is_leaving:
            return
        replica.is_leaving = True
        if replica.is_open:
            replica.is_open = False
            self.pool.replica_draining(replica.key)
        logger.info("replica leaves", extra={"replica": replica.key, "model": self.id, "running": replica.running})
        task = asyncio.create_task(self._leave(replica), name=f"leave {replica.key}")
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _leave(self, replica: Replica) -> None:
        try:
            async with asyncio.timeout(self.configuration.drain_s):
                while replica.running or self.pool.running_on(replica.key):
                    await replica.idle.wait()
                    # A lease was granted and its holder has not got to the engine yet.
                    await asyncio.sleep(0.01)
        except TimeoutError:
            logger.warning("replica cut off", extra={"replica": replica.key, "running": replica.running})
            replica.give_up()
        watch = self._tasks.pop(replica.key)
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)
        self.pool.replica_gone(replica.key)
        del self.replicas[replica.key]
        await replica.engine.aclose()

    def _verified_first(self) -> list[Replica]:
        """Those that take traffic; before there are any, all that have shown what they serve."""
        return self.ready_replicas() or [one for one in self.replicas.values() if one.evidence]

    # --- capacity that is starting ---

    def _announce_starts(self) -> None:
        for replica in self.replicas.values():
            self._start_took_s = replica.start_took_s or self._start_took_s
        expected = [eta for replica in self.replicas.values() if (eta := self._eta_s(replica)) is not None]
        self.pool.starting(min(expected) if expected else None)

    def _eta_s(self, replica: Replica) -> float | None:
        """Seconds until it is expected to be ready; None where nobody can say or it is hopelessly late."""
        takes_s = replica.configuration.ready_in_s or self._start_took_s
        if takes_s is None or replica.phase not in STARTING or replica.is_leaving:
            return None
        waited_s = time.monotonic() - replica.starting_since
        return max(LEAST_ETA_S, takes_s - waited_s) if waited_s < takes_s * LATE_FACTOR else None


async def _any(replicas: Iterable[Replica]) -> None:
    """Until one of them changes."""
    waits = [asyncio.ensure_future(replica.changed.wait()) for replica in replicas]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
