"""What a person says about the place of a thread: yes, no, or somewhere else."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from core.errors import Conflict, InvalidInput
from playground.models import Version
from review.carrying import line_of, placement_at
from review.models import Placement, PlacementState, Thread
from review.services.threads import Anchor, read_passage


def decide_placement(*, person: User, thread: Thread, version: Version, accept: bool) -> Placement:
    """Accept the suggested place, which later versions then start from; or refuse it: there the thread is outdated.

    Raises Conflict if there is nothing (any more) to decide.
    """
    with transaction.atomic():
        placed = Placement.objects.select_for_update(of=("self",)).filter(thread=thread, version=version).first()
        if placed is None or placed.state != PlacementState.SUGGESTED:
            raise Conflict("Somebody has decided this already.", code="decided", next_step="Load the comments again.")
        placed.decided_by, placed.decided_at = person, timezone.now()
        if accept:
            placed.state = PlacementState.ACCEPTED
        else:
            _clear(placed)
        placed.save()
        _forget_later(thread, placed)
    return placed


def attach_thread(*, person: User, thread: Thread, version: Version, anchor: Anchor) -> Placement:
    """Say where the passage is in a later version, in place of whatever was found. Raises InvalidInput."""
    if version.pk == thread.version_id or not thread.is_on_passage:
        raise InvalidInput("A comment stays where it was written.", field="version")
    if thread.version.number not in line_of(version, {thread.version.number}):
        raise InvalidInput("This version was not made from the one the comment is on.", field="version")
    text, passage = read_passage(version, anchor)
    found = placement_at(thread, version, anchor.text, text, passage)
    found.state, found.method = PlacementState.ACCEPTED, "by_hand"
    found.decided_by, found.decided_at = person, timezone.now()
    decided = {name: getattr(found, name) for name in _DECIDED}
    with transaction.atomic():
        placed, _ = Placement.objects.update_or_create(thread=thread, version=version, defaults=decided)
        _forget_later(thread, placed)
    return placed


_DECIDED = (
    *("state", "method", "confidence", "text_index", "words", "decided_by", "decided_at"),
    *("start", "end", "point_start", "point_end", "unit_start", "unit_end"),
)


def _clear(placed: Placement) -> None:
    placed.state, placed.method, placed.confidence, placed.words = PlacementState.OUTDATED, "refused", 0.0, b""
    placed.text_index = placed.start = placed.end = None
    placed.point_start = placed.point_end = placed.unit_start = placed.unit_end = None


def _forget_later(thread: Thread, placed: Placement) -> None:
    """What was worked out for later versions, without anybody's word on it, is worked out anew from here."""
    later = Placement.objects.filter(thread=thread, version__number__gt=placed.version.number, decided_at=None)
    later.exclude(state=PlacementState.WRITTEN).delete()
