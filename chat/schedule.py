"""What celery beat runs for this app; `config/celery.py` merges it into its schedule. Times are seconds."""

from __future__ import annotations

from typing import Any

BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    "chat-flush-last-seen": {"task": "chat.tasks.flush_last_seen", "schedule": 60.0, "options": {"expires": 60.0}},
    "chat-prune-inboxes": {"task": "chat.tasks.prune_inboxes", "schedule": 3600.0, "options": {"expires": 3600.0}},
}
