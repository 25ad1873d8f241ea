"""What celery beat runs for this app; `config/celery.py` merges it into its schedule. Times are seconds."""

from __future__ import annotations

from typing import Any

BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    # Each message expires with its turn: after a pause of beat or worker, one sweep is enough.
    "batches-look-after-batches": {
        "task": "batches.tasks.look_after_batches",
        "schedule": 5.0,
        "options": {"expires": 5},
    },
    "batches-sweep-deleting": {
        "task": "batches.tasks.sweep_deleting",
        "schedule": 60.0,
        "options": {"expires": 60},
    },
    "batches-look-after-files": {
        "task": "batches.tasks.look_after_files",
        "schedule": 60.0,
        "options": {"expires": 60},
    },
}
