"""What becomes of a cell, and of its batch, when its run failed. Pure.

- The backend is away or has no room: the cell waits, the whole batch holds for a while that doubles, and one cell is
  then sent to see. After about twenty minutes the batch pauses by itself; nothing is lost.
- The answer broke off, or its worker died: the cell is sent again, up to twice.
- The backend, or Anthropic, does not accept the key: the batch pauses at once.
- The request itself is refused: the cell is an error. After 25 such in a row the batch pauses, since a prompt that
  every run is refused for would cost 100,000 of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

AWAY = frozenset({"inference_unavailable", "upstream_overloaded", "rate_limited"})
BROKEN_OFF = frozenset({"stream_cut", "worker_lost", "timeout", "internal_error"})
NOT_LET_IN = frozenset({"unauthorized", "provider_key_missing", "provider_key_refused"})
MOST_BREAKS = 3
MOST_HOLDS = 24
LONGEST_HOLD_S = 60.0
MOST_FAILURES = 25


@dataclass(frozen=True, kw_only=True)
class After:
    """`item`: sent again, or ended as an error. `hold_s`: nothing of the batch is sent for so long."""

    item: Literal["again", "error"]
    hold_s: float | None = None
    pause: Literal["", "inference_unavailable", "unauthorized", "runs_fail"] = ""


def after(code: str, *, breaks: int, holds: int, failures: int) -> After:
    """`breaks`: how often an answer of the cell broke off. `holds`, `failures`: of the batch, in a row so far."""
    if code in NOT_LET_IN:
        return After(item="again", pause="unauthorized")
    if code in AWAY:
        if holds >= MOST_HOLDS:
            return After(item="again", pause="inference_unavailable")
        return After(item="again", hold_s=min(2.0**holds, LONGEST_HOLD_S))
    if code in BROKEN_OFF and breaks + 1 < MOST_BREAKS:
        return After(item="again")
    return After(item="error", pause="runs_fail" if failures + 1 >= MOST_FAILURES else "")
