"""The application's own processes: web, worker, scheduler, and the commands that run before them."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import httpx2

from embedded.folder import DataFolder
from embedded.model import answers
from embedded.service import Job, NotReady, Service, nothing, python

ROOT = Path(__file__).resolve().parent.parent
#: Seconds that an open stream may go on after the stop signal.
DRAIN_S = 4
#: Twice what one account may hold (RUN_PLACES), so that another always finds a thread.
WORKER_THREADS = 32
UPKEEP_THREADS = 4


def local_address(host: str, port: int) -> str:
    """Where this machine reaches a server that listens on `host`."""
    if host in ("0.0.0.0", "::"):  # noqa: S104 - a comparison, not a binding
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def web(*, host: str, port: int, environment: Mapping[str, str], after: tuple[str, ...]) -> Service:
    # Nobody else takes the sockets while this one starts again: they are sent away at once, and come back in a while.
    options = {"--host": host, "--port": str(port), "--drain-s": "0", "--patience-s": str(DRAIN_S)}
    return Service(
        name="web",
        title="Web",
        command=python("-m", "config.server", *_words(options)),
        environment=environment,
        probe=partial(answers, f"{local_address(host, port)}/healthz"),
        after=after,
        folder=ROOT,
        stop_within_s=DRAIN_S + 1,
        rank=40,
    )


def worker(*, web_address: str, environment: Mapping[str, str], after: tuple[str, ...]) -> Service:
    """For runs: they wait for models, so many threads cost little."""
    return Service(
        name="worker",
        title="Worker",
        command=celery("worker", queues="celery", threads=WORKER_THREADS),
        environment=environment,
        probe=partial(worker_beats, f"{web_address}/readyz"),
        settles=True,  # after a quick restart the heartbeat of the last one is still there
        after=after,
        folder=ROOT,
        # With what the other ranks take, still under 15 s. Who is cut off then is sent again: tasks are acked late.
        stop_within_s=7,
        rank=40,
    )


def upkeep(*, environment: Mapping[str, str], after: tuple[str, ...]) -> Service:
    """For sweeps, the packing of uploads, and the steps of batches, which long runs must not keep waiting."""
    return Service(
        name="upkeep",
        title="Upkeep worker",
        command=celery("upkeep", queues="upkeep,batches", threads=UPKEEP_THREADS),
        environment=environment,
        probe=nothing,
        settles=True,
        after=after,
        folder=ROOT,
        stop_within_s=7,
        rank=40,
    )


def celery(name: str, *, queues: str, threads: int) -> tuple[str, ...]:
    """A worker of some queues. It has nobody to mingle or gossip with, and both would delay its start."""
    options = {"--queues": queues, "--pool": "threads", "--concurrency": str(threads), "--loglevel": "INFO"}
    alone = ("--hostname", f"{name}@%h", "--without-mingle", "--without-gossip")
    return python("-m", "celery", "-A", "config", "worker", *_words(options), *alone)


def worker_beats(url: str) -> None:
    """Whether the web application sees the worker's heartbeat; /readyz may be a 503 for other reasons."""
    try:
        checks = httpx2.get(url, timeout=5).json()["checks"]
    except (httpx2.HTTPError, ValueError, KeyError) as error:
        raise NotReady(f"{url}: {error}") from error
    if checks.get("worker") != "ok":
        raise NotReady(f"worker: {checks.get('worker')}")


def beat(folder: DataFolder, *, environment: Mapping[str, str], after: tuple[str, ...]) -> Service:
    """The scheduler. Its schedule is kept, so that a restart does not run everything at once."""
    schedule = str(folder.run / "celerybeat-schedule")
    return Service(
        name="beat",
        title="Scheduler",
        command=python("-m", "celery", "-A", "config", "beat", "--schedule", schedule, "--pidfile=", "--loglevel=INFO"),
        environment=environment,
        probe=nothing,
        settles=True,
        after=after,
        folder=ROOT,
        stop_within_s=3,
        rank=40,
    )


def command(name: str, title: str, *words: str, environment: Mapping[str, str], after: tuple[str, ...]) -> Job:
    """One of the project's own management commands, as a step of the start."""
    manage = python(str(ROOT / "manage.py"), *words)
    return Job(name=name, title=title, command=manage, environment=environment, after=after, folder=ROOT)


def _words(options: Mapping[str, str]) -> list[str]:
    return [word for pair in options.items() for word in pair]
