"""Replicas behind a name: every address that the name server gives for it is one."""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Iterable

from inference_backend.fleet.configuration import DnsConfiguration

logger = logging.getLogger(__name__)

Resolve = Callable[[str, int], Awaitable[frozenset[str]]]
RESOLVE_TIMEOUT_S = 10.0
DnsKey = tuple[str, int, float]


async def resolve_addresses(host: str, port: int) -> frozenset[str]:
    """IPv4 and IPv6 addresses, by the resolver of the system, in a thread. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return frozenset(str(address[0]) for *_, address in found)


class Discovery:
    """`on_change` is called whenever the addresses of a watched host are others than before."""

    def __init__(self, resolve: Resolve, *, on_change: Callable[[], None]) -> None:
        self._resolve = resolve
        self._on_change = on_change
        self._addresses: dict[str, frozenset[str]] = {}
        self._tasks: dict[DnsKey, asyncio.Task[None]] = {}

    def addresses(self, host: str) -> list[str]:
        return sorted(self._addresses.get(host, ()))

    def watch(self, entries: Iterable[DnsConfiguration]) -> None:
        """These and no others."""
        wanted = {(entry.host, entry.port, entry.every_s): entry for entry in entries}
        for key in self._tasks.keys() - wanted.keys():
            self._tasks.pop(key).cancel()
        for key, entry in wanted.items():
            if key not in self._tasks:
                self._tasks[key] = asyncio.create_task(self._follow(entry), name=f"resolve {entry.host}")
        hosts = {entry.host for entry in wanted.values()}
        self._addresses = {host: found for host, found in self._addresses.items() if host in hosts}

    async def aclose(self) -> None:
        tasks, self._tasks = list(self._tasks.values()), {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self, entry: DnsConfiguration) -> None:
        while True:
            try:
                async with asyncio.timeout(RESOLVE_TIMEOUT_S):
                    found = await self._resolve(entry.host, entry.port)
            except (OSError, TimeoutError, UnicodeError) as error:  # UnicodeError: no name that DNS could have
                # No answer is not the answer that there are none: the replicas known so far are watched by
                # themselves, and a name server that fails must not take them all away.
                logger.warning("name not resolved", extra={"host": entry.host, "reason": str(error) or "no answer"})
            else:
                if found != self._addresses.get(entry.host):
                    self._addresses[entry.host] = found
                    logger.info("name resolved", extra={"host": entry.host, "addresses": sorted(found)})
                    self._on_change()
            await asyncio.sleep(entry.every_s)
