"""Whether somebody may go on reading a run. Its prompt may have been shared with them and may be no longer.

This app knows nothing of prompts: the setting RUN_GUARD names who does.
"""

from __future__ import annotations

import uuid
from typing import Protocol, cast

from django.conf import settings
from django.utils.module_loading import import_string


class RunGuard(Protocol):
    def still(self, run_id: uuid.UUID) -> bool:
        """Whether what was decided a few seconds ago allows it. No I/O; False means: ask."""
        ...

    def ask(self, run_id: uuid.UUID, account_id: uuid.UUID) -> bool:
        """Whether the database allows it. Raises what the database raises: no answer is not a yes."""
        ...

    def recheck_s(self) -> float:
        """How long a quiet stream goes on before it is asked about again."""
        ...


def guard() -> RunGuard:
    return cast(RunGuard, import_string(settings.RUN_GUARD))
