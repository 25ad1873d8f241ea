"""The inference tier of one machine: llama.cpp in a process of its own, and our backend in front of it."""

from collections.abc import Mapping
from functools import partial

import httpx2

from embedded.service import NotReady, Service, python

MODEL = "smollm2-135m-instruct"
NOTICE = "This small model proves that everything works; it is no judge of prompts."
SLOTS = 8


def answers(url: str) -> None:
    """Raises NotReady unless GET `url` is a 200 within 2 s."""
    try:
        status = httpx2.get(url, timeout=2).status_code
    except httpx2.HTTPError as error:
        raise NotReady(f"{url}: {error}") from error
    if status != 200:
        raise NotReady(f"{url} answers {status}")


def engine(*, port: int, environment: Mapping[str, str], threads: int | None) -> Service:
    """The model server. Not vital: without it the pages work, and a run fails with a clear error."""
    options = ["--threads", str(threads)] if threads else []
    address = ("--host", "127.0.0.1", "--port", str(port), "--slots", str(SLOTS))
    return Service(
        name="engine",
        title="Model server",
        command=python("-m", "embedded.engine", *address, *options),
        environment=environment,
        probe=partial(answers, f"http://127.0.0.1:{port}/health"),
        stop_within_s=2,
        rank=20,
        vital=False,
    )


def backend(*, host: str, port: int, environment: Mapping[str, str], after: tuple[str, ...]) -> Service:
    """Started beside the engine, not behind it: it answers for itself while the engine loads or restarts."""
    return Service(
        name="inference_backend",
        title="Inference backend",
        command=python("-m", "inference_backend", "serve", "--host", host, "--port", str(port)),
        environment=environment,
        probe=partial(answers, f"http://127.0.0.1:{port}/healthz"),
        after=after,
        stop_within_s=3,
        rank=20,
        vital=False,
    )
