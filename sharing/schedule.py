"""What celery beat runs for this app; `config/celery.py` merges it into its schedule. Times are seconds."""

from __future__ import annotations

from typing import Any

BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    "sharing-sweep-read-copies": {
        "task": "sharing.tasks.sweep_read_copies",
        "schedule": 600.0,
        "options": {"expires": 600.0},
    },
    "sharing-prune-access-log": {
        "task": "sharing.tasks.prune_access_log",
        "schedule": 3600.0,
        "options": {"expires": 3600.0},
    },
}
