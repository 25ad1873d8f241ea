"""Takes one claimed run to its end: sends it, relays its text, keeps its lease, obeys a stop, writes what came of it.

The calling thread owns the database; the stream itself runs on the background loop.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import dataclasses
import datetime as dt
import functools
import json
import logging
import time
from collections.abc import Mapping
from typing import Any

import redis
from django.db import InterfaceError, OperationalError, close_old_connections

from core.redis import async_client
from inference_client import events, services
from inference_client.checker import check_answer, checker
from inference_client.failures import retry_delay_s
from inference_client.loop import background_loop, submit
from inference_client.models import Run
from inference_client.outcomes import INTERNAL_ERROR, Ending, Failure, Outcome, conclude, ending_of
from inference_client.providers import ProviderKeyMissing, target_for
from inference_client.publishing import TextPublisher
from inference_client.sending import Exchange
from inference_client.stop_flags import StopFlags
from inference_client.structured import schema_of

log = logging.getLogger("playground.runs")

#: How often a stop is looked for: one is obeyed within a second, and each look costs a third of a millisecond.
TICK_S = 0.3
RENEW_EVERY_S = 5.0
#: How long the end of a run waits for a database that is away, before the sweep has to find the run.
FINISH_WITHIN_S = 60.0

_stop_flags = StopFlags(TICK_S * 0.8)


def carry_out(run: Run) -> None:
    """Send `run`, which this caller has claimed, and write its end. Blocks for as long as the model answers.

    Writes nothing once the lease is lost. Raises what is a bug, after failing the run with `internal_error`.
    """
    try:
        outcome = _exchange(run)
        if outcome is not None:
            _write(run, outcome)
    except Exception:
        services.finish_run(run=run, ending=ending_of(INTERNAL_ERROR, output=events.read_text(run.pk)))
        raise


def _exchange(run: Run) -> Outcome | None:
    """What came of sending the run; None if the lease was lost meanwhile."""
    try:
        target = target_for(run.account, run.provider)
    except ProviderKeyMissing as missing:
        return Outcome(failure=Failure(code=missing.code, message=missing.message))
    finally:
        close_old_connections()
    if _schema(run) is not None:
        # Its process is there by the time the answer is.
        checker().warm()
    publisher = TextPublisher(_shared_redis(), run.pk)
    exchange = Exchange(run, publisher, target)
    future = submit(_relayed(exchange, publisher))
    with _stop_flags.watched(run.pk):
        held = _watch(run, exchange, future)
    outcome = future.result()
    return outcome if held else None


@functools.cache
def _shared_redis() -> redis.asyncio.Redis:
    """The background loop's client; one pool for all streams of this process."""
    return async_client()


async def _relayed(exchange: Exchange, publisher: TextPublisher) -> Outcome:
    """The exchange, with its text written to Redis beside it."""
    pump = asyncio.ensure_future(publisher.pump())
    try:
        return await exchange.run()
    finally:
        await publisher.close(pump)


def _watch(run: Run, exchange: Exchange, future: concurrent.futures.Future[Outcome]) -> bool:
    """Until the exchange is over: renew the lease, obey a stop. False if the lease is lost."""
    renew_at = time.monotonic() + RENEW_EVERY_S
    while not concurrent.futures.wait([future], timeout=TICK_S).done:
        lease = services.Lease.HELD
        if time.monotonic() >= renew_at:
            lease = _renew(run, exchange.first_token_at)
            renew_at = time.monotonic() + RENEW_EVERY_S
        if lease is not services.Lease.HELD or _stop_asked(run):
            exchange.stop(background_loop())
            concurrent.futures.wait([future])
            return lease is not services.Lease.LOST
    return True


def _renew(run: Run, first_token_at: dt.datetime | None) -> services.Lease:
    """A database that is away proves nothing: the stream goes on, and the next renewal tells."""
    try:
        return services.renew_lease(run=run, first_token_at=first_token_at)
    except (OperationalError, InterfaceError):
        log.warning("lease not renewed: the database does not answer", extra={"run": str(run.pk)})
        return services.Lease.HELD
    finally:
        close_old_connections()


def _stop_asked(run: Run) -> bool:
    """Redis tells at once; while it is away, the renewal of the lease tells within 5 s."""
    try:
        return _stop_flags.asked(run.pk)
    except redis.RedisError:
        return False


def _write(run: Run, outcome: Outcome) -> None:
    if outcome.failure is not None and not outcome.text:
        delay_s = retry_delay_s(outcome.failure, attempt=run.attempt)
        if delay_s is not None:
            if services.requeue_run(run=run, delay_s=delay_s):
                return
            # Asked to stop meanwhile, or no longer ours, and then the end below is not written either.
            outcome = dataclasses.replace(outcome, failure=None, stopped=True)
    _finish(run, conclude(outcome, structured=_structured(run, outcome)))


def _finish(run: Run, ending: Ending) -> None:
    """Write the end, trying for a minute if the database is away."""
    give_up_at = time.monotonic() + FINISH_WITHIN_S
    while True:
        try:
            services.finish_run(run=run, ending=ending)
        except (OperationalError, InterfaceError):
            if time.monotonic() >= give_up_at:
                raise
            close_old_connections()
            time.sleep(1)
        else:
            return


def _structured(run: Run, outcome: Outcome) -> dict[str, Any] | None:
    """How a whole answer keeps to the schema that its request names; None where there is nothing to tell."""
    is_whole = outcome.complete and outcome.failure is None and not outcome.stopped
    if not is_whole or not outcome.text or outcome.stop_reason == "refusal":
        return None
    schema = _schema(run)
    return None if schema is None else _checked(run, outcome, schema)


def _schema(run: Run) -> Mapping[str, Any] | None:
    # A request may have 20 MB: it is read only where it can name a schema.
    return schema_of(json.loads(run.request)) if '"output_config"' in run.request else None


def _checked(run: Run, outcome: Outcome, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The verdict. On a busy machine it may take longer than a lease lasts, which is kept up meanwhile."""
    with concurrent.futures.ThreadPoolExecutor(max_workers=1) as beside:
        checking = beside.submit(check_answer, outcome.text, schema)
        while not concurrent.futures.wait([checking], timeout=RENEW_EVERY_S).done:
            _renew(run, outcome.first_token_at)
    return checking.result().plain()
