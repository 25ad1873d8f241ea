"""Whose run is sent next, when more runs wait than can be sent at once. Pure.

An account holds as many *places* as its tier allows, so that no line of one person, however long, takes all threads of
the workers or all slots of the model. Within that the next run is that of the account with the fewest runs on their
way; among its own runs, what a person waits for goes before a batch, and the oldest goes first. A batch leaves one of
its account's places free: its owner, at the workbench, does not wait behind it.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """The oldest queued run of an account, of those that people wait for or of those of its batches."""

    run_id: uuid.UUID
    account_id: uuid.UUID
    tier: str
    is_batch: bool


def in_turn(waiting: Iterable[Waiting], running: Mapping[uuid.UUID, int], places: Mapping[str, int]) -> list[uuid.UUID]:
    """The ids of the runs that may be sent now, the one whose turn it is first.

    `running`: runs on their way by account. `places`: by tier; a tier that is not named has one.
    """
    held = Counter(running)
    allowed = [each for each in waiting if held[each.account_id] < _places_for(each, places)]
    allowed.sort(key=lambda each: (held[each.account_id], each.is_batch, each.run_id))
    return [each.run_id for each in allowed]


def _places_for(waiting: Waiting, places: Mapping[str, int]) -> int:
    own = max(1, places.get(waiting.tier, 1))
    return max(1, own - 1) if waiting.is_batch else own
