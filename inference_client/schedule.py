"""What celery beat runs for this app; `config/celery.py` merges it into its schedule. Times are seconds."""

from __future__ import annotations

from typing import Any

BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    # Each message expires with its turn: after a pause of beat or worker, one sweep is enough.
    "fail-lost-runs": {
        "task": "inference_client.tasks.fail_lost_runs",
        "schedule": 5.0,
        "options": {"expires": 5},
    },
    "resend-queued-runs": {
        "task": "inference_client.tasks.resend_queued_runs",
        "schedule": 10.0,
        "options": {"expires": 10},
    },
}
