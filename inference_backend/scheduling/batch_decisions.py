"""What a scheduler of batch calls says: whom to send what, what came to its end, and how it stands."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from inference_backend.tiers import Tier

Item = TypeVar("Item", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Batch(Generic[Item]):
    """One call of one worker. `attempt` is 2 where an item in it has been in a call that failed."""

    id: int
    worker: str
    items: tuple[Item, ...]
    attempt: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Decisions(Generic[Item]):
    """What to do now. Each item appears in `expired` or `given_up` once, and is then forgotten here.

    `lost` are the batches that the watchdog gave up on; what was in them is queued again or in `given_up`.
    `quarantined` are workers that get nothing more until they are added again: those of `lost`, and those that failed
    FAILURES_TO_QUARANTINE calls in a row.
    """

    sends: Sequence[Batch[Item]] = ()
    expired: Sequence[Item] = ()
    lost: Sequence[Batch[Item]] = ()
    given_up: Sequence[Item] = ()
    quarantined: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """Counts since the start, and what is here now. Every submitted item is still here or met one end."""

    queued: Mapping[Tier, int]
    in_flight: int
    healthy: int
    idle: int
    sends: int
    sent_items: int
    lost_batches: int
    failed_batches: int
    submitted: int
    refused: Mapping[Tier, int]
    completed: int
    expired: int
    cancelled: int
    given_up: int

    @property
    def fill(self) -> float:
        """Mean number of items in a call."""
        return self.sent_items / self.sends if self.sends else 0.0
