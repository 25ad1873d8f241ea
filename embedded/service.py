"""What a service is: how to start it, how to know that it works, how to stop it."""

import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

#: What the services that are not ours need of the environment; nothing of it is secret.
PLAIN_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR")


class NotReady(RuntimeError):
    """The service does not answer as it should, yet."""


def nothing() -> None:
    """For a service that needs no preparation, or no finishing touch."""


@dataclass(frozen=True, kw_only=True)
class Service:
    """A process that runs until it is told to stop.

    `prepare` runs before the first start, `probe` raises NotReady until the service answers, `finish` runs
    once after that and before anything that stands behind this one (`after`) starts.
    """

    name: str
    title: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    probe: Callable[[], None]
    prepare: Callable[[], None] = nothing
    finish: Callable[[], None] = nothing
    after: tuple[str, ...] = ()
    folder: Path = Path("/")
    stop_signal: signal.Signals = signal.SIGTERM
    #: Seconds from the stop signal to SIGKILL.
    stop_within_s: int = 5
    start_within_s: float = 60
    #: Services that stop last and start first have the lowest rank.
    rank: int
    #: Whether the application can do without it: then a failure is reported and the start goes on.
    vital: bool = True
    drop_root: bool = False
    #: For a service that opens no port: ready once supervisord has seen it run for some seconds.
    settles: bool = False


@dataclass(frozen=True, kw_only=True)
class Job:
    """A command that ends by itself, such as the migrations. A failure stops the start."""

    name: str
    title: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    after: tuple[str, ...] = ()
    within_s: float = 300
    folder: Path = Path("/")
    then: Callable[[], None] = field(default=nothing)


def python(*arguments: str) -> tuple[str, ...]:
    """A command line for the interpreter that runs us."""
    return (sys.executable, *arguments)
