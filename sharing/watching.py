"""When an open page is asked about again, and what it is told. Pure: the clock and the spread are passed in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sharing import policy
from sharing.bound import Lifetimes


@dataclass(kw_only=True)
class Watch:
    """One open page. `asked_at_s`: before the database was asked last, by the monotonic clock."""

    lifetimes: Callable[[], Lifetimes]
    spread: Callable[[], float]
    asked_at_s: float
    due_s: float = 0.0

    def __post_init__(self) -> None:
        self.allowed(self.asked_at_s)

    def allowed(self, asked_at_s: float) -> None:
        """The database, asked at that moment, says yes."""
        self.asked_at_s = asked_at_s
        self.due_s = policy.due_at(checked_at_s=asked_at_s, lifetimes=self.lifetimes(), spread=self.spread())

    def may_send(self, now_s: float) -> bool:
        """Whether a frame may go out on the last answer; if not, ask before it."""
        return policy.reusable(asked_at_s=self.asked_at_s, now_s=now_s, lifetimes=self.lifetimes())

    def wait_s(self, now_s: float) -> float:
        """How long to wait before asking again although nothing happens."""
        return max(0.0, self.due_s - now_s)
