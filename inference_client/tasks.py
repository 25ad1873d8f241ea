from __future__ import annotations

import uuid

from celery import shared_task
from django.db import close_old_connections

from inference_client import relay, services


@shared_task(acks_late=True, ignore_result=True)
def send_run(run_id: str) -> None:
    """Send a queued run; a message for one that is not queued (a double, a late redelivery) does nothing."""
    run = services.claim_run(run_id=uuid.UUID(run_id))
    # A stream may last for minutes; the connection goes back to the pool meanwhile.
    close_old_connections()
    if run is not None:
        relay.carry_out(run)


@shared_task(ignore_result=True)
def fail_lost_runs() -> None:
    services.fail_lost_runs()


@shared_task(ignore_result=True)
def resend_queued_runs() -> None:
    services.resend_queued_runs()
