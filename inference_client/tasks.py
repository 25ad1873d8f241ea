from __future__ import annotations

from celery import shared_task
from django.db import close_old_connections

from inference_client import dispatch, relay, services


@shared_task(acks_late=True, ignore_result=True)
def send_run(run_id: str) -> None:
    """Send the run whose turn it is. `run_id` is the one that was queued with this message; it need not be the next.

    A message too many (a double, a late redelivery, one for a run that had to wait) finds nothing and does nothing.
    """
    del run_id
    run = dispatch.claim_next_run()
    # A stream may last for minutes; the connection goes back to the pool meanwhile.
    close_old_connections()
    if run is None:
        return
    try:
        relay.carry_out(run)
    finally:
        dispatch.call_next_run()


@shared_task(ignore_result=True)
def fail_lost_runs() -> None:
    services.fail_lost_runs()


@shared_task(ignore_result=True)
def resend_queued_runs() -> None:
    services.resend_queued_runs()
