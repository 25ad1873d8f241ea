"""What celery beat runs for this app; `config/celery.py` merges it into its schedule. Times are seconds."""

from __future__ import annotations

from typing import Any

BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    # Each message expires with its turn: after a pause of beat or worker, one sweep is enough.
    f"playground-{name.replace('_', '-')}": {
        "task": f"playground.tasks.{name}",
        "schedule": seconds,
        "options": {"expires": seconds},
    }
    for name, seconds in (
        ("store_objects", 10.0),
        ("resend_processing", 60.0),
        ("look_after_imports", 60.0),
        ("expire_uploads", 300.0),
        ("sweep_staging", 3600.0),
        ("sweep_parts", 3600.0),
        ("sweep_bodies", 600.0),
        ("sweep_objects", 600.0),
        ("sweep_erased", 600.0),
        ("sweep_erasing", 60.0),
        ("repack_bodies", 60.0),
        ("empty_trash", 3600.0),
        ("index_late", 3600.0),
    )
}
