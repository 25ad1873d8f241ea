"""Which queued run a worker sends next: the message that woke it only says that there is something to send."""

from __future__ import annotations

import datetime as dt
import threading
import uuid

from django.conf import settings
from django.utils import timezone

from core import effects
from core.prepared import prepared_cursor
from inference_client.models import Run, RunKind
from inference_client.places import Waiting, in_turn
from inference_client.services import SEND_RUN, claim_run

#: The oldest queued run of each account and kind, and how many runs of that account are on their way. In SQL, and in
#: one statement: each run asks this once or twice.
_LINE = """
    SELECT DISTINCT ON (run.account_id, run.kind) run.id, run.account_id, account.tier, run.kind,
        (SELECT count(*) FROM inference_client_run AS other
         WHERE other.account_id = run.account_id AND other.status = 'running')
    FROM inference_client_run AS run JOIN accounts_user AS account ON account.id = run.account_id
    WHERE run.status = 'queued' AND run.next_try_at <= %s
    ORDER BY run.account_id, run.kind, run.id
"""
#: In the order of their own index: by id, a million runs that ended would be walked through.
_ANY_WAITING = """
    SELECT id FROM inference_client_run WHERE status = 'queued' AND next_try_at <= %s
    ORDER BY account_id, kind, id LIMIT 1
"""
#: How many runs of the list a worker tries before it looks anew, and how often it does that.
CLAIM_AHEAD = 8
CLAIM_TRIES = 3
#: The threads of one worker take turns. Thirty that are woken at once would all see the same run first, and each would
#: ask for a handful of runs that are gone by then.
_claiming = threading.Lock()


def claim_next_run(*, now: dt.datetime | None = None) -> Run | None:
    """Take the run whose turn it is (see places.py), to send it; None if there is none that may be sent now.

    Two worker processes may see the same run first. One gets it, the other goes on with the next of the list, and looks
    anew when that is empty. An account may so hold a place too many for the length of one run.
    """
    with _claiming:
        return _claim_next(now or timezone.now())


def _claim_next(now: dt.datetime) -> Run | None:
    for _ in range(CLAIM_TRIES):
        ids = in_turn(*_line(now), settings.RUN_PLACES)
        if not ids:
            return None
        for run_id in ids[:CLAIM_AHEAD]:
            run = claim_run(run_id=run_id, now=now)
            if run is not None:
                return run
    return None


def call_next_run() -> None:
    """A place is free: let a worker look whose turn it is, if anybody waits.

    A message for a run that was not to be sent yet is gone by now, and the sweep would take 15 s to send another.
    """
    with prepared_cursor() as cursor:
        cursor.execute(_ANY_WAITING, [timezone.now()])
        row = cursor.fetchone()
    if row is not None:
        effects.enqueue(SEND_RUN, str(row[0]))


def _line(now: dt.datetime) -> tuple[list[Waiting], dict[uuid.UUID, int]]:
    """The oldest queued run of each account and kind, and how many runs each of these accounts has on their way."""
    with prepared_cursor() as cursor:
        cursor.execute(_LINE, [now])
        rows = cursor.fetchall()
    waiting = [
        Waiting(run_id=pk, account_id=account, tier=tier, is_batch=kind == RunKind.BATCH)
        for pk, account, tier, kind, _ in rows
    ]
    return waiting, {account: running for _, account, _, _, running in rows}
