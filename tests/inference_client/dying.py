"""For a worker of a test, which takes it in by `--include`: it kills itself at the step of a run that DIES_AT names."""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Callable
from typing import Any

from inference_client import dispatch, relay, services
from inference_client.sending import Exchange

#: In the order in which a run goes through them.
STEPS = ("received", "claimed", "answering", "answered", "ended")


def die(*args: object, **kwargs: object) -> Any:
    del args, kwargs
    os.killpg(os.getpgid(0), signal.SIGKILL)


def then_die(work: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(work)
    def act(*args: Any, **kwargs: Any) -> Any:
        work(*args, **kwargs)
        return die()

    return act


match os.environ.get("DIES_AT", ""):
    case "received":
        dispatch.claim_next_run = die
    case "claimed":
        relay.carry_out = die
    case "answering":
        Exchange._take = die  # type: ignore[method-assign]
    case "answered":
        services.finish_run = die
    case "ended":
        services.finish_run = then_die(services.finish_run)
